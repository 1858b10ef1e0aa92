"""The shell that types the commands of pages: what it says of each is the command's own."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from shell import TOP, Shell  # noqa: E402


class Typing(unittest.TestCase):
    def setUp(self):
        self.shell = Shell()
        self.addCleanup(self.shell.close)

    def test_the_status_is_that_of_the_command(self):
        for command, status in (("true", 0), ("false", 1), ("sh -c 'exit 3'", 3), ("true | false", 1),
                                ("false &", 0), ("wait $!", 1), ("no-such-program", 127)):
            with self.subTest(command):
                self.assertEqual(self.shell.run(command)[0], status)

    def test_the_output_is_that_of_the_command(self):
        self.assertEqual(self.shell.run("echo one; echo two >&2"), (0, "one\ntwo\n\n"))
        self.assertEqual(self.shell.run("printf end"), (0, "end\n"))
        self.assertEqual(self.shell.run("cat <<END\na\nb\nEND"), (0, "a\nb\n\n"))

    def test_it_is_interactive(self):
        """With job control: a job that bash has told the end of is no job any more."""
        self.assertEqual(self.shell.run("test -t 0 && test -t 1 && [[ $- == *i*m*H* ]]")[0], 0)
        self.assertEqual(self.shell.run("sleep 1000 &"), (0, "\n"))
        self.assertEqual(self.shell.run("kill %1; wait %1")[0], 143)
        status, output = self.shell.run("wait %1")
        self.assertEqual(status, 127)
        self.assertIn("%1: no such job", output)
        self.assertEqual(self.shell.run("wait $!")[0], 143)

    def test_the_machine_is_fresh(self):
        self.assertEqual(self.shell.run("ls -A ~"), (0, "\n"))
        if os.geteuid() == 0:
            # Where the repository is below /tmp, it stays there.
            kept = {pathlib.Path(TOP).parts[2]} if TOP.startswith("/tmp/") else set()
            status, output = self.shell.run("ls -A /dev/shm; ls /tmp")
            self.assertEqual((status, set(output.split()) - kept), (0, {"home"}))
        self.assertEqual(self.shell.run("env | cut -d= -f1 | sort | xargs")[1].split(),
                         ["HOME", "LANG", "PATH", "PWD", "SHLVL", "TERM", "USER", "_"])


if __name__ == "__main__":
    unittest.main()
