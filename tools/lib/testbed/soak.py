"""Loads a switch for hours, and watches that nothing grows that should not.

  tools/soak                     two hours
  tools/soak --minutes 600       a night
  tools/soak --passes 2          each kind of load twice
  tools/soak --lcores 1          one packet loop, instead of two

Packets pass from loop to loop: ports belong to the loops in turn, one job to the second and the two
that collide to the first. A pass is a round of each kind of load: plain, with losses, duplicates and garbage, with a late rank,
beside other traffic, while the configuration changes, with a generator that is killed, and beside two
kernel hosts of a VLAN, one of which is unplugged: its port goes and comes back. Every sum that
arrives is verified, but for those of the generator that is killed. After each round, when the
workers are gone, memory, open files, threads, packet buffers, slots in use and counters of events that
should not happen must be what they were in the first pass. Only the hosts need root: without it they
are left out.

Exit status: 0 all was well, 1 a result was wrong, something grew or did not work, 2 a wrong call.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import sys
import time
from dataclasses import asdict, dataclass

import yaml

from .fabric import free_address
from .loop import Interrupted, Loop
from .namespace import Namespace, NamespaceError, add_veth
from .process import Process, ProcessFailed
from .rights import missing_for_veth
from .run_directory import RunDirectory, sweep
from .tree import binary, build_directory
from .vlan import add_vlan

_LIMIT_S = 60
_PORTS = 4
_MEMORY_MIB = 8  # allocators give back when they like

# A round: the workers' ops, and the event in the middle of it.
LOADS = {
    "plain": ((), None),
    "faults": (("--lose", "1%", "--duplicate", "2%", "--garbage", "5%"), None),
    "late": (("--late", "1:2ms"), None),
    "traffic": (("--l2", "20k", "--l2-macs", "256"), None),
    "reload": ((), "reload"),
    "killed": ((), "kill"),
    "hosts": ((), "unplug"),
}
# A full table, an address in two places, lack of memory: never here. Whether a loop falls behind
# another (handover-full) depends on load, and on what shares its CPU.
_EVENTS = re.compile(
    r'^tributary_(?:fdb|group|lldp)_events_total\{event="(?:evicted|limited|flapping|refused)"\} (\d+)'
    r'|^tributary_drops_total\{.*reason="no-mbuf".*\} (\d+)', re.MULTILINE)
_LCORES = 2
_MOST_LCORES = 16  # config::kMaxLcores
_VLAN = 10
_HOST_MTU = 1500


def possible_loads():
    """Kinds of load that this user may make."""
    return [load for load in LOADS if load != "hosts" or not missing_for_veth()]


@dataclass(frozen=True)
class Sample:
    """A switch at rest: no worker is connected."""

    memory_mib: float  # resident
    open_files: int
    threads: int
    buffers: int  # packet buffers in use
    slots: int  # in use
    events: int = 0  # since the start, that should not happen


_WORDS = {
    "memory_mib": "MiB of memory",
    "open_files": "open files",
    "threads": "threads",
    "buffers": "packet buffers in use",
    "slots": "slots in use",
    "events": "events that should not happen",
}


def grown(first_pass, now):
    """Names figures of a sample that exceed those of the first pass."""
    found = []
    for name, words in _WORDS.items():
        most = max(getattr(sample, name) for sample in first_pass)
        allowed = most + (_MEMORY_MIB if name == "memory_mib" else 0)
        if getattr(now, name) > allowed:
            found.append(f"{getattr(now, name):g} {words}; in the first pass {most:g} at most")
    return found


def host_ports():
    """The switch's ends of the kernel hosts' cables."""
    vlans = ({"mode": "access", "id": _VLAN}, {"mode": "trunk", "allowed": [_VLAN]})
    return [{"name": f"h{i}", "devargs": f"net_af_packet{i},iface=h{i}", "mtu": _HOST_MTU, "vlan": vlan}
            for i, vlan in enumerate(vlans)]


def configuration(run, late_job, more_ports=(), metrics=None, lcores=_LCORES):
    """Jobs that load is put on, one static and two whose chunks collide; and one that comes and goes."""
    jobs = [
        {"id": 1, "workers": _PORTS, "window": 64},
        {"id": 2, "workers": _PORTS, "window": 32, "slots": "dynamic"},
        {"id": 3, "workers": _PORTS, "window": 32, "slots": "dynamic"},
    ]
    if late_job:
        jobs.append({"id": 9, "workers": 2, "window": 16})
    return {
        "switch": {
            "address": "10.77.0.254",
            "slots": 112,
            **({} if lcores == 1 else {"lcores": [-1] * lcores}),
            "memory": {"hugepages": False, "megabytes": 256, "reserve_megabytes": 16},
        },
        "ports": [
            {
                "name": f"p{i}",
                "devargs": f"net_memif{i},id={i},socket={run.path}/memif.sock,"
                "socket-abstract=no,rsize=10,role=server",
            }
            for i in range(_PORTS)
        ] + list(more_ports),
        "jobs": [{"lease": "2s", **job} for job in jobs],
        "control": {"socket": str(run / "control.sock")},
        **({} if metrics is None else {"metrics": {"listen": metrics}}),
    }


def events_in(metrics):
    """How many there were, of those that should not happen."""
    counters = _EVENTS.findall(metrics)
    if not counters:
        raise ProcessFailed("the metrics lack what is looked for")
    return sum(int(event or drop) for event, drop in counters)


class Soak:
    """One switch, and rounds of load on it. A context manager."""

    def __init__(self, loop, round_s, lcores=_LCORES):
        self._loop = loop
        self._round_s = round_s
        self._lcores = lcores
        self._stack = contextlib.ExitStack()
        self._run = self._stack.enter_context(RunDirectory())
        self._config = self._run / "switch.yaml"
        # The generator's configuration: the ports that it has the other ends of.
        self._load_config = self._run / "load.yaml"
        self._late_job = False
        self._hosts, self._ports, self._namespace = [], [], None
        if "hosts" in possible_loads():
            self._make_hosts()
        self._metrics = free_address()
        self._write()
        argv = [self._program("tributary-switchd"), "--config", self._config]
        environment = {"RUNTIME_DIRECTORY": str(self._run.path)}
        self._switch = Process(loop, "switch", argv, self._run / "switch.log", env=environment,
                               namespace=self._namespace)

    def __enter__(self):
        try:
            self._switch.wait_line("^ready", _LIMIT_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._switch.stop()
        self._stack.close()

    def _make_hosts(self):
        """One on an access port, and one with a VLAN interface on a trunk."""
        self._namespace, *self._hosts = (self._stack.enter_context(Namespace()) for _ in range(3))
        self._ports = host_ports()
        for i, host in enumerate(self._hosts):
            add_veth(self._namespace, f"h{i}", host, "eth0", _HOST_MTU)
        self._hosts[0].run(["ip", "addr", "add", "10.78.0.1/24", "dev", "eth0"])
        add_vlan(self._hosts[1], "eth0", _VLAN, "10.78.0.2/24", _HOST_MTU)

    @property
    def pid(self):
        return self._switch.pid

    def round(self, load):
        """Returns how many results were verified (killed: none); ProcessFailed when one was wrong."""
        options, event = LOADS[load]
        report = self._run / "report.json"
        report.unlink(missing_ok=True)
        argv = [self._program("tributary-loadgen"), "--config", self._load_config, "--quiet",
                "--job", "1", "--job", "2", "--job", "3",
                "--duration", f"{round(self._round_s * 1000)}ms", "--json", report, *options]
        before = self._contributions()
        with Process(self._loop, "loadgen", argv, self._run / "loadgen.log",
                     env={"RUNTIME_DIRECTORY": str(self._run.path)}) as process:
            if event is not None:
                self._loop.wait(lambda: not process.running or self._contributions() > before,
                                _LIMIT_S, "the generator sends")
            if event == "reload":
                self._late_job = not self._late_job
                self._write()
                self._client("reload")
            if event == "unplug":
                self._unplug()
            if event == "kill":
                process.signal(signal.SIGKILL)
                process.wait_exit(_LIMIT_S)
                return 0
            process.wait_exit(self._round_s + _LIMIT_S)
            if process.returncode != 0:
                raise ProcessFailed(process.describe())
        return json.loads(report.read_text())["total"]["results_verified"]

    def handed(self):
        """Frames that went from one packet loop to another, since the start."""
        return sum(row["jobs"] + row["others"] for row in self._show("handover"))

    def rest(self):
        """A sample, when the last peer and the last worker are gone."""

        hosts = {port["name"] for port in self._ports}

        def idle():
            return all(port["link"] == "down" for port in self._show("ports") if port["port"] not in hosts) and \
                all(job["present"] == 0 for job in self._show("jobs"))

        # An epoch that ends gives its slots back: there is nothing more to wait for.
        self._loop.wait(idle, _LIMIT_S, "the switch is at rest")
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            status = dict(line.split(":", 1) for line in file)
        return Sample(
            memory_mib=int(status["VmRSS"].split()[0]) / 1024,
            open_files=self._open_files(),
            threads=int(status["Threads"]),
            buffers=sum(pool["in_use"] for pool in self._show("buffers")),
            slots=sum(job["slots_open"] for job in self._show("jobs")),
            events=events_in(self._scrape()),
        )

    def _unplug(self):
        """The host on the trunk is reached; its port goes, and comes back; it is reached again."""
        self._ping()
        for ports in (self._ports[:1], self._ports):
            self._write(ports)
            self._client("reload")
        self._ping()

    def _ping(self):
        try:
            self._hosts[0].run(["ping", "-c", "5", "-i", "0.05", "-W", "5", "-M", "do", "-s",
                                str(_HOST_MTU - 28), "10.78.0.2"])
        except NamespaceError as error:
            raise ProcessFailed(f"the host on the trunk is not reached: {error}") from error

    def _scrape(self):
        argv = ["curl", "-sf", f"http://{self._metrics}/metrics"]
        with Process(self._loop, "curl", argv, self._run / "curl.log", namespace=self._namespace) as process:
            return process.check_exit(_LIMIT_S).text()

    def _open_files(self):
        """The least of a few looks: a client of ours that is gone is there for a moment longer."""
        least = None
        for _ in range(10):
            files = len(os.listdir(f"/proc/{self.pid}/fd"))
            least = files if least is None else min(least, files)
            self._loop.turn(0.02)
        return least

    def _program(self, name):
        return binary(build_directory(), name)

    def _write(self, ports=None):
        ports = self._ports if ports is None else ports
        whole = configuration(self._run, self._late_job, ports, self._metrics, self._lcores)
        self._config.write_text(yaml.safe_dump(whole))
        # The generator has one loop, whatever the switch has.
        self._load_config.write_text(yaml.safe_dump(configuration(self._run, self._late_job, lcores=1)))

    def _client(self, *words):
        argv = [self._program("tributary"), *words, "--socket", self._run / "control.sock"]
        with Process(self._loop, f"tributary {words[0]}", argv, self._run / "client.log") as process:
            return process.check_exit(_LIMIT_S).text()

    def _show(self, what):
        return json.loads(self._client("show", what, "--json"))

    def _contributions(self):
        return sum(job["contributions"] for job in self._show("jobs"))


_HEADINGS = ("round", "load", "verified", *_WORDS)


def soak(options, rounds):
    """Adds to `rounds` as they go; ProcessFailed when something grew."""
    end = time.monotonic() + options.minutes * 60
    loads = possible_loads()
    with Loop() as loop, Soak(loop, options.round, options.lcores) as bed:
        print("  ".join(f"{name:>10}" for name in _HEADINGS), flush=True)
        while len(rounds) < (options.passes or sys.maxsize) * len(loads):
            if options.passes is None and time.monotonic() >= end:
                return
            load = loads[len(rounds) % len(loads)]
            before = bed.handed()
            verified = bed.round(load)
            sample = bed.rest()
            rounds.append({"load": load, "verified": verified, "handed": bed.handed() - before, **asdict(sample)})
            row = (len(rounds), load, verified, *(f"{value:.1f}" if isinstance(value, float) else value
                                                  for value in asdict(sample).values()))
            print("  ".join(f"{value:>10}" for value in row), flush=True)
            first_pass = [Sample(**{name: r[name] for name in _WORDS}) for r in rounds[:len(loads)]]
            if len(rounds) > len(loads) and (more := grown(first_pass, sample)):
                raise ProcessFailed(f"after round {len(rounds)} ({load}): " + "; ".join(more))


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/soak", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120, help="how long (default: 120)")
    parser.add_argument("--passes", type=int, help="so many rounds of each kind, instead")
    parser.add_argument("--round", type=float, default=20, help="seconds of load in a round "
                        "(default: 20)")
    parser.add_argument("--lcores", type=int, default=_LCORES, help=f"packet loops of the switch, 1 to {_MOST_LCORES} "
                        f"(default: {_LCORES})")
    parser.add_argument("--json", help="write what was seen after each round to this file")
    options = parser.parse_args(arguments)
    numbers = (options.minutes, options.round, 1 if options.passes is None else options.passes)
    if min(numbers) <= 0:
        parser.error("--minutes, --passes and --round need positive numbers")
    if not 1 <= options.lcores <= _MOST_LCORES:
        parser.error(f"--lcores needs a number from 1 to {_MOST_LCORES}")
    return options


def main(arguments):
    options = _parse(arguments)
    sweep()
    rounds = []
    try:
        soak(options, rounds)
    except Interrupted as interrupt:
        print(f"soak: {interrupt}", file=sys.stderr)
        return 128 + interrupt.number
    except (ProcessFailed, TimeoutError, OSError) as error:
        print(f"soak: {error}", file=sys.stderr)
        return 1
    finally:
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(rounds, file, indent=1)
    print(f"soak: {len(rounds)} rounds, {sum(r['verified'] for r in rounds):,} results verified, "
          "nothing grew")
    return 0
