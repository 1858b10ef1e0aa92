"""An overloaded switch, for suite `switch`: a tenth of its CPU, several jobs, and all that a generator can offer.

What it could do with that tenth is measured, not assumed. A round has windows of equal length: one for each of several rates, from half
of a tenth of what the switch does unhindered to half more than that tenth, and one for a flood in their middle; their order changes
from round to round. The throttled peak is the offer whose rounds have the highest median, the flood among them: who serves a
flood best of all is at its peak, and no better. So

    ratio = median over the rounds of (goodput of the flood / goodput of the peak's offer in the same round)

is 1 at most. Goodput is the mean of a window's seconds but the first two: in the first, both sides touch the memory of the ports for the
first time, which would take a switch with a tenth of its CPU ten times as long, so that it has all of it; the second is for the windows of
its jobs to become what a tenth needs.
What an offer got in its luckiest round counts for as little as the flood's. All else is alike: a switch and a generator
started anew, the throttle, hundreds of whose periods pass, and an operator who asks for `tributary show jobs`,
`tributary set`, and a scrape of the metrics, one after the other.

Half-way comes a flood in one piece, the long one: its goodput stands beside the windows' floods before and after it, since nothing may
pile up; how its jobs share, and how long the operator waits at worst, is of all of it.
"""

import concurrent.futures
import contextlib
import itertools
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import dut
from testbed.fabric import free_address
from testbed.process import Process

JOBS = 4
PERIOD_S = 0.010
SHARE = 0.1
GOODPUT_BAR = 0.9
ANSWER_BAR_MS = 100
OFFERS = (0.5, 0.75, 1, 1.5)  # of a tenth of the highest rate
FLOOD = "all"  # what the generator can
WARM_UP_S = 2  # the first has no throttle
STARVED = 0.1  # of a job's fair share
MOST_SHARE = 2 * SHARE  # else it was no tenth
ASK_EVERY_S = 0.5


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


def ran_s(thread):
    return int((thread / "schedstat").read_text().split()[0]) * 1e-9


def for_seconds(seconds):
    """Options of a generator that measures for so long, under a throttle that comes after a second."""
    return "--duration", f"{round((WARM_UP_S + seconds) * 1000)}ms", "--warm-up", f"{WARM_UP_S}s"


class Throttle:
    """Stops a process for most of each period; `share`: of a CPU that its packet loop had."""

    def __init__(self, loop, process, log):
        self._loop, self._process, self._log = loop, process, log
        self._packet_loop = next(thread for thread in Path(f"/proc/{process.pid}/task").iterdir()
                                 if (thread / "comm").read_text().startswith(PACKET_LOOP))
        self.share = None

    def __enter__(self):
        argv = [sys.executable, "-c", THROTTLE, self._process.pid, self._packet_loop.name,
                PERIOD_S * SHARE, PERIOD_S * (1 - SHARE)]
        self._throttle = Process(self._loop, "throttle", argv, self._log)
        self._began = time.monotonic(), ran_s(self._packet_loop)
        return self

    def __exit__(self, *_):
        self._throttle.stop()
        self._process.signal(signal.SIGCONT)
        took, ran = time.monotonic() - self._began[0], ran_s(self._packet_loop) - self._began[1]
        self.share = ran / took


class Operator:
    """Asks a device in three ways, one after the other; keeps how many milliseconds each took."""

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


def schedule(turn):
    """A round's windows in order: the flood in the middle, the rates around it in another order each time."""
    turned = OFFERS[turn % len(OFFERS):] + OFFERS[:turn % len(OFFERS)]
    half = len(turned) // 2
    return [*turned[:half], FLOOD, *turned[half:]]


def peak(goodput):
    """Which offer's rounds have the highest median; of equals the flood."""
    return max(goodput, key=lambda offer: (statistics.median(goodput[offer]), offer == FLOOD))


def describe(offer):
    return FLOOD if offer == FLOOD else f"{offer:g} of a tenth"


