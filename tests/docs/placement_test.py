"""docs/placement.md is true: its commands run as typed, with a real podman."""

import os
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE))
import tour  # noqa: E402
from shell import Shell  # noqa: E402

BUILD = Path(os.environ["TRIBUTARY_BUILD"])
PAGE = (TOP / "docs/placement.md").read_text()


class PlacementPage(unittest.TestCase):
    def test_commands_run_as_typed(self):
        shell = Shell("/tmp/tributary-placement")
        self.addCleanup(shell.close)
        shell.run(f"export PATH={BUILD}/bin:{BUILD}/tools:$PATH")
        # The agent describes devices here; the machine's own folder stays as it is.
        status, output = shell.run("mkdir -p /etc/cdi && mount -t tmpfs none /etc/cdi")
        self.assertEqual(status, 0, output)
        for step in tour.steps(*tour.section(PAGE, "How do I run a container on a device?")):
            status, output = shell.run(step.command)
            self.assertEqual(status, 0, f"docs/placement.md:{step.line}: {step.command}\n{output}")
            if step.output:
                self.assertTrue(tour.matches(step.output, output),
                                f"docs/placement.md:{step.line}\n{output}")
            if step.command.endswith("&"):
                # Each of them is there when its socket or its log says so.
                ready = ("grep -q ready manager.log" if "managerd" in step.command else
                         "test -S podman.sock" if "podman " in step.command.split("--")[0] else
                         "grep -q ready agent.log")
                status, _ = shell.run(f"timeout 60 bash -c 'until {ready}; do sleep 0.1; done'")
                self.assertEqual(status, 0, step.command)

    def test_options_are_those_of_the_agent(self):
        text, _ = tour.section(PAGE, "What does a node need?")
        code = (TOP / "tools/agentd/main.cc").read_text()
        for option in ("--node", "--leaf", "--podman", "--devices", "--cdi", "--network", "--pids"):
            self.assertIn(f"`{option}", text)
            self.assertIn(f'"{option}"', code)


if __name__ == "__main__":
    unittest.main()
