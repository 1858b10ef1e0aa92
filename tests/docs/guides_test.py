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
from typed import check_page  # noqa: E402

FOLDER = "/tmp/tributary-guide"
GUIDES = sorted(glob.glob(os.path.join(TOP, "docs/guides/*.md")))


class Guides(unittest.TestCase):
    def test_there_are_guides(self):
        self.assertTrue(GUIDES)

    def test_they_run_as_typed(self):
        for path in GUIDES:
            with self.subTest(os.path.relpath(path, TOP)):
                check_page(self, os.path.relpath(path, TOP), FOLDER)


if __name__ == "__main__":
    unittest.main()
