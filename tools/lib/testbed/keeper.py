"""The process that holds a testbed between two calls of tools/testbed, and how to talk to it.

It listens on an abstract socket, which vanishes with it, and answers one JSON line with another.
Only the user who started it, and root, are answered.
"""

import json
import os
import shlex
import signal
import socket
import struct
import sys

from .delay import DelayError
from .fabric import Impairment
from .loop import Interrupted, Loop
from .manager import ManagerRefused
from .namespace import NamespaceError
from .process import ProcessFailed
from .topology import TopologyError
from .tree_bed import TreeBed

_ANSWER_S = 120
_MOST_BYTES = 1 << 16


class KeeperError(Exception):
    """The keeper's objection, or that there is none."""


def _address(name):
    return f"\0tributary-testbed-{os.geteuid()}-{name}"


def ask(name, do, **arguments):
    """The answer of the testbed called `name`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(_ANSWER_S)
        try:
            s.connect(_address(name))
        except ConnectionRefusedError:
            raise KeeperError(f"testbed '{name}' is not up") from None
        s.sendall(json.dumps({"do": do, **arguments}).encode() + b"\n")
        text = s.makefile("rb").read()
    answer = json.loads(text) if text else {"error": "it ended"}
    if "error" in answer:
        raise KeeperError(answer["error"])
    return answer


class _Keeper:
    def __init__(self, loop, bed, file, listener):
        self.bed, self.file = bed, file
        self.over = False
        self._listener = listener
        loop.watch(listener.fileno(), self._accept)

    def _accept(self):
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(1)
            try:
                _, uid, _ = struct.unpack("3i", connection.getsockopt(
                    socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
                if uid not in (0, os.geteuid()):
                    return
                connection.sendall(json.dumps(self._answer(self._read(connection))).encode())
            except (OSError, ValueError):
                pass  # the client has gone, or spoke no JSON

    @staticmethod
    def _read(connection):
        text = b""
        while not text.endswith(b"\n") and len(text) < _MOST_BYTES:
            more = connection.recv(4096)
            if not more:
                break
            text += more
        return json.loads(text)

    def _answer(self, request):
        do = request.pop("do", "")
        if do not in ("status", "places", "kill", "start", "delay", "down"):
            return {"error": f"cannot '{do}'"}
        try:
            return getattr(self, do)(**request)
        except (KeeperError, DelayError, ManagerRefused, ProcessFailed, TimeoutError, TopologyError) as error:
            return {"error": str(error)}

    def status(self):
        nodes = []
        topology = self.bed.topology
        for name, switch in topology.switches.items():
            process = self.bed.switches[name]
            nodes.append({
                "name": name, "kind": "switch", "on": switch.get("parent", "-"),
                "address": switch["address"], "pid": process.pid,
                "state": "runs" if process.running else "dead",
            })
        for name, server in topology.servers.items():
            process = self.bed.servers[name]
            nodes.append({
                "name": name, "kind": "server", "on": server["switch"],
                "address": server["address"], "pid": process.pid,
                "state": "runs" if process.running else "dead",
            })
        for name, worker in topology.workers.items():
            nodes.append({
                "name": name, "kind": "worker", "on": worker["switch"],
                "address": worker.get("address", "-"), "pid": "-",
                "state": "-", "delay": self.bed.delays.of(name),
            })
        return {"file": str(self.file), "ports": self.bed.ports, "pid": os.getpid(),
                "directory": str(self.bed.run.path), "nodes": nodes,
                "telemetry": self._telemetry(),
                "manager": self.bed.manager and self.bed.manager.address}

    def _telemetry(self):
        of = self.bed.telemetry
        if of is None:
            return None
        space = None if of.namespace is None else of.namespace.path
        return {"http": of.http, "namespace": space}

    def _ranks(self, job):
        """Id, size and ranks of a job: by its id in the file, or by its name at the manager."""
        topology = self.bed.topology
        if self.bed.manager is not None:
            if job is None:
                raise KeeperError("say which job of the manager's: --job NAME")
            return self.bed.manager.ranks(job)
        if not topology.jobs:
            raise KeeperError("the file has no jobs")
        if job is not None and (not job.isdecimal() or int(job) not in topology.jobs):
            raise KeeperError(f"no job {job}; there are {', '.join(map(str, topology.jobs))}")
        number = next(iter(topology.jobs)) if job is None else int(job)
        return number, topology.jobs[number]["workers"], topology.ranks(number)

    def places(self, job=None):
        number, size, ranks = self._ranks(job)
        places = []
        for rank, worker in sorted(ranks.items()):
            space = self.bed.namespace(worker)
            places.append({
                "worker": worker, "rank": rank,
                "namespace": None if space is None else space.path,
                "environment": self.bed.environment(worker, number, rank, size),
            })
        return {"places": places}

    def _known(self, node):
        processes = self.bed.switches | self.bed.servers
        if node not in processes:
            raise KeeperError(f"no switch or server {node}; there are {', '.join(processes)}")
        return processes[node]

    def kill(self, node):
        process = self._known(node)
        process.signal(signal.SIGKILL)
        process.wait_exit(30)
        return {"text": f"{node} is dead"}

    def start(self, node):
        if self._known(node).running:
            raise KeeperError(f"{node} runs already")
        start = self.bed.start_switch if node in self.bed.switches else self.bed.start_server
        start(node)
        return {"text": f"{node} is ready"}

    def delay(self, worker, time, every=1):
        workers = self.bed.topology.workers
        cables = [cable.name for cable in self.bed.topology.cables if cable.uplink]
        if worker in cables:
            self.bed.set_cable_delay(worker, time)
            return {"text": f"{worker}: {time}"}
        if worker not in workers:
            raise KeeperError(f"no worker or cable {worker}; there are {', '.join([*workers, *cables])}")
        self.bed.delays.set(worker, time, every)
        return {"text": f"{worker}: {self.bed.delays.of(worker)}"}

    def down(self):
        self.over = True
        return {"pid": os.getpid()}


def _page_text(bed):
    of = bed.telemetry
    if of is None:
        return ""
    return ", telemetry in a namespace" if of.namespace else f", telemetry at http://{of.http}/"


def _manager_text(bed):
    return "" if bed.manager is None else f", manager at {bed.manager.address}"


def keep(name, file, ports, impair, seed, telemetry=None, managed=False):
    """Holds the testbed until `down` or a signal. Says on standard output that it is up."""
    impairment = Impairment(tuple(shlex.split(impair)), seed) if impair else None
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(_address(name))
    except OSError:
        print(f"testbed '{name}' is up already; tools/testbed down ends it", flush=True)
        return 1
    listener.listen(8)
    try:
        with Loop() as loop, TreeBed(
            loop, file, ports, impairment, telemetry=telemetry, managed=managed
        ) as bed:
            keeper = _Keeper(loop, bed, file, listener)
            servers = f"{len(bed.servers)} servers, " if bed.servers else ""
            print(f"up: {len(bed.switches)} switches, {servers}{len(bed.topology.workers)} workers, "
                  f"{ports} ports" + _page_text(bed) + _manager_text(bed), flush=True)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())  # no process reads it any more
            os.dup2(null, sys.stderr.fileno())
            while not keeper.over:
                loop.turn(3600)
    except Interrupted:
        return 0
    except (TopologyError, NamespaceError, ProcessFailed, TimeoutError, OSError) as error:
        print(f"testbed: {error}", flush=True)
        return 1
    finally:
        listener.close()
    return 0
