"""A daemon under attack: its start, what it takes from the machine, and its end without a report."""

import os
import re
import signal
from pathlib import Path

from testbed.process import Process

FOLDER = Path(__file__).resolve().parent
_END_S = 60  # LeakSanitizer looks through all memory of the process
_REPORT = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|UndefinedBehavior")
# Freed memory is kept for a while, so that its use is found. With the default of 256 MiB, memory would grow
# for so long that a leak could hide behind it.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:quarantine_size_mb=16:malloc_context_size=12",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "LSAN_OPTIONS": f"suppressions={FOLDER / 'lsan.supp'}:print_suppressions=0",
}


class Failed(Exception):
    """A daemon or an honest client did what it must not do."""


class Daemon:
    """Started on construction. `growth`: bytes of memory that it may take beyond those after warm-up."""

    def __init__(self, bed, name, command, ready, growth=96 << 20, most_descriptors=1200, **options):
        self.name, self._growth, self._most = name, growth, most_descriptors
        self._loop = bed.loop
        self.process = bed.enter(Process(bed.loop, name, command, bed.folder / f"{name}.log",
                                         env={**SANITIZERS, **options.pop("env", {})}, **options))
        self.ready = self.process.wait_line(ready, 120)
        self.quiet = self.warm = self.peak = None

    @property
    def pid(self):
        return self.process.pid

    def usage(self):
        """Memory in bytes, descriptors, threads."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
        values = dict(re.findall(r"^(\w+):\s+(\d+)", status, re.M))
        return int(values["VmRSS"]) << 10, len(os.listdir(f"/proc/{self.pid}/fd")), int(values["Threads"])

    def sample(self):
        """Raises Failed where the daemon has ended, or has taken too much."""
        if not self.process.running:
            raise Failed(f"{self.process.describe()}")
        try:
            now = self.usage()
        except (FileNotFoundError, ProcessLookupError, KeyError):
            return
        self.peak = now if self.peak is None else tuple(map(max, self.peak, now))
        if self.warm is not None and now[0] > self.warm[0] + self._growth:
            raise Failed(f"{self.name} takes {now[0] >> 20} MiB after {self.warm[0] >> 20} MiB")
        if now[1] > self._most:
            raise Failed(f"{self.name} has {now[1]} descriptors")

    def mark_warm(self):
        self.warm = self.usage()

    def quiet_again(self):
        """Descriptors and threads are those of before the attack, but for a few."""
        now = self.usage()
        return now[1] <= self.quiet[1] + 8 and now[2] <= self.quiet[2] + 4

    def mark_quiet(self):
        self.quiet = self.usage()

    def end(self):
        """SIGTERM: the end must be good, and the sanitizers silent."""
        self.process.signal(signal.SIGTERM)
        self._loop.wait(lambda: not self.process.running, _END_S, f"{self.name} ends")
        if self.process.returncode != 0:
            raise Failed(self.process.describe())
        for line in self.process.stderr:
            if _REPORT.search(line):
                raise Failed(f"{self.name}: {line}\n" + self.process.describe())

    def report(self):
        rows = (self.quiet, self.warm or self.quiet, self.peak or self.quiet)
        return (f"{self.name}: memory " + ", ".join(f"{row[0] >> 20}" for row in rows) + " MiB, descriptors "
                + ", ".join(str(row[1]) for row in rows) + ", threads "
                + ", ".join(str(row[2]) for row in rows) + " (quiet, warm, most)")
