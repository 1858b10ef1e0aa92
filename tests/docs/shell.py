"""An interactive shell on a terminal, as a user has it, into which a test types the commands of pages.

As root it has a machine of its own that is as good as fresh: a network, processes, /tmp, /run and
/dev/shm, and an empty home. So nothing on the machine can disturb it, and nothing of it is left.
"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEP_LIMIT_S = 240  # of a step that hangs
END_LIMIT_S = 10
ROWS, COLUMNS = 40, 120

# The shell is the first process of its namespace: when it ends, all that it started ends. The
# repository stays where it is, also below /tmp.
ISOLATED = """
set -e
ip link set lo up
cd "$1"
for folder in /tmp /run /dev/shm /etc/cdi; do mkdir -p $folder; mount -t tmpfs -o mode=1777 none $folder; done
if ! [ -e "$1/tests/docs/shell.py" ]; then
  mkdir -p "$1"
  mount --no-canonicalize --bind /proc/self/cwd "$1"
fi
mkdir /tmp/home
cd "$1"
shift
exec "$@"
"""
NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
MARK = "tributary-docs-step-done"
# bash tells what becomes of jobs: "[1] 4711", and before a prompt "[1]+  Done    sleep 1 > log". A job that
# failed is no part of a page: "[1]+  Exit 1    sleep x" stays.
NOTICE = re.compile(
    r"^(\[\d+\] \d+|\[\d+\][ +-] +(Running|Done|Killed|Terminated|Hangup|Aborted).*|\(wd now: .*\))\n",
    re.M)


class Shell:
    """One bash that is given a command at a time."""

    def __init__(self, environment=()):
        self._home = None
        home = "/tmp/home"
        if os.geteuid() != 0:
            self._home = tempfile.TemporaryDirectory()
            home = self._home.name
        # All that a user has in it who has just come.
        variables = {"HOME": home, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                     "LANG": "C.UTF-8", "TERM": "xterm", "USER": "root" if os.geteuid() == 0 else "user",
                     **dict(environment)}
        bash = ["env", "--unset=OLDPWD", rf"PS1=\n{MARK} $?\n", "PS2=", "setsid", "--ctty", "--wait",
                "bash", "--norc", "--noprofile", "--noediting", "-i"]
        if os.geteuid() == 0:
            bash = [*NAMESPACES, "bash", "-c", ISOLATED, "bash", TOP, *bash]
        self._terminal, side = pty.openpty()
        self._output = ""
        try:
            _set_up(side)
            self._shell = subprocess.Popen(bash, cwd=TOP, stdin=side, stdout=side, stderr=side, env=variables)
        finally:
            os.close(side)
        self._read_step("the start of the shell")
        self.run("export -n PS1 PS2")

    def run(self, command, limit_s=STEP_LIMIT_S):
        """(exit status, output), less what bash says about jobs"""
        typed = (command + "\n").encode()
        while typed:
            typed = typed[os.write(self._terminal, typed):]
        return self._read_step(command, limit_s)

    def _read_step(self, command, limit_s=STEP_LIMIT_S):
        end = time.monotonic() + limit_s
        while not (found := re.search(rf"\n{MARK} (\d+)\n", self._output)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._terminal], [], [], left)[0]:
                raise AssertionError(f"hangs: {command}\n{self._output}")
            try:
                self._output += os.read(self._terminal, 65536).decode(errors="replace")
            except OSError:  # the terminal's other side is closed
                raise AssertionError(f"the shell ended in: {command}\n{self._output}") from None
        output, self._output = self._output[:found.start() + 1], self._output[found.end():]
        return int(found[1]), NOTICE.sub("", output)

    def close(self):
        # What a failed step left running must not outlive the test: bash passes the hang-up on to its
        # jobs, and the namespace ends with it, or with unshare.
        os.close(self._terminal)
        try:
            self._shell.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._shell.kill()
            self._shell.wait(END_LIMIT_S)
        if self._home is not None:
            self._home.cleanup()


def _set_up(terminal):
    """Without the typed text in its output, and with plain line ends."""
    modes = termios.tcgetattr(terminal)
    modes[1] &= ~termios.ONLCR
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
