"""docs/simulation.md is true: its commands run, and its tables are what they print.

Runs of thousands of workers take minutes, so the tables' small rows stand for all but in the full check
(TRIBUTARY_FULL): a run depends on the scenario alone. Run by ctest with the build directory in
TRIBUTARY_BUILD.
"""
import os
import pathlib
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import tour  # noqa: E402
from shell import Shell  # noqa: E402
from typed import environment_of, for_build  # noqa: E402

LARGEST = 65535 if os.environ.get("TRIBUTARY_FULL") else 256  # workers
RUN_LIMIT_S = 850  # of the largest, beside other tests
MEASURED = {"events/s", "processor time"}  # depend on the machine


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def table_of(lines):
    """{workers: {column: value}} of the rows of a table."""
    rows = [line for line in lines if line.startswith("|")]
    head = cells(rows[0])
    return {int(cells(row)[0]): dict(zip(head, cells(row))) for row in rows[2:]}


def table_after(text, command):
    """The first one behind a command."""
    return table_of(re.search(r"^\|.*?(?=\n\n|\Z)", text[text.index(command):], re.M | re.S)[0].splitlines())


class Simulation(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(TOP, "docs/simulation.md"), encoding="utf-8") as f:
            self.text = f.read()
        self.build = pathlib.Path(os.environ["TRIBUTARY_BUILD"]).resolve()
        self.shell = Shell(environment_of(self.build))
        self.addCleanup(self.shell.close)

    def run_step(self, command):
        status, output = self.shell.run(for_build(command, self.build), RUN_LIMIT_S)
        self.assertEqual(status, 0, f"{command}\n{output}")
        return output

    def test_every_command_runs_and_prints_what_the_page_shows(self):
        steps = tour.steps(self.text)
        self.assertGreater(len(steps), 3)
        for step in steps:
            with self.subTest(command=step.command):
                scaling = re.search(r" --scaling ([0-9,]+)$", step.command)
                if not scaling:
                    self.assertTrue(tour.matches(step.output, self.run_step(step.command)))
                    continue
                shown = table_after(self.text, step.command)
                sizes = [int(size) for size in scaling[1].split(",")]
                self.assertEqual(sizes, list(shown))
                sizes = [size for size in sizes if size <= LARGEST]
                command = step.command.replace(scaling[1], ",".join(map(str, sizes)))
                printed = table_of(self.run_step(command).splitlines())
                self.assertEqual(sizes, list(printed))
                for size, row in printed.items():
                    for column in set(row) - MEASURED:
                        self.assertEqual(shown[size][column], row[column], f"{size} {column}")


if __name__ == "__main__":
    unittest.main()
