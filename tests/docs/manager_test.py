"""docs/manager.md is true: its commands run as typed, its metrics are those of the code."""

import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE))
import tour  # noqa: E402
from typed import check_page  # noqa: E402

PAGE = (TOP / "docs/manager.md").read_text()


class ManagerPage(unittest.TestCase):
    def test_the_commands_run_as_typed(self):
        check_page(self, "docs/manager.md")

    def test_metrics_are_those_of_the_code(self):
        code = (TOP / "tools/managerd/metrics.cc").read_text()
        text, _ = tour.section(PAGE, "What can I watch?")
        names = re.findall(r'"tributary_manager_(\w+)"', code)
        self.assertGreater(len(names), 5)
        for name in names:
            self.assertIn(f"`{name.removesuffix('_total')}`", text)


if __name__ == "__main__":
    unittest.main()
