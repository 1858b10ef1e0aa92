"""Every console block of README.md and docs is typed by a test, and every other one with commands is listed.

What is typed is shown with all its output. So a block with a command that is no console block is for
reading alone: its switch, its files or its figures are the reader's.
"""
import glob
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import tour  # noqa: E402

# By the test that types them; guides_test.py types all of docs/guides.
TYPED = {
    "README.md": "readme_test.py",
    "docs/manager.md": "manager_test.py",
    "docs/mpi.md": "mpi_test.py",
    "docs/names.md": "names_test.py",
    "docs/operating/slow-jobs.md": "operations_test.py",
    "docs/placement.md": "placement_test.py",
    "docs/pool.md": "pool_test.py",
    "docs/simulation.md": "simulation_test.py",
    "docs/tasks.md": "tasks_test.py",
    "docs/torch.md": "torch_test.py",
}
# Blocks for reading, and why nothing types them.
READ = {
    "docs/operating/inspect.md": (1, "a mistake on the reader's machine"),
    "docs/operating/load.md": (1, "CPUs of the reader's machine"),
    "docs/operating/reload.md": (5, "calls, each with what may be said of it"),
    "docs/operating/slow-jobs.md": (2, "calls, and a table of an op that is explained"),
    "docs/operating/trees.md": (4, "calls to switches of the reader's tree"),
    "docs/pktgen.md": (7, "another program; system.pktgen replays its files"),
}


def pages():
    for path in [os.path.join(TOP, "README.md"),
                 *sorted(glob.glob(os.path.join(TOP, "docs/**/*.md"), recursive=True))]:
        with open(path, encoding="utf-8") as f:
            yield os.path.relpath(path, TOP), f.read()


def blocks(text):
    """(language, content) of each fenced block"""
    return re.findall(r"^```([^\n]*)\n(.*?)^```", text, re.M | re.S)


class Pages(unittest.TestCase):
    def test_every_console_block_is_typed(self):
        with_commands = {page for page, text in pages() if tour.steps(text)}
        guides = {page for page in with_commands if page.startswith("docs/guides/")}
        self.assertGreater(len(guides), 5)
        self.assertEqual(with_commands - guides, set(TYPED))
        for page, test in TYPED.items():
            with open(os.path.join(HERE, test), encoding="utf-8") as f:
                self.assertIn(f'"{page}"', f.read())

    def test_blocks_for_reading_are_listed(self):
        found = {page: sum(language != "console" and re.search(r"^\$ ", content, re.M) is not None
                           for language, content in blocks(text)) for page, text in pages()}
        self.assertEqual({page: count for page, count in found.items() if count},
                         {page: count for page, (count, _) in READ.items()})


if __name__ == "__main__":
    unittest.main()
