"""docs/guides are true: each guide's commands, typed in order, print what it shows.

Run by ctest as root, with the build directory in TRIBUTARY_BUILD. Each guide has a network, a
folder in /tmp, and names of network namespaces of its own.
"""
import glob
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import tour  # noqa: E402
from shell import Shell  # noqa: E402

FOLDER = "/tmp/tributary-guide"
GUIDES = sorted(glob.glob(os.path.join(TOP, "docs/guides/*.md")))


class Guides(unittest.TestCase):
    def test_there_are_guides(self):
        self.assertTrue(GUIDES)

    def test_they_run_as_typed(self):
        for path in GUIDES:
            with self.subTest(os.path.relpath(path, TOP)):
                self.runs_as_typed(path)

    def runs_as_typed(self, path):
        with open(path, encoding="utf-8") as f:
            steps = tour.steps(f.read())
        self.assertGreater(len(steps), 5)
        shell = Shell(FOLDER)
        self.addCleanup(shell.close)
        shell.run("mkdir -p /run/netns && mount -t tmpfs none /run/netns")
        shell.run(f"export TMPDIR={FOLDER} TRIBUTARY_TESTBED=guide-{os.getpid()}")
        build = os.environ["TRIBUTARY_BUILD"]
        for step in steps:
            status, output = shell.run(step.command.replace("$PWD/build/release", build))
            place = f"{os.path.relpath(path, TOP)}:{step.line}: {step.command}"
            self.assertEqual(status, 0, f"{place}\n{output}")
            self.assertTrue(tour.matches(step.output, output),
                            f"{place}\nprints\n{output}\nthe page shows\n" +
                            "\n".join(step.output))


if __name__ == "__main__":
    unittest.main()
