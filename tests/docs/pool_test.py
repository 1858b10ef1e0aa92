"""docs/pool.md is true: its file is good, its commands run as typed, its metrics are there."""

import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE))
import tour  # noqa: E402
from typed import check_page  # noqa: E402

PAGE = (TOP / "docs/pool.md").read_text()


class PoolPage(unittest.TestCase):
    def test_the_commands_run_as_typed(self):
        check_page(self, "docs/pool.md")

    def test_metrics_are_those_of_the_code(self):
        code = (TOP / "tools/poold/metrics.cc").read_text()
        text, _ = tour.section(PAGE, "What can I watch?")
        for name in re.findall(r'"tributary_pool_(\w+)"', code):
            self.assertIn(f"`{name.removesuffix('_total')}`", text)


if __name__ == "__main__":
    unittest.main()
