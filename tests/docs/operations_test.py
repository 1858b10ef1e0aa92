"""docs/operating/slow-jobs.md is true: what "Why is my job slow?" types prints what the page shows.

Run by ctest with the build directory in TRIBUTARY_BUILD.
"""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import tour  # noqa: E402
from shell import Shell  # noqa: E402

PAGE = "docs/operating/slow-jobs.md"
FOLDER = "/tmp/tributary-slow"


class Operations(unittest.TestCase):
    def test_the_walk_through_runs_as_typed(self):
        with open(os.path.join(TOP, PAGE), encoding="utf-8") as f:
            text, line = tour.section(f.read(), "Why is my job slow?")
        steps = tour.steps(text, line)
        self.assertGreater(len(steps), 5)
        shell = Shell(FOLDER)
        self.addCleanup(shell.close)
        # A testbed of its own, whose files are gone with the shell.
        shell.run(f"export TMPDIR={FOLDER} TRIBUTARY_TESTBED=docs-{os.getpid()}; mkdir -p {FOLDER}")
        for step in steps:
            with self.subTest(f"{PAGE}:{step.line}"):
                status, output = shell.run(step.command)
                self.assertEqual(status, 0, f"{step.command}\n{output}")
                self.assertTrue(tour.matches(step.output, output),
                                f"{step.command}\nprints\n{output}\nthe page shows\n" +
                                "\n".join(step.output))


if __name__ == "__main__":
    unittest.main()
