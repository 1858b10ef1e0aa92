"""docs/tasks.md is true: its commands, typed in order, print what it shows (C3).

Run by ctest as root, with the build directory in TRIBUTARY_BUILD.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from typed import check_page  # noqa: E402


class Page(unittest.TestCase):
    def test_the_commands_run_as_typed(self):
        check_page(self, "docs/tasks.md")


if __name__ == "__main__":
    unittest.main()
