"""An overloaded switch, for suite `switch`: a tenth of its CPU, several jobs, and all that a generator can offer.

What it could do with that tenth is measured, not assumed: the best of several offers, from half of
what a tenth of its highest rate would be to all that the generator can. That is what goodput under
a long flood stands beside. While the flood lasts, an operator asks: `tributary show jobs`,
`tributary set`, and a scrape of the metrics, one after the other.
"""

import concurrent.futures
import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import dut
from testbed.process import Process

JOBS = 4
PERIOD_S = 0.010
SHARE = 0.1
GOODPUT_BAR = 0.9
ANSWER_BAR_MS = 100
OFFERS = (0.5, 0.75, 1, 1.5, None)  # of a tenth of the highest rate; None: all
STARVED = 0.1  # of a job's fair share
MOST_SHARE = 2 * SHARE  # else it was no tenth
ASK_EVERY_S = 0.5


def free_address():
    """Where nobody listens now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


# In a process of its own, ahead of all others, and told to the thread that runs: both CPUs are busy,
# and an ordinary thread's turn, here or in the switch, would come milliseconds later.
THROTTLE = """
import ctypes, os, signal, sys, time
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except PermissionError:
    pass
process, thread, on, off = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
tgkill = ctypes.CDLL(None).tgkill
while True:
    time.sleep(on)
    tgkill(process, thread, signal.SIGSTOP)
    time.sleep(off)
    os.kill(process, signal.SIGCONT)
