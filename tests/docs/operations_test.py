"""docs/operating/slow-jobs.md is true: its walk-through of a late worker prints what the page shows.

Run by ctest as root, with the build directory in TRIBUTARY_BUILD.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from typed import check_page  # noqa: E402


class Page(unittest.TestCase):
    def test_the_commands_run_as_typed(self):
        check_page(self, "docs/operating/slow-jobs.md")


if __name__ == "__main__":
    unittest.main()
