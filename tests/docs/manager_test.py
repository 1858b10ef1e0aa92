"""docs/manager.md is true: its commands run as typed, its metrics are those of the code."""

import os
import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(TOP / "tools/lib"))
import tour  # noqa: E402
from shell import Shell  # noqa: E402
from testbed.tree import module_directory  # noqa: E402

BUILD = Path(os.environ["TRIBUTARY_BUILD"])
PAGE = (TOP / "docs/manager.md").read_text()
SECTIONS = ("How do I start it?", "How do I run a job?", "What can I watch?")


class ManagerPage(unittest.TestCase):
    def test_commands_run_as_typed(self):
        shell = Shell("/tmp/tributary-manager")
        self.addCleanup(shell.close)
        shell.run(f"export PATH={BUILD}/bin:{BUILD}/tools:$PATH PYTHONPATH={module_directory(BUILD)}")
        for heading in SECTIONS:
            for step in tour.steps(*tour.section(PAGE, heading)):
                status, output = shell.run(step.command)
                self.assertEqual(status, 0, f"docs/manager.md:{step.line}: {step.command}\n{output}")
                if step.output:
                    self.assertTrue(tour.matches(step.output, output),
                                    f"docs/manager.md:{step.line}\n{output}")
                if step.command.endswith("&"):
                    # It says so when it serves.
                    log = step.command.split("> ")[1].split()[0]
                    status, _ = shell.run(f"timeout 60 tail -f -n +1 {log} | grep -q ready")
                    self.assertEqual(status, 0, log)

    def test_metrics_are_those_of_the_code(self):
        code = (TOP / "tools/managerd/metrics.cc").read_text()
        text, _ = tour.section(PAGE, "What can I watch?")
        names = re.findall(r'"tributary_manager_(\w+)"', code)
        self.assertGreater(len(names), 5)
        for name in names:
            self.assertIn(f"`{name.removesuffix('_total')}`", text)


if __name__ == "__main__":
    unittest.main()
