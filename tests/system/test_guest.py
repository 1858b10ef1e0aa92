"""A real virtual machine at a vhost-user port: a peer like any other, which may come and go."""

import os
import socket
import struct

import pytest
from testbed.fabric import Port, worker_address
from testbed.guest import Guest
from testbed.switch import Job
from testbed.tree import binary

GUEST = "10.77.0.77"
LIMIT_S = 120
# Kernel hosts at the first two ports, the machine at the third.
HOSTS = 2


class Impostor:
    """Speaks for a machine that is none: shares memory with two empty rings in it.

    https://qemu-project.gitlab.io/qemu/interop/vhost-user.html
    """

    SIZE = 1 << 20
    SLOTS = 256
    GUEST, USER = 1 << 30, 1 << 40  # where its memory is, for itself and for who runs it

    def __init__(self, path):
        self._memory = os.memfd_create("guest")
        os.ftruncate(self._memory, self.SIZE)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self._say(3)  # SET_OWNER
        self._say(2, struct.pack("=Q", 1 << 32))  # SET_FEATURES: VERSION_1
        table = struct.pack("=IIQQQQ", 1, 0, self.GUEST, self.SIZE, self.USER, 0)
        self._say(5, table, self._memory)  # SET_MEM_TABLE
        for ring in (0, 1):
            at = self.USER + 0x4000 * ring
            event = os.eventfd(0)
            self._say(8, struct.pack("=II", ring, self.SLOTS))  # SET_VRING_NUM
            self._say(10, struct.pack("=II", ring, 0))  # SET_VRING_BASE
            self._say(9, struct.pack("=IIQQQQ", ring, 0, at, at + 0x2000, at + 0x1000, 0))  # SET_VRING_ADDR
            self._say(13, struct.pack("=Q", ring), event)  # SET_VRING_CALL
            self._say(12, struct.pack("=Q", ring), event)  # SET_VRING_KICK
            os.close(event)

    def _say(self, request, payload=b"", *descriptors):
        socket.send_fds(self.socket, [struct.pack("=III", request, 1, len(payload)) + payload], descriptors)

    def take_memory_away(self):
        os.ftruncate(self._memory, 0)

    def close(self):
        os.close(self._memory)
        self.socket.close()


@pytest.fixture
def guest_bed(make_bed):
    def port(run):
        return [Port("vm", f"net_vhost0,iface={run / 'vm.sock'}")]

    return make_bed("veth", HOSTS, jobs=[Job(1, HOSTS + 1)], more_ports=port)


def guest(bed, name, script, programs=()):
    return Guest(bed.loop, bed.run, name, bed.run / "vm.sock", GUEST, script, programs)


def link(bed):
    return {row["port"]: row["link"] for row in bed.switch.show("ports")}["vm"]


def ping(bed, *options):
    bed.start("ping", ["ping", "-c", "3", "-i", "0.2", "-W", "20", *options, GUEST], rank=0).check_exit(LIMIT_S)


def test_c1_a_machine_comes_goes_and_comes_again(guest_bed):
    """C1: both ways, full-size frames; killed and started again beside a switch that runs on."""
    bed = guest_bed
    assert link(bed) == "down"
    for life in range(2):
        script = f"ping -c 3 -W 20 -s 8000 {worker_address(1)} && echo the other way\nsleep 1000\n"
        with guest(bed, f"vm{life}", script) as machine:
            machine.process.wait_line("the other way", LIMIT_S)
            ping(bed, "-M", "do", "-s", "8972")
            assert link(bed) == "up"
        # Killed, in the middle of its life.
        bed.loop.wait(lambda: link(bed) == "down", LIMIT_S, "the port has noticed")
    assert bed.switch.process.running


def test_t2_a_machine_is_a_rank(guest_bed):
    """T2: its kernel's UDP over virtio-net, beside two kernel hosts; every rank checks the sum."""
    bed = guest_bed
    command = ["tributary", "allreduce", "--job", "1", "--size", HOSTS + 1, "--count", "200K",
               "--dtype", "int32", "--timeout", LIMIT_S, "--address", bed.address(0), "--rank"]
    rank = " ".join(map(str, [*command, HOSTS]))
    client = binary(bed.build, "tributary")
    with guest(bed, "vm", rank, programs=[client]) as machine:
        hosts = [bed.start(f"rank{i}", [client, *command[1:], i], rank=i) for i in range(HOSTS)]
        for host in hosts:
            assert "checked: 0 of 204800 elements wrong" in host.check_exit(LIMIT_S).text()
        machine.process.wait_line("checked: 0 of 204800 elements wrong", LIMIT_S)
        machine.process.wait_line("guest: ended 0", LIMIT_S)
        machine.process.check_exit(LIMIT_S)


def test_c1_who_takes_its_memory_away_is_put_out(guest_bed):
    """C1: by the loop that polls its rings; the next one takes the port, and nobody else notices."""
    bed = guest_bed
    for _ in range(2):
        impostor = Impostor(bed.run / "vm.sock")
        bed.loop.wait(lambda: link(bed) == "up", LIMIT_S, "a machine is there")
        impostor.take_memory_away()
        impostor.socket.settimeout(LIMIT_S)
        assert impostor.socket.recv(1) == b"", "the switch ends the connection"
        bed.loop.wait(lambda: link(bed) == "down", LIMIT_S, "the port has lost it")
        impostor.close()
    line = "port vm: its peer took away the memory that both share, and is disconnected"
    bed.loop.wait(lambda: bed.switch.process.stderr.count(line) == 2, LIMIT_S, "the switch says so")
    bed.start("hosts", ["ping", "-c", "3", "-i", "0.2", worker_address(1)], rank=0).check_exit(LIMIT_S)