class Overload:
    """Rounds of windows and a long flood; `suite` makes devices and takes rows."""

    def __init__(self, suite, size, highest_rate):
        self._suite = suite
        self._jobs = [f"id: {1 + i}, workers: {suite.workers}, window: 16, chunk_bytes: {size}" for i in range(JOBS)]
        self._rate = highest_rate
        self._metrics = free_address()
        self._right = True
        self._turn = 0
        self.shares = []  # of a CPU, that the switch had
        self.goodput = {offer: [] for offer in (*OFFERS, FLOOD)}
        self.seconds = []  # of the long flood, each one's goodput
        self.job_shares = []  # of that, fair ones
        self.busy_ms = {}
        self.idle_ms = {}

    def round(self, seconds):
        """`seconds` of each offer."""
        said = []
        for offer in schedule(self._turn):
            rate = "max" if offer == FLOOD else max(1, int(self._rate * SHARE * offer))
            with self._device() as device, Operator(device, self._metrics).asking():
                self.goodput[offer].append(statistics.fmean(self._load(device, rate, seconds)[1]))
            said.append(f"{describe(offer)} {self.goodput[offer][-1]:.3f} ({self.shares[-1]:.3f})")
        self._turn += 1
        self._suite.progress(f"round {self._turn}, throttled, GB/s (share of a CPU): " + ", ".join(said))

    def flood(self, seconds):
        """The long one."""
        with self._device() as device:
            unhindered, operator = Operator(device, self._metrics), Operator(device, self._metrics)
            unhindered.ask()
            with operator.asking():
                report, self.seconds = self._load(device, "max", seconds)
        total = max(report["total"]["goodput_gbytes_per_s"], 1e-9)
        self.job_shares = [job["goodput_gbytes_per_s"] * JOBS / total for job in report["jobs"]]
        self.busy_ms, self.idle_ms = operator.took_ms, unhindered.took_ms
        parts = [statistics.fmean(self.seconds[i * len(self.seconds) // 4:(i + 1) * len(self.seconds) // 4] or [0]) for i in range(4)]
        self._suite.progress(f"flooded {seconds:g} s, of which the switch had {self.shares[-1]:.3f}; GB/s by quarters: "
                             + ", ".join(f"{part:.3f}" for part in parts))

    def rows(self, name):
        case = f"{name}, {JOBS} jobs, a tenth of the CPU"
        for offer, rates in self.goodput.items():
            if offer != FLOOD:
                self._suite.row(f"{case}, offered {describe(offer)}", "verified payload", rates, "GB/s",
                                verified=self._right and min(rates) > 0)
        case += f", offered {FLOOD}"
        best, floods = peak(self.goodput), self.goodput[FLOOD]
        right = self._right and max(self.shares) <= MOST_SHARE
        self._suite.row(case, f"verified payload (bar {GOODPUT_BAR})", floods, "GB/s", f"peak, offered {describe(best)}",
                        self.goodput[best], verified=right and min(floods) > 0)
        case += ", in one piece"
        self._suite.row(case, "verified payload, by seconds", self.seconds, "GB/s", "of short floods",
                        [statistics.median(floods)] * len(self.seconds), verified=right and sum(self.seconds) > 0)
        least, most = min(self.job_shares), max(self.job_shares)
        self._suite.row(case, "the job with least, of a fair share", [least], "", "the job with most", [most],
                        verified=self._right and least > STARVED)
        for what, took in self.busy_ms.items():
            self._suite.row(case, f"{what}, slowest answer (bar {ANSWER_BAR_MS} ms)", [max(took)], "ms", "unhindered",
                            [max(self.idle_ms[what])], verified=self._right, less_is_better=True)

    def _device(self):
        return self._suite.device(dut.Switch, jobs=self._jobs, sections=[f"metrics: {{listen: '{self._metrics}'}}"])

    @contextlib.contextmanager
    def _throttle(self, device):
        with Throttle(device.loop, device.process, device.directory / "throttle.log") as throttle:
            yield
        self.shares.append(throttle.share)

    def _load(self, device, rate, seconds):
        """The report, and the goodput of each second after the warm-up."""
        report, rates = device.loadgen_each_second(*for_seconds(seconds), "--rate", rate, meanwhile=self._throttle(device))
        self._right = self._right and report["total"]["results_wrong"] == 0
        # What is under way at the end takes part of another one.
        return report, rates[WARM_UP_S:WARM_UP_S + int(seconds)]
