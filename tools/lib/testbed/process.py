"""A child process: its own group, its output by lines, and a certain end.

The child dies with this process (PR_SET_PDEATHSIG), whatever kills that. When the child exits,
what is left of its group is killed too. Output goes to a log file and stays readable as lines.
"""

import collections
import contextlib
import os
import pwd
import re
import signal
import stat
import subprocess

from .tree import TOP

_KEPT_LINES = 20000


class ProcessFailed(Exception):
    """A process ended in a way it should not have; the text has its last words."""


class Process:
    """Started on construction; stop() is idempotent. Use as a context manager."""

    def __init__(
        self, loop, name, argv, log, namespace=None, user=None, env=None, cwd=None, on_line=None
    ):
        self.name = name
        self.stdout = collections.deque(maxlen=_KEPT_LINES)
        self.stderr = collections.deque(maxlen=_KEPT_LINES)
        self.returncode = None
        self._loop = loop
        self._on_line = on_line
        self._log = open(log, "ab")
        prefix, descriptors = _prefix(namespace, user)
        self._child = subprocess.Popen(
            [*prefix, *map(str, argv)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=descriptors,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
        self.pid = self._child.pid
        self._pidfd = os.pidfd_open(self.pid)
        self._streams = []
        for pipe, lines in ((self._child.stdout, self.stdout), (self._child.stderr, self.stderr)):
            os.set_blocking(pipe.fileno(), False)
            self._streams.append(_Stream(self, pipe, lines))
        loop.watch(self._pidfd, self._on_exit)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def running(self):
        return self.returncode is None

    def line(self, text):
        """Called for each line of output."""
        self._log.write(text.encode() + b"\n")
        self._log.flush()
        if self._on_line is not None:
            self._on_line(self, text)

    def wait_line(self, pattern, timeout):
        """The match of the first line of stdout, seen or to come, in which `pattern` is found."""
        regex = re.compile(pattern)

        def found():
            for text in self.stdout:
                if match := regex.search(text):
                    return match
            if not self.running:
                raise ProcessFailed(f"{self.describe()} before printing '{pattern}'")
            return None

        return self._loop.wait(found, timeout, f"{self.name} prints '{pattern}'")

    def wait_exit(self, timeout):
        """The exit status; negative for a signal."""
        self._loop.wait(lambda: not self.running, timeout, f"{self.name} ends")
        return self.returncode

    def check_exit(self, timeout):
        """Waits for success; ProcessFailed otherwise."""
        if self.wait_exit(timeout) != 0:
            raise ProcessFailed(self.describe())
        return self

    def signal(self, number):
        if self.running:
            os.kill(self.pid, number)

    def pause(self):
        """SIGSTOP; returns when all its threads stand still. `signal(SIGCONT)` lets it go on."""
        self.signal(signal.SIGSTOP)
        if self.running:
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def stop(self, grace=10.0):
        """SIGTERM, then SIGKILL if that does not end it within `grace` seconds."""
        with self._loop.shielded():
            if self.running:
                os.killpg(self.pid, signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    self.wait_exit(grace)
            if self.running:
                os.killpg(self.pid, signal.SIGKILL)
                self.wait_exit(60)

    def text(self):
        return "\n".join(self.stdout)

    def describe(self):
        """How it ended, and its last words."""
        words = [*self.stderr][-15:] or [*self.stdout][-15:]
        state = "still runs" if self.running else f"ended with status {self.returncode}"
        return f"{self.name} {state}" + "".join(f"\n    | {text}" for text in words)

    def _on_exit(self):
        # The leader is a zombie until it is waited for: its group id cannot be anyone else's.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for stream in self._streams:
            stream.finish()
        self._loop.unwatch(self._pidfd)
        os.close(self._pidfd)
        self._log.close()
        self.returncode = self._child.wait()


class _Stream:
    """One pipe of a process, cut into lines."""

    def __init__(self, process, pipe, lines):
        self._process = process
        self._pipe = pipe
        self._lines = lines
        self._rest = b""
        self._open = True
        process._loop.watch(pipe.fileno(), self._read)

    def _read(self):
        """False when there is nothing more for now."""
        if not self._open:
            return False
        try:
            data = os.read(self._pipe.fileno(), 65536)
        except BlockingIOError:
            return False
        if not data:
            self._close()
            return False
        *whole, self._rest = (self._rest + data).split(b"\n")
        for raw in whole:
            self._take(raw)
        return True

    def _take(self, raw):
        text = raw.decode(errors="replace")
        self._lines.append(text)
        self._process.line(text)

    def finish(self):
        while self._read():
            pass
        if self._rest:
            self._take(self._rest)
        self._close()

    def _close(self):
        if self._open:
            self._open = False
            self._process._loop.unwatch(self._pipe.fileno())
            self._pipe.close()


def _prefix(namespace, user):
    """The words to put before a command, and the descriptors that they need."""
    prefix, descriptors = [], ()
    if namespace is not None:
        prefix += ["nsenter", f"--net=/proc/self/fd/{namespace.fd}", "--"]
        descriptors = (namespace.fd,)
    if user is not None:
        prefix += _readable(TOP)
    prefix += ["setpriv", "--pdeathsig", "KILL"]
    if user is not None:
        prefix += ["--reuid", user, "--regid", str(_group_of(user)), "--clear-groups"]
    return [*prefix, "--"], descriptors


def _readable(tree):
    """The words that show a command `tree` where it is, though only root may enter a folder above it."""
    private = [folder for folder in reversed(tree.parents) if not folder.stat().st_mode & stat.S_IXOTH]
    if not private:
        return []
    return ["unshare", "--mount", "--", "sh", "-ec", _SHOW, "sh", str(tree), str(private[0])]


# In a mount namespace of its own: an empty folder over the private one, and in that the tree.
_SHOW = """
mount --bind "$1" /mnt
mount -t tmpfs -o mode=755 tmpfs "$2"
mkdir -p "$1"
mount --move /mnt "$1"
cd "$PWD"
shift 2
exec "$@"
"""


def _group_of(user):
    return pwd.getpwnam(user).pw_gid
