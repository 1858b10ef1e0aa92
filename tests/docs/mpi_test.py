"""docs/mpi.md is true: its commands, typed in order from an empty folder, print what it shows.

Run by ctest as root, with the build directory in TRIBUTARY_BUILD.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from typed import check_page  # noqa: E402

FOLDER = "/tmp/tributary-mpi"


class Mpi(unittest.TestCase):
    def test_it_runs_as_typed(self):
        build = os.environ["TRIBUTARY_BUILD"]  # the page's is CMake's; this is meson's, too
        check_page(self, "docs/mpi.md", FOLDER,
                   [f"export PATH={build}/tools:$PATH LD_LIBRARY_PATH={build}/worker/mpi"])


if __name__ == "__main__":
    unittest.main()
