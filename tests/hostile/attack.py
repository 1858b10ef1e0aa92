"""Attacks: threads that send what their seed says, at a stated rate, and remember the last of it."""

import collections
import random
import socket
import threading
import time

_KEPT = 40  # messages of each attack
_HEX_BYTES = 400


class Attack(threading.Thread):
    """Calls `turn(random)` again and again. A turn sends something, and returns the name of its kind.

    `rate`: turns a second. OSErrors are the daemon's refusals: they count, and end nothing.
    """

    def __init__(self, name, seed, rate, turn, end=None):
        super().__init__(name=name, daemon=True)
        self.sent = collections.Counter()
        self.refused = 0
        self.problem = None
        self.last = collections.deque(maxlen=_KEPT)
        self._random = random.Random(f"{seed} {name}")
        self._rate, self._turn, self._end = rate, turn, end
        self._goes_on = threading.Event()
        self._over = threading.Event()

    def run(self):
        due = time.monotonic()
        while not self._over.is_set():
            if not self._goes_on.is_set():
                self._goes_on.wait(0.1)
                due = time.monotonic()
                continue
            try:
                self.sent[self._turn(self)] += 1
            except OSError:
                self.refused += 1
            except Exception as error:  # a mistake of the attack's own
                self.problem = error
                return
            due = max(due + 1 / self._rate, time.monotonic() - 1)
            self._over.wait(max(0, due - time.monotonic()))

    @property
    def random(self):
        return self._random

    def note(self, what, data=b""):
        """Keeps a message for the report of a failure."""
        text = bytes(data[:_HEX_BYTES]).hex() + ("..." if len(data) > _HEX_BYTES else "")
        self.last.append(f"{time.monotonic():.3f} {what} {text}")

    def pause(self):
        self._goes_on.clear()

    def resume(self):
        self._goes_on.set()

    def stop(self):
        self._over.set()
        self._goes_on.set()
        self.join(30)
        if self._end is not None:
            self._end()


class Held:
    """Connections that an attack keeps open: at most `most`, the oldest of which make way."""

    def __init__(self, most):
        self._most = most
        self._open = collections.deque()

    def add(self, connection):
        self._open.append(connection)
        while len(self._open) > self._most:
            self._open.popleft().close()

    def drip(self, random, data):
        """Sends a byte or so on one of them; False if there is none."""
        if not self._open:
            return False
        at = random.randrange(len(self._open))
        try:
            self._open[at].send(data, socket.MSG_DONTWAIT)
        except OSError:
            self._open[at].close()
            del self._open[at]
            raise
        return True

    def close(self):
        while self._open:
            self._open.popleft().close()
