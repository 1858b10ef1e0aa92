"""How workers reach the switch: veth pairs and kernel UDP, or memif (shared memory).

A fabric knows, for each rank, the switch's port (name and devargs), the address that a worker
gives to the library, and the namespaces in which both run (None: the machine's own). With an
Impairment, every worker's cable runs through a tributary-impair process.
"""

import contextlib
from dataclasses import dataclass

from .free_port import free_port
from .namespace import Namespace, add_veth
from .process import Process
from .tree import binary

SWITCH_ADDRESS = "10.77.0.254"
MTU = 9000
# Frame and block sizes that carry MTU-sized frames; the default ends at 1518 bytes.
_AF_PACKET = "net_af_packet{index},iface={link},qdisc_bypass=1,framesz=16384,blocksz=65536"
_MEMIF = (
    "net_memif{index},id={id},socket={socket},socket-abstract=no,rsize=10,bsize=9728,role={role}"
)


def free_address():
    """A TCP address of this machine's loopback on which no process listens now."""
    return f"127.0.0.1:{free_port()}"


def worker_address(rank):
    return f"10.77.0.{rank + 1}"


@dataclass(frozen=True)
class Port:
    name: str
    devargs: str
    mtu: int = MTU


@dataclass(frozen=True)
class Impairment:
    """Arguments of tributary-impair, e.g. ("--drop", "1%"); each rank gets its own seed.

    `only`: the ranks, or in a tree the nodes at a cable's lower end, whose cables are bad.
    """

    arguments: tuple
    seed: int = 1
    only: frozenset | None = None

    def concerns(self, below):
        return self.only is None or below in self.only


class _Fabric:
    def __init__(self, build, loop, run, workers, impairment=None):
        self.workers = workers
        self.ports = []
        self.cables = []
        self._build, self._loop, self._run, self._impairment = build, loop, run, impairment
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with self._stack:
            self._open()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *exception):
        return self._stack.__exit__(*exception)

    def start_cables(self):
        """Call when the switch's ports exist: a memif client needs its server."""

    def _impaired(self, rank):
        return self._impairment is not None and self._impairment.concerns(rank)

    def _start_cable(self, rank, a, b, namespace=None):
        command = [binary(self._build, "tributary-impair"), "--a", a, "--b", b]
        command += ["--seed", str(self._impairment.seed + rank), *self._impairment.arguments]
        cable = Process(
            self._loop,
            f"cable{rank}",
            command,
            self._run / f"cable{rank}.log",
            namespace=namespace,
            env={"RUNTIME_DIRECTORY": str(self._run.path)},
        )
        self._stack.enter_context(cable)
        self.cables.append(cable)

    def _wait_cables(self):
        for cable in self.cables:
            cable.wait_line("^ready", 60)


class VethFabric(_Fabric):
    """A namespace per worker, one for the switch, a veth pair each. Needs root."""

    def _open(self):
        enter = self._stack.enter_context
        self.switch_namespace = enter(Namespace())
        self._namespaces = []
        for rank in range(self.workers):
            self._loop.check()
            link = f"w{rank}"
            if not self._impaired(rank):
                self.add_host(link)
            else:
                worker = self._add_namespace()
                # A namespace of its own: the driver picks PACKET_FANOUT groups, which are per
                # namespace, by pid xor interface index, and those of two processes may collide.
                middle = enter(Namespace())
                add_veth(self.switch_namespace, link, middle, "switch", MTU)
                add_veth(middle, "worker", worker, "eth0", MTU)
                ends = [
                    _AF_PACKET.format(index=index, link=name)
                    for index, name in enumerate(("worker", "switch"))
                ]
                self._start_cable(rank, *ends, namespace=middle)
                self._give_address(rank)
            self.ports.append(Port(link, _AF_PACKET.format(index=rank, link=link)))
        self._wait_cables()

    def add_host(self, link, mtu=MTU):
        """A namespace with a veth to `link`, which some port of the switch may read; its rank."""
        namespace = self._add_namespace()
        add_veth(self.switch_namespace, link, namespace, "eth0", mtu)
        return self._give_address(len(self._namespaces) - 1)

    def _add_namespace(self):
        self._namespaces.append(self._stack.enter_context(Namespace()))
        return self._namespaces[-1]

    def _give_address(self, rank):
        worker = self._namespaces[rank]
        worker.run(["ip", "addr", "add", f"{worker_address(rank)}/24", "dev", "eth0"])
        # Results come by multicast.
        worker.run(["ip", "route", "add", "224.0.0.0/4", "dev", "eth0"])
        return rank

    def namespace(self, rank):
        return self._namespaces[rank]

    def address(self, _rank):
        return f"udp://{SWITCH_ADDRESS}"


class MemifFabric(_Fabric):
    """One socket in the run directory, one memif per worker. Needs no privilege."""

    switch_namespace = None

    def _open(self):
        for rank in range(self.workers):
            self.ports.append(Port(f"w{rank}", self._switch_end(rank, rank, "server")))

    def _switch_end(self, index, rank, role):
        return _MEMIF.format(index=index, id=rank, socket=self._run / "switch.memif", role=role)

    def start_cables(self):
        if self._impairment is None:
            return
        for rank in filter(self._impaired, range(self.workers)):
            outer = _MEMIF.format(index=0, id=0, socket=self._outer_socket(rank), role="server")
            self._start_cable(rank, outer, self._switch_end(1, rank, "client"))
        self._wait_cables()

    def client(self, rank):
        """Devargs of a DPDK process in a worker's place."""
        return self._switch_end(0, rank, "client")

    def _outer_socket(self, rank):
        return self._run / f"cable{rank}.memif"

    def namespace(self, _rank):
        return None

    def address(self, rank):
        socket, number = self._run / "switch.memif", rank
        if self._impaired(rank):
            socket, number = self._outer_socket(rank), 0
        return f"memif://{socket}?id={number}&switch={SWITCH_ADDRESS}"


FABRICS = {"veth": VethFabric, "memif": MemifFabric}
