"""docs/guides are true: each guide's commands, typed in order, print what it shows.

Run by ctest as root, with the build directory in TRIBUTARY_BUILD. Each guide has a machine of its own.
"""
import glob
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from typed import check_page  # noqa: E402

GUIDES = sorted(glob.glob(os.path.join(TOP, "docs/guides/*.md")))


class Guides(unittest.TestCase):
    def test_there_are_guides(self):
        self.assertGreater(len(GUIDES), 5)


def typed(page):
    return lambda case: check_page(case, page)


for guide in GUIDES:
    setattr(Guides, f"test_{os.path.basename(guide).removesuffix('.md')}", typed(os.path.relpath(guide, TOP)))

if __name__ == "__main__":
    unittest.main()
