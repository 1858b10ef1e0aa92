"""The shell that types the commands of pages: what it says of each is the command's own."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from shell import Shell  # noqa: E402

FOLDER = "/tmp/tributary-shell"


class Typing(unittest.TestCase):
    def setUp(self):
        self.shell = Shell(FOLDER)
        self.addCleanup(self.shell.close)

    def test_the_status_is_that_of_the_command(self):
        for command, status in (("true", 0), ("false", 1), ("sh -c 'exit 3'", 3), ("true | false", 1),
                                ("false &", 0), ("wait $!", 1), ("no-such-program", 127)):
            with self.subTest(command):
                self.assertEqual(self.shell.run(command)[0], status)

    def test_the_output_is_that_of_the_command(self):
        self.assertEqual(self.shell.run("echo one; echo two >&2"), (0, "one\ntwo\n\n"))
        self.assertEqual(self.shell.run("printf end"), (0, "end\n"))


if __name__ == "__main__":
    unittest.main()
