"""docs/pool.md is true: its file is good, its commands run as typed, its metrics are there."""

import os
import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE))
import tour  # noqa: E402
from shell import Shell  # noqa: E402

FOLDER = "/tmp/tributary-pool-demo"
BUILD = Path(os.environ["TRIBUTARY_BUILD"])
PAGE = (TOP / "docs/pool.md").read_text()


class PoolPage(unittest.TestCase):
    def test_commands_run_as_typed(self):
        text, line = tour.section(PAGE, "How do I set one up?")
        yaml = re.search(r"```yaml\n(.*?)```", text, re.S).group(1)
        shell = Shell(FOLDER)
        self.addCleanup(shell.close)
        status, output = shell.run(
            f"export PATH={BUILD}/bin:{BUILD}/tools:$PATH; mkdir -p {FOLDER}/data; "
            f"for i in $(seq 100); do echo $i > {FOLDER}/data/$i; done; "
            f"cat > {FOLDER}/pool.yaml <<'END'\n{yaml}END")
        self.assertEqual(status, 0, output)
        for step in tour.steps(text, line):
            with self.subTest(f"docs/pool.md:{step.line}"):
                status, output = shell.run(step.command)
                self.assertEqual(status, 0, f"{step.command}\n{output}")
                if step.output:
                    self.assertTrue(tour.matches(step.output, output), output)
                if step.command.endswith("&"):
                    # It says so when it serves.
                    log = step.command.split("> ")[1].split()[0]
                    status, output = shell.run(f"timeout 60 tail -f -n +1 {log} | grep -q ready")
        shell.run("rm -f /dev/shm/tributary-pool-demo-*")

    def test_metrics_are_those_of_the_code(self):
        code = (TOP / "tools/poold/metrics.cc").read_text()
        text, _ = tour.section(PAGE, "What can I watch?")
        for name in re.findall(r'"tributary_pool_(\w+)"', code):
            self.assertIn(f"`{name.removesuffix('_total')}`", text)

    def test_keys_are_those_of_the_code(self):
        code = (TOP / "pool/loader/pool_config.cc").read_text()
        text, _ = tour.section(PAGE, "Keys of the file")
        for name in re.findall(r'(?:scalar|choice|lifted|list|mapping<[^>]*>)\(\s*"(\w+)"', code):
            if name != "pool":
                self.assertRegex(text, rf"`{name}(\[\])?`")


if __name__ == "__main__":
    unittest.main()
