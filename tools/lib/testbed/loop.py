"""Waiting, in one place: file descriptors, deadlines and signals.

Signals never interrupt the middle of something: a handler notes the signal, and the next turn of
the loop raises Interrupted. So a process or namespace cannot be created and then forgotten. In
clean-up code, shielded() keeps waiting possible and puts the exception off.
"""

import contextlib
import selectors
import signal
import socket
import time

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class WaitExpired(TimeoutError):
    """A wait that ran out: on a busy machine that says nothing about the program."""


class Interrupted(KeyboardInterrupt):
    """A signal asked this run to end."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


class Loop:
    """A context manager; one at a time, in the main thread."""

    def __init__(self):
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        self._pending = None
        self._shields = 0

    def __enter__(self):
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._drain_wakeups)
        self._old_wakeup = signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        self._old_handlers = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(self, *_):
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        self._selector.close()
        self._woken.close()
        self._waker.close()

    def watch(self, fd, on_readable):
        self._selector.register(fd, selectors.EVENT_READ, on_readable)

    def unwatch(self, fd):
        self._selector.unregister(fd)

    @contextlib.contextmanager
    def shielded(self):
        """Waits inside do not raise Interrupted; the next one outside does."""
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1

    def check(self):
        """Raises Interrupted if a signal came."""
        if self._pending is not None and not self._shields:
            number, self._pending = self._pending, None
            raise Interrupted(number)

    def turn(self, timeout):
        """Handles what is ready, waiting at most `timeout` seconds for the first."""
        self.check()
        for key, _ in self._selector.select(timeout):
            key.data()
        self.check()

    def wait(self, condition, timeout, what):
        """Turns until condition() is true and returns its value; WaitExpired names `what`."""
        deadline = time.monotonic() + timeout
        while not (value := condition()):
            left = deadline - time.monotonic()
            if left <= 0:
                raise WaitExpired(f"{what}: not within {timeout:g} s")
            # Conditions may depend on more than what is watched, hence the upper limit.
            self.turn(min(left, 0.1))
        return value

    def _note(self, number, _frame):
        self._pending = number

    def _drain_wakeups(self):
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(64):
                pass
