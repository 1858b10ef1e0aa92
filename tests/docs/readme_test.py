"""README.md is true: its tour runs as typed and prints what it shows.

Run by ctest with the build directory of the tour in TRIBUTARY_BUILD.
"""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import tour  # noqa: E402
from typed import check_page  # noqa: E402

# Run by ctest or by the build server: tests/system/test_quickstart.py and .ci/run.
ELSEWHERE = {"tools/quickstart", "tools/check"}
# Done before: what it builds is under test.
BUILD_COMMAND = "cmake --preset release && cmake --build --preset release --target programs"


def readme():
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        return f.read()


class Readme(unittest.TestCase):
    def test_commands_outside_the_tour_are_tested_elsewhere(self):
        text, _ = tour.section(readme(), "Two commands")
        self.assertEqual({step.command for step in tour.steps(text)}, ELSEWHERE)
        for command in ELSEWHERE:
            self.assertTrue(os.access(os.path.join(TOP, command), os.X_OK))

    def test_tour_runs_as_typed(self):
        check_page(self, "README.md", "Five-minute tour", skip=(BUILD_COMMAND,))


class Tour(unittest.TestCase):
    PAGE = "## A\n```console\n$ cat <<E\n> x\n> E\nx\n$ true\n```\ntext\n## B\n"

    def test_steps(self):
        text, line = tour.section(self.PAGE, "A")
        self.assertEqual(tour.steps(text, line),
                         [tour.Step(3, "cat <<E\nx\nE", ["x"]), tour.Step(7, "true", [])])

    def test_matching(self):
        self.assertTrue(tour.matches(["a ... c", "..."], "a b c\nd\ne\n"))
        self.assertTrue(tour.matches([], "\n"))
        self.assertFalse(tour.matches([], "surprise\n"))
        self.assertFalse(tour.matches(["a"], "b\n"))


if __name__ == "__main__":
    unittest.main()
