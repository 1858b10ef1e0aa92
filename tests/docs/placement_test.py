"""docs/placement.md is true: its commands run as typed, with a real podman."""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE))
import tour  # noqa: E402
from typed import check_page  # noqa: E402

PAGE = (TOP / "docs/placement.md").read_text()


class PlacementPage(unittest.TestCase):
    def test_the_commands_run_as_typed(self):
        check_page(self, "docs/placement.md")

    def test_options_are_those_of_the_agent(self):
        text, _ = tour.section(PAGE, "What does a node need?")
        code = (TOP / "tools/agentd/main.cc").read_text()
        for option in ("--node", "--leaf", "--podman", "--devices", "--cdi", "--network", "--pids"):
            self.assertIn(f"`{option}", text)
            self.assertIn(f'"{option}"', code)


if __name__ == "__main__":
    unittest.main()