"""


PACKET_LOOP = "rte-worker"  # as DPDK names the threads of its lcores


def cpu_s(stat):
    fields = stat.read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


class Throttle:
    """Stops a process for most of each period; `share`: of a CPU that it had."""

    def __init__(self, loop, process, log):
        self._loop, self._process, self._log = loop, process, log
        self._proc = Path(f"/proc/{process.pid}")
        self.share = None

    def __enter__(self):
        self._began = time.monotonic(), cpu_s(self._proc / "stat")
        packet_loop = next(thread for thread in (self._proc / "task").iterdir()
                           if (thread / "comm").read_text().startswith(PACKET_LOOP))
        argv = [sys.executable, "-c", THROTTLE, self._process.pid, packet_loop.name,
                PERIOD_S * SHARE, PERIOD_S * (1 - SHARE)]
        self._throttle = Process(self._loop, "throttle", argv, self._log)
        return self

    def __exit__(self, *_):
        self._throttle.stop()
        self._process.signal(signal.SIGCONT)
        took, cpu = time.monotonic() - self._began[0], cpu_s(self._proc / "stat") - self._began[1]
        self.share = cpu / took


class Operator:
    """Asks a device in three ways, from a thread of its own; keeps how many milliseconds each took."""

    def __init__(self, device, metrics):
        self._device = device
        self._url = f"http://{metrics}/metrics"
        self._ageing = itertools.cycle(("299s", "300s"))
        self.took_ms = {"show jobs": [], "set": [], "metrics": []}

    def ask(self):
        self._timed("show jobs", lambda: self._command("show", "jobs"))
        self._timed("set", lambda: self._command("set", "forwarding.fdb_ageing", next(self._ageing)))
        self._timed("metrics", self._scrape)

    @contextlib.contextmanager
    def asking(self):
        """Now, and every half second until the end of the block."""
        over = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self._ask_until, over)
            try:
                yield
            finally:
                over.set()
            asked.result()

    def _ask_until(self, over):
        # The load takes part of a second to start.
        while not over.wait(ASK_EVERY_S) or not self.took_ms["metrics"]:
            self.ask()

    def _timed(self, what, action):
        began = time.monotonic()
        action()
        self.took_ms[what].append((time.monotonic() - began) * 1e3)

    def _command(self, *words):
        argv = [self._device.program("tributary"), *words, "--socket", self._device.directory / "control.sock"]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, timeout=dut.LIMIT_S)

    def _scrape(self):
        with urllib.request.urlopen(self._url, timeout=dut.LIMIT_S) as answer:
            if not re.search(rb"^tributary_job_completions_total", answer.read(), re.MULTILINE):
                raise RuntimeError("the metrics lack the jobs")


class Overload:
    """Rounds of peak and flood; `suite` makes devices and takes rows."""

    def __init__(self, suite, size, highest_rate):
        self._suite = suite
        self._jobs = [f"id: {1 + i}, workers: {suite.workers}, window: 16, chunk_bytes: {size}" for i in range(JOBS)]
        self._rate = highest_rate
        self._metrics = free_address()
        self._right = True
        self.shares = []  # of a CPU, that the switch had
        self.peak, self.flooded = [], []
        self.least, self.most = [], []  # of the jobs of a flood, of a fair share
        self.busy_ms = {}
        self.idle_ms = {}

    def round(self, seconds):
        offers = {offer: self._goodput(offer, max(1.0, min(seconds / 4, 5))) for offer in OFFERS}
        best = max(offers, key=offers.get)
        self.peak.append(offers[best])
        self._suite.progress("throttled, GB/s: " + ", ".join(
            f"{'all' if offer is None else offer} {rate:.3f}" for offer, rate in offers.items()))
        with self._device() as device:
            unhindered, operator = Operator(device, self._metrics), Operator(device, self._metrics)
            unhindered.ask()
            with self._throttle(device), operator.asking():
                report = self._load(device, None, seconds)
        self.flooded.append(report["total"]["goodput_gbytes_per_s"])
        shares = [job["goodput_gbytes_per_s"] * JOBS / max(self.flooded[-1], 1e-9) for job in report["jobs"]]
        self.least.append(min(shares))
        self.most.append(max(shares))
        for what in operator.took_ms:
            self.busy_ms.setdefault(what, []).append(max(operator.took_ms[what]))
            self.idle_ms.setdefault(what, []).append(max(unhindered.took_ms[what]))
        self._suite.progress(f"the switch had {min(self.shares):.2f} to {max(self.shares):.2f} of a CPU")
        self._suite.progress(f"flooded {self.flooded[-1]:.3f} GB/s, shares " + " ".join(f"{s:.2f}" for s in shares)
                             + ", at worst " + ", ".join(f"{what} {ms[-1]:.0f} ms" for what, ms in self.busy_ms.items()))

    def rows(self, name):
        case = f"{name}, {JOBS} jobs, a tenth of the CPU, offered all"
        self._suite.row(case, f"verified payload (bar {GOODPUT_BAR})", self.flooded, "GB/s", "best of several offers",
                        self.peak, verified=self._right and min(self.flooded) > 0 and max(self.shares) <= MOST_SHARE)
        fed = min(self.least) > STARVED
        self._suite.row(case, "the job with least, of a fair share", self.least, "", "the job with most", self.most,
                        verified=self._right and fed)
        for what, took in self.busy_ms.items():
            self._suite.row(case, f"{what}, slowest answer (bar {ANSWER_BAR_MS} ms)", took, "ms", "unhindered",
                            self.idle_ms[what], verified=self._right, less_is_better=True)

    def _device(self):
        return self._suite.device(dut.Switch, jobs=self._jobs, sections=[f"metrics: {{listen: '{self._metrics}'}}"])

    def _goodput(self, offer, seconds):
        with self._device() as device, self._throttle(device):
            return self._load(device, offer, seconds)["total"]["goodput_gbytes_per_s"]

    @contextlib.contextmanager
    def _throttle(self, device):
        with Throttle(device.loop, device.process, device.directory / "throttle.log") as throttle:
            yield
        self.shares.append(throttle.share)

    def _load(self, device, offer, seconds):
        rate = "max" if offer is None else max(1, int(self._rate * SHARE * offer))
        report = device.loadgen("--duration", f"{round(seconds * 1000)}ms", "--rate", rate)
        self._right = self._right and report["total"]["results_wrong"] == 0
        return report
