"""A real virtual machine at a vhost-user port: a peer like any other, which may come and go."""

import pytest
from testbed.fabric import Port, worker_address
from testbed.guest import Guest
from testbed.switch import Job
from testbed.tree import binary

GUEST = "10.77.0.77"
LIMIT_S = 120
# Kernel hosts at the first two ports, the machine at the third.
HOSTS = 2


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
