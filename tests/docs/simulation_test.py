"""docs/simulation.md is true: its commands run, and its tables are what they print.

Runs of thousands of workers take minutes, so the tables' small rows stand for all: a run depends on
the scenario alone. Run by ctest with the tool's path in TRIBUTARY_SIM.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import tour  # noqa: E402

LARGEST = 256  # workers
MEASURED = {"events/s", "processor time"}  # depend on the machine


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def table_after(text, command):
    """{workers: {column: value}} of the first table behind a command."""
    rows = re.search(r"^\|.*?(?=\n\n|\Z)", text[text.index(command):], re.M | re.S)[0].splitlines()
    head = cells(rows[0])
    return {int(cells(row)[0]): dict(zip(head, cells(row))) for row in rows[2:]}


class Simulation(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(TOP, "docs/simulation.md"), encoding="utf-8") as f:
            self.text = f.read()

    def run_tool(self, words, folder):
        # Files that the page has written stand in the folder, those that it reads in the repository.
        programs = {"tributary-sim": os.environ["TRIBUTARY_SIM"]}
        words = [os.path.join(TOP, w) if w.startswith("tools/") else programs.get(w, w) for w in words]
        done = subprocess.run(words, cwd=folder, text=True, capture_output=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_every_command_runs_and_prints_what_the_page_shows(self):
        steps = tour.steps(self.text)
        self.assertGreater(len(steps), 2)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for step in steps:
            words = shlex.split(step.command)
            with self.subTest(command=step.command):
                self.assertIn(words[0], ("tributary-sim", "tools/plot"))
                if "--scaling" not in words:
                    self.run_tool(words, folder)
                    continue
                shown = table_after(self.text, step.command)
                at = words.index("--scaling") + 1
                sizes = [int(size) for size in words[at].split(",")]
                self.assertEqual(sizes, list(shown))
                words[at] = ",".join(str(size) for size in sizes if size <= LARGEST)
                command = shlex.join(words)
                printed = table_after(command + "\n" + self.run_tool(words, folder), command)
                self.assertTrue(printed)
                for size, row in printed.items():
                    for column in set(row) - MEASURED:
                        self.assertEqual(shown[size][column], row[column], f"{size} {column}")


if __name__ == "__main__":
    unittest.main()
