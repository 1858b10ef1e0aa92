"""How long this machine, or this process on it, stood still: a beat that comes late says so.

A virtual machine that shares its CPUs may not run for seconds; a test that fails beside such a pause is
read differently from one that fails on a quiet machine.
"""

import threading
import time

INTERVAL_S = 0.02


class Heartbeat:
    """Call start() once, from any thread. longest_s() and reset() are any thread's."""

    def __init__(self, clock=time.monotonic, sleep=time.sleep):
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._longest = 0.0
        self._last = clock()

    def start(self):
        threading.Thread(target=self._beat_for_ever, name="heartbeat", daemon=True).start()

    def beat(self):
        """One beat: the time since the last, beyond the interval, is a pause."""
        self._sleep(INTERVAL_S)
        with self._lock:
            now = self._clock()
            self._longest = max(self._longest, now - self._last - INTERVAL_S)
            self._last = now

    def longest_s(self):
        """Seconds of the longest pause since reset(), one that lasts still included."""
        with self._lock:
            return max(self._longest, self._clock() - self._last - INTERVAL_S, 0.0)

    def reset(self):
        with self._lock:
            self._longest = 0.0

    def _beat_for_ever(self):
        while True:
            self.beat()
