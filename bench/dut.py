"""Devices under test for suites `forward` and `switch`: the switch, or testpmd, as memif server.

The device's packet loop has the last CPU that this process may use to itself, the generator the
first. Each round starts the device anew, so that both sides begin alike, and a memif server that
lost its client need not recover.
"""

import contextlib
import json
import os
import re
import shutil
import statistics
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tools/lib"))

from testbed.process import Process  # noqa: E402  (needs the path above)
from testbed.tree import binary, build_directory  # noqa: E402

LIMIT_S = 90
TESTPMD = "dpdk-testpmd"  # Debian: dpdk-dev


def cpus():
    """(generator, device): two CPUs, or one for both, which measures nothing useful."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[-1]


def memif(directory, i, role, bsize):
    return (f"net_memif{i},id={i},socket={directory}/memif.sock,socket-abstract=no,rsize=10,"
            f"bsize={bsize},role={role}")


class Device:
    """A running device with `ports` memif ports of `bsize` bytes."""

    def __init__(self, loop, directory, ports, bsize):
        self.loop = loop
        self.directory = directory
        self.ports = ports
        self.bsize = bsize
        directory.mkdir(parents=True, exist_ok=True)

    def on(self, cpu, argv):
        return ["taskset", "-c", cpu, *argv]

    def program(self, name):
        return binary(build_directory(), name)

    def generator(self, *options):
        """Lines of JSON that forward_load prints."""
        argv = [build_directory() / "bin" / "forward_load"]
        for i in range(self.ports):
            argv += ["--port", memif(self.directory, i, "client", self.bsize)]
        with Process(self.loop, "forward_load", self.on(cpus()[0], [*argv, *options]),
                     self.directory / "forward_load.log") as process:
            process.check_exit(LIMIT_S)
            return [json.loads(line) for line in process.stdout if line.startswith("{")]


class Testpmd(Device):
    """dpdk-testpmd that swaps addresses: port 0 to 1 and back, 2 to 3, ..."""

    def __init__(self, loop, stack, directory, ports, bsize):
        super().__init__(loop, directory, ports, bsize)
        generator, device = cpus()
        argv = [TESTPMD, "--lcores", f"0@{generator},1@{device}", "--no-huge", "--no-shconf",
                "--no-pci", "-m", 512, "--file-prefix", f"testpmd-{os.getpid()}"]
        for i in range(ports):
            argv += ["--vdev", memif(directory, i, "server", bsize)]
        argv += ["--", "--forward-mode=macswap", "--nb-cores=1", "--txd=1024", "--rxd=1024",
                 "--burst=64", "--total-num-mbufs=16384", f"--mbuf-size={max(bsize, 2048) + 128}",
                 "--disable-link-check", "--no-flush-rx"]
        # What it prints comes with the first statistics: at once, if the machine is up for so long.
        argv += ["--stats-period=30"]
        self.process = stack.enter_context(
            Process(loop, "testpmd", argv, directory / "testpmd.log"))
        self.process.wait_line("Port statistics|Start automatic packet", LIMIT_S)


class Switch(Device):
    """tributary-switchd; `jobs` are keys of each in YAML, `sections` more lines of the file."""

    def __init__(self, loop, stack, directory, ports, bsize, jobs=(), sections=()):
        super().__init__(loop, directory, ports, bsize)
        self.config = directory / "switch.yaml"
        mtu = 9000 if bsize > 9018 else 1500
        lines = ["switch:", "  address: 10.77.0.254", f"  lcore: {cpus()[1]}",
                 "  idle_sleep_max: 0s", "  memory: {megabytes: 512}", "ports:"]
        lines += [f"  - {{name: p{i}, mtu: {mtu}, devargs: "
                  f"\"{memif(directory, i, 'server', bsize)}\"}}" for i in range(ports)]
        if jobs:
            lines += ["jobs:", *(f"  - {{{job}}}" for job in jobs)]
        lines += [f"control: {{socket: {directory}/control.sock}}", *sections]
        self.config.write_text("\n".join(lines) + "\n")
        argv = [self.program("tributary-switchd"), "--config", self.config]
        self.process = stack.enter_context(
            Process(loop, "switch", argv, directory / "switch.log"))
        self.process.wait_line("^ready", LIMIT_S)

    def loadgen(self, *options, config=None):
        """The report of a run, which must be free of wrong results; `config`: the generator's own."""
        return self.loadgen_each_second("--quiet", *options, config=config)[0]

    def loadgen_each_second(self, *options, config=None, meanwhile=None):
        """The same, and the verified GB/s of each of its seconds.

        `meanwhile`: what it is done under, from its second second on: a context manager.
        """
        report = self.directory / "report.json"
        argv = [self.program("tributary-loadgen"), "--config", config or self.config, "--busy",
                "--json", report, *options]
        with Process(self.loop, "loadgen", self.on(cpus()[0], argv),
                     self.directory / "loadgen.log") as process:
            if meanwhile:
                self.loop.wait(lambda: seconds_of(process.stderr) or not process.running, LIMIT_S,
                               "loadgen has run for a second")
            with meanwhile or contextlib.nullcontext():
                process.check_exit(LIMIT_S)
        return json.loads(report.read_text()), seconds_of(process.stderr)


def seconds_of(lines):
    """GB/s of verified results in each second, as tributary-loadgen says while it runs."""
    found = (re.match(r"loadgen: .* ([0-9.]+) GB/s verified", line) for line in lines)
    return [float(match[1]) for match in found if match]


def row(suite, case, metric, values, unit, reference="", reference_values=(), verified=True,
        less_is_better=False):
    """A row as tools/bench wants it; the ratio is the median of the rounds' own."""
    ratio = 0
    if reference:
        ratios = [b / a if less_is_better else a / b
                  for a, b in zip(values, reference_values) if a > 0 and b > 0]
        ratio = statistics.median(ratios) if ratios else 0
    return {"suite": suite, "case": case, "metric": metric, "value": statistics.median(values),
            "unit": unit, "reference": reference,
            "reference_value": statistics.median(reference_values) if reference else 0,
            "ratio": ratio, "runs": len(values), "min": min(values), "max": max(values),
            "verified": bool(verified)}


def not_measured(suite, case, metric, why):
    """A row without figures: what a reader would look for, and why it is not there."""
    return {**row(suite, case, f"{metric}: not measured: {why}", [0], ""), "runs": 0, "verified": False}


def beyond(rates, bare):
    """Of each round, ns a packet more than `bare` takes, from Mpps; what noise hides counts as 0.1."""
    return [max(1e3 / rate - 1e3 / least, 0.1) for rate, least in zip(rates, bare)]


def missing():
    """What a comparison needs and this machine lacks; empty: nothing."""
    if shutil.which(TESTPMD) is None:
        return f"{TESTPMD} is not installed (Debian: dpdk-dev)"
    return ""
