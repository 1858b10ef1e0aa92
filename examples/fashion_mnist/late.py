"""A rank that is late on purpose, as `tributary allreduce --delay-file` is: a file says by how much.

The file is read before each op, so that lateness comes and goes while a training runs. It holds
"200ms every 3" (us, ms or s; every third op, the first included), or there is none: no delay.
"""

import re
import time

_LINE = re.compile(r"\s*([0-9]{1,9})(us|ms|s)(?: every ([0-9]{1,7}))?\s*")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_MOST_S = 3600
_MOST_EVERY = 1_000_000


class LateError(Exception):
    """The file is bad; the text says what is allowed."""


class OpDelay:
    def __init__(self, path=None):
        self._path = path
        self._op = 0

    def next(self):
        """Seconds that the next op has to wait; counts it."""
        seconds, every = self._read() if self._path else (0.0, 1)
        self._op += 1
        return seconds if (self._op - 1) % every == 0 else 0.0

    def before_op(self):
        if seconds := self.next():
            time.sleep(seconds)

    def _read(self):
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                text = file.read(64)
        except FileNotFoundError:
            return 0.0, 1
        if text.strip() in ("", "off"):
            return 0.0, 1
        match = _LINE.fullmatch(text)
        seconds = int(match[1]) * _SECONDS[match[2]] if match else 0.0
        every = int(match[3] or 1) if match else 0
        if seconds > _MOST_S or not 1 <= every <= _MOST_EVERY:
            raise LateError(
                f"{self._path}: delay '{text.strip()}'; allowed: off, or a time up to {_MOST_S}s, such "
                f'as 500us, 200ms or 2s, and "every N" behind it with N from 1 to {_MOST_EVERY}'
            )
        return seconds, every
