"""A whole tree of switches on one machine: run directory, namespaces, cables, switches, servers.

veth: every switch, worker and parameter server has a namespace of its own; a cable is a veth pair, whose ends are
named like the ports. memif: shared memory, no namespaces and no privilege. Switches are memif
servers on all ports, so a tributary-impair process, a client of both, is the cable between two.
With an Impairment every cable runs through such a process (veth only).
"""

import contextlib
import copy
import json
import os
import re
import signal

import yaml

from . import manager as managers
from .delay import Delays
from .namespace import Namespace, add_veth
from .process import Process
from .run_directory import RunDirectory, sweep
from .telemetry import Telemetry
from .topology import Topology, TopologyError
from .tree import binary, build_directory, module_directory

_AF_PACKET = "net_af_packet{index},iface={link},qdisc_bypass=1"
_JUMBO = ",framesz=16384,blocksz=65536,framecnt=128"
_MEMIF = (
    "net_memif{index},id=0,socket={socket},socket-abstract=no,rsize=10,bsize=9728,role={role}"
)
_STANDARD_MTU = 1500
_SHORT_LINK = 15  # IFNAMSIZ - 1
_READY_S = 60


class TreeBed:
    """A context manager. Entering starts switches and servers; start() runs commands at workers."""

    def __init__(
        self, loop, path, ports="veth", impairment=None, job_options=None, assigned=False,
        telemetry=None, telemetry_http=None, managed=False, spare_cables=(),
        beside=None,
    ):
        """`job_options`: keys of every job that replace what the file says. `assigned`:
        switches take jobs from a manager; `managed`: which is started, too, and the file's jobs
        are left out. `telemetry`: one packet in so many is sampled, and a telemetry server runs;
        `telemetry_http`: with its pages there.
        `beside`: another tree, whose workers are this one's, too: each has a second port, eth1.
        `spare_cables`: (switch, port, lower switch, its port) that no switch uses at first."""
        self.loop = loop
        self._assigned = assigned or managed
        self.managed = managed
        self.manager = None
        self._job_options = job_options or {}
        self._spare_cables = spare_cables
        self._beside = beside
        self.ports = ports
        self.path = path
        self.build = build_directory()
        self.switches = {}  # name -> Process
        self.servers = {}  # the same
        self.cables = []
        self._memif_cables = {}  # by the lower switch and its port
        self._delayed = {}  # processes that are cables between switches, by the cable's name
        self._impairment = impairment
        self.telemetry = None if telemetry is None else Telemetry(self, telemetry, telemetry_http)
        self._namespaces = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with self._stack as stack:
            sweep()
            self.run = stack.enter_context(RunDirectory())
            (self.run / "delays").mkdir()
            self.delays = Delays(self.run / "delays")
            self.check(self.path)
            self.topology = Topology(self.path)
            self.topology.add_cables(self._spare_cables)
            if self.managed:
                managers.prepare(self.topology)
            if self.ports == "veth":
                self._cable_veth()
            elif self._impairment is not None:
                raise TopologyError("impairment needs veth ports")
            elif self.topology.servers:
                raise TopologyError("parameter servers speak kernel UDP: they need veth ports")
            if self.telemetry is not None:
                self.telemetry.start(stack.enter_context)
            self._write()
            for name in self.topology.top_down():
                self.start_switch(name)
            for name in self.topology.servers:
                self.start_server(name)
            if self.managed:
                self.manager = managers.Manager(self, stack.enter_context)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception):
        return self._stack.__exit__(*exception)

    def check(self, path):
        """Refuses a bad file with the switch's own words."""
        command = [binary(self.build, "tributary-switchd"), "--config", path, "--check"]
        with Process(self.loop, "check", command, self.run / "check.log") as process:
            if process.wait_exit(_READY_S) != 0:
                raise TopologyError("\n".join([*process.stderr, *process.stdout]))

    # ---- switches

    def start_switch(self, name):
        """Starts a switch, or starts it again; ready when this returns."""
        command = [binary(self.build, "tributary-switchd")]
        command += ["--config", self.run / "topology.yaml", "--node", name]
        if self._assigned:
            command += ["--assigned", self.run / f"{name}.assigned"]
        process = Process(
            self.loop,
            name,
            command,
            self.run / f"{name}.log",
            namespace=self._namespaces.get(name),
            env={"RUNTIME_DIRECTORY": str(self.run.path / name)},
        )
        self._stack.enter_context(process)
        self.switches[name] = process
        process.wait_line(r"\bready\b", _READY_S)
        if self.ports == "memif":
            self._cable_memif(name)

    def start_server(self, name):
        """Starts a parameter server, or starts it again; ready when this returns."""
        command = [binary(self.build, "tributary-psd")]
        command += ["--config", self.run / "topology.yaml", "--node", name]
        process = Process(
            self.loop, name, command, self.run / f"{name}.log", namespace=self._namespaces[name]
        )
        self._stack.enter_context(process)
        self.servers[name] = process
        process.wait_line(r"\bready\b", _READY_S)

    def reload(self, switch):
        """The output of `tributary reload` of a switch; an assertion error if it refuses."""
        return self.client(switch, "reload")

    def reload_at_once(self, switches):
        """The same of several, which begin together."""
        with contextlib.ExitStack() as clients:
            started = [clients.enter_context(self._client(name, "reload")) for name in switches]
            return [process.check_exit(_READY_S).text() for process in started]

    def client(self, node, command, *words):
        """The output of a command for a switch or server; an assertion error if it refuses."""
        with self._client(node, command, *words) as process:
            return process.check_exit(_READY_S).text()

    def _client(self, node, command, *words):
        line = [binary(self.build, "tributary"), command, *words, "--socket", self.socket(node)]
        return Process(self.loop, f"{command} {node}", line, self.run / f"client-{node}.log")

    def socket(self, node):
        return self.run / f"{node}.sock"

    def show(self, node, what):
        """The parsed output of `tributary show WHAT --json` of a switch or server."""
        command = [binary(self.build, "tributary"), "show", *what.split(), "--json"]
        command += ["--socket", self.socket(node)]
        with Process(self.loop, f"show {what}", command, self.run / "client.log") as process:
            return json.loads(process.check_exit(_READY_S).text())

    # ---- workers

    def address(self, worker):
        address = self.topology.serving(worker)["address"]
        if self.ports == "veth":
            base = self.topology.serving(worker).get("udp_base_port")
            return f"udp://{address}" + (f":{base}" if base else "")
        return f"memif://{self._memif_socket(worker)}?id=0&switch={address}"

    def namespace(self, name):
        return self._namespaces.get(name)

    def environment(self, worker, job, rank, size):
        """Environment of a command at a worker, which is a rank of a job of that size."""
        return {
            **self._common_environment(),
            "TRIBUTARY_DELAY_FILE": str(self.delays.path(worker)),
            "TRIBUTARY_WORKER": worker,
            "TRIBUTARY_JOB": str(job),
            "TRIBUTARY_RANK": str(rank),
            "TRIBUTARY_SIZE": str(size),
            "TRIBUTARY_ADDRESS": self.address(worker),
        }

    def _common_environment(self):
        return {
            "PATH": f"{self.build}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH": str(module_directory(self.build)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "RUNTIME_DIRECTORY": str(self.run.path),
        }

    def start(self, name, argv, worker, on_line=None):
        """A process at a worker's port, stopped with the bed."""
        process = Process(
            self.loop,
            name,
            argv,
            self.run / f"{name}.log",
            namespace=self._namespaces.get(worker),
            env={
                **self._common_environment(),
                "TRIBUTARY_DELAY_FILE": str(self.delays.path(worker)),
            },
            on_line=on_line,
        )
        self._stack.enter_context(process)
        return process

    # ---- cables

    def _cable_veth(self):
        enter = self._stack.enter_context
        topology = self.topology
        for name in (*topology.switches, *topology.workers, *topology.servers):
            self.loop.check()
            shared = self._beside is not None and name in topology.workers
            self._namespaces[name] = self._beside.namespace(name) if shared else enter(Namespace())
        for number, cable in enumerate(self.topology.cables):
            upper, lower = self._namespaces[cable.switch], self._namespaces[cable.below]
            link = self._link(cable.switch, cable.port)
            end = self._link(cable.below, cable.uplink) if cable.uplink else self._nic(cable.below)
            if not self._runs_through_a_process(cable):
                add_veth(upper, link, lower, end, cable.mtu)
            else:
                # A namespace of its own, because of the driver's PACKET_FANOUT groups (fabric.py).
                middle = enter(Namespace())
                add_veth(upper, link, middle, "above", cable.mtu)
                add_veth(middle, "below", lower, end, cable.mtu)
                ends = [
                    _AF_PACKET.format(index=index, link=link) + _JUMBO
                    for index, link in enumerate(("below", "above"))
                ]
                self.cables.append(self._cable(f"cable{number}", ends, number, middle, cable))
            if not cable.uplink:
                self._address(cable.below)
        self._plug_unused_ports()
        for process in self.cables:
            process.wait_line("^ready", _READY_S)

    def _runs_through_a_process(self, cable):
        """The others are bare veth pairs. Where switches have several ways up, cables between them can be delayed."""
        if self._impairment is not None:
            return self._impairment.concerns(cable.below)
        return bool(cable.uplink) and self.topology.has_choices()

    def set_cable_delay(self, name, time):
        """`name`: "A-R", the upper switch first. `time`: "5ms", or "off"."""
        process = self._delayed.get(name)
        if process is None or not process.running:
            there = ", ".join(self._delayed) or "none here"
            raise TopologyError(f"no cable {name} can be delayed; those that can: {there}")
        file = self.run / f"{name}.delay"
        text = "0" if time == "off" else time
        file.with_suffix(".new").write_text(text + "\n", encoding="ascii")
        os.replace(file.with_suffix(".new"), file)
        said = len(process.stdout), len(process.stderr)
        process.signal(signal.SIGHUP)
        self.loop.wait(lambda: (len(process.stdout), len(process.stderr)) != said, _READY_S, f"{name} has the delay")
        if len(process.stderr) != said[1]:
            raise TopologyError(process.stderr[-1])

    def _cable_memif(self, switch):
        """A client can't outlive its server: both ends of a switch's cables start with it."""
        for cable in self.topology.cables:
            if not cable.uplink or switch not in (cable.switch, cable.below):
                continue
            if old := self._memif_cables.pop((cable.below, cable.uplink), None):
                old.stop()
            running = [self.switches.get(end) for end in (cable.switch, cable.below)]
            if not all(process and process.running for process in running):
                continue
            sockets = [self._memif_socket(cable.below, "below", cable),
                       self._memif_socket(cable.below, "uplink", cable)]
            ends = [
                _MEMIF.format(index=index, socket=socket, role="client")
                for index, socket in enumerate(sockets)
            ]
            process = self._cable(f"cable-{cable.name}", ends, 0, cable=cable)
            self._memif_cables[cable.below, cable.uplink] = process
            process.wait_line("^ready", _READY_S)

    def _cable(self, name, ends, number, namespace=None, cable=None):
        command = [binary(self.build, "tributary-impair"), "--a", ends[0], "--b", ends[1]]
        if cable is not None and cable.uplink:
            command += ["--delay-file", self.run / f"{cable.name}.delay"]
        if self._impairment is not None:
            command += ["--seed", str(self._impairment.seed + number), *self._impairment.arguments]
        process = Process(
            self.loop,
            name,
            command,
            self.run / f"{name}.log",
            namespace=namespace,
            env={"RUNTIME_DIRECTORY": str(self.run.path)},
        )
        self._stack.enter_context(process)
        if cable is not None and cable.uplink:
            self._delayed[cable.name] = process
        return process

    def _nic(self, host):
        return "eth1" if self._beside is not None and host in self.topology.workers else "eth0"

    def _address(self, name):
        host = self._namespaces[name]
        address = (self.topology.workers | self.topology.servers)[name].get("address")
        if address is None:
            raise TopologyError(f"worker {name} has no address; the testbed gives it to its port")
        host.run(["ip", "addr", "add", f"{address}/16", "dev", self._nic(name)])
        # Results come by multicast.
        if self._nic(name) == "eth0":
            host.run(["ip", "route", "add", "224.0.0.0/4", "dev", "eth0"])

    def _plug_unused_ports(self):
        """A driver wants its interface to exist, wherever it leads."""
        used = {(c.switch, c.port) for c in self.topology.cables}
        used |= {(c.below, c.uplink) for c in self.topology.cables}
        for name, switch in self.topology.switches.items():
            for port in switch["ports"]:
                if (name, port["name"]) not in used:
                    space, link = self._namespaces[name], self._link(name, port["name"])
                    space.run(["ip", "link", "add", "name", link, "type", "dummy"])
                    space.run(["ip", "link", "set", "dev", link, "up"])

    def _link(self, switch, port):
        """The interface that the file names for a port, or the port's own name."""
        match = re.search(r"\biface=([^,]+)", self.topology.port(switch, port)["devargs"])
        return match[1] if match else port[:_SHORT_LINK]

    def _memif_socket(self, below, end="below", cable=None):
        """Memif socket of the port that leads down to a worker or switch, or of that switch's uplink."""
        way = f"-{cable.uplink}" if cable is not None and cable.other else ""
        return self.run / f"{below}-{end}{way}.memif"

    # ---- the file that the switches read

    def _write(self):
        """The topology with devices and sockets of this bed."""
        below = {(c.switch, c.port): c for c in self.topology.cables}
        for name, switch in self.topology.switches.items():
            for index, port in enumerate(switch["ports"]):
                port["devargs"] = self._devargs(name, switch, index, port, below)
            switch["control"] = {"socket": str(self.socket(name))}
            if self.ports == "memif":  # one network for all: only one could have the address
                switch.pop("metrics", None)
            (self.run / name).mkdir()
        for name, server in self.topology.servers.items():
            server["control"] = {"socket": str(self.socket(name))}
        for job in self.topology.tree.get("jobs") or []:
            job.update(copy.deepcopy(self._job_options))  # YAML would say "the same" of one object
        self.write_file()

    def write_file(self):
        """The topology as it is now; switches that run read it when they are told to."""
        file = self.run / "topology.yaml"
        file.write_text(yaml.safe_dump(self.topology.tree, sort_keys=False))
        self.check(file)

    def _devargs(self, name, switch, index, port, below):
        if self.ports == "veth":
            jumbo = _JUMBO if port.get("mtu", _STANDARD_MTU) > _STANDARD_MTU else ""
            return _AF_PACKET.format(index=index, link=self._link(name, port["name"])) + jumbo
        up = next((c for c in self.topology.cables if (c.below, c.uplink) == (name, port["name"])), None)
        down = below.get((name, port["name"]))
        if up is not None:
            socket = self._memif_socket(name, "uplink", up)
        elif down is not None:
            socket = self._memif_socket(down.below, "below", down)
        else:
            socket = self._memif_socket(f"{name}-{port['name']}")
        return _MEMIF.format(index=index, socket=socket, role="server")
