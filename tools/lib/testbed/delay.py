"""Workers that are late on purpose: a file for each, which its programs read before every op.

`tributary allreduce` and `tributary bench` do so, and examples/fashion_mnist/train.py; where the file
is stands in TRIBUTARY_DELAY_FILE. No file: no delay.
"""

import os
import re

_TIME = re.compile(r"([0-9]{1,9})(us|ms|s)")
_MOST_S = 3600
_MOST_EVERY = 1_000_000
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


class DelayError(Exception):
    """Says what is wrong with a delay, and what is allowed."""


def line(time, every=1):
    """The file's text: "200ms every 3"."""
    match = _TIME.fullmatch(time)
    if match is None or int(match[1]) * _SECONDS[match[2]] > _MOST_S:
        raise DelayError(f"delay '{time}'; allowed: off, or up to 3600s, such as 500us, 200ms or 2s")
    if not 1 <= every <= _MOST_EVERY:
        raise DelayError(f"--every {every}; allowed: 1 to {_MOST_EVERY}")
    return f"{time} every {every}"


class Delays:
    """Delays of one testbed's workers; `directory` is there already."""

    def __init__(self, directory):
        self._directory = directory

    def path(self, worker):
        return self._directory / worker

    def set(self, worker, time, every=1):
        """`time`: "200ms", or "off"."""
        if time == "off":
            self.path(worker).unlink(missing_ok=True)
            return
        text = line(time, every)
        new = self._directory / f".{worker}.new"
        new.write_text(text + "\n", encoding="ascii")
        os.replace(new, self.path(worker))  # a reader has the old or the new, nothing in between

    def of(self, worker):
        """"200ms every 3", or "-"."""
        try:
            return self.path(worker).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return "-"
