"""Ranks that know nothing of Tributary: RDMA WRITEs from virtual machines with the kernel's RoCE."""

import re
import subprocess
import time

import pytest
from testbed.fabric import Port
from testbed.guest import Guest
from testbed.switch import Job
from testbed.tree import PYTHON, TOP

GUESTS = ["10.77.0.77", "10.77.0.78"]
LIMIT_S = 150
HOSTS = 1
SIZE = HOSTS + len(GUESTS)
CHUNK = 2048
PORT = 47000
# What a machine sends is lost, doubled and overtaken. By its path: busybox has a tc, too.
BENT = "/usr/bin/tc qdisc add dev eth0 root netem delay 1ms loss 1% duplicate 1% reorder 5% || exit 1\n"


def machine_ports(run):
    return [Port(f"vm{i}", f"net_vhost0{i},iface={run / f'vm{i}.sock'}") for i in range(len(GUESTS))]


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """examples/verbs_allreduce.c, built as its first lines say."""
    program = tmp_path_factory.mktemp("verbs") / "verbs_allreduce"
    subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-Werror", TOP / "examples/verbs_allreduce.c", "-lrdmacm", "-libverbs",
         "-o", program], check=True)
    return program


def bed_of(make_bed, *more):
    return make_bed(
        "veth", HOSTS, more_ports=machine_ports, port_options=[{}, {"rdma": True}, {"rdma": True}],
        jobs=[Job(1, SIZE, (("rdma", True), ("chunk_bytes", CHUNK), ("window", 1024), *more))])


@pytest.fixture
def verbs_bed(make_bed):
    return bed_of(make_bed)


def guest(bed, i, script, program, modules=(), programs=()):
    return Guest(bed.loop, bed.run, f"vm{i}", bed.run / f"vm{i}.sock", GUESTS[i], script, (program, *programs),
                 modules=modules, rdma=True)


def command(job, rank, size_bytes, ops, transport="rc"):
    return f"verbs_allreduce 10.77.0.254 {PORT} {job} {rank} {SIZE} {size_bytes} {ops} {transport}"


@pytest.mark.parametrize(("transport", "size"), [("rc", 1 << 20), ("uc", 1 << 20)])
def test_a5_writes_to_the_window_are_summed(verbs_bed, example, transport, size):
    """A5, T19: two programs of rdma-core alone and a rank by UDP: sums are exact on each of them."""
    bed, ops = verbs_bed, 10
    with guest(bed, 0, command(1, 1, size, ops, transport), example) as first, \
            guest(bed, 1, command(1, 2, size, ops, transport), example) as second:
        bed.loop.wait(lambda: [row["ranks"] for row in bed.switch.show("qps")
                               if row["type"] == transport.upper()] == [1, 1],
                      LIMIT_S, "both are connected")
        peer = bed.start("peer", [PYTHON, TOP / "tests/system/verbs_peer.py", bed.address(0), 1, 0, SIZE, size, ops], 0)
        assert f"udp: {ops} allreduces of {size} bytes are right" in peer.check_exit(LIMIT_S).text()
        for machine in (first, second):
            machine.process.wait_line(f"verbs: {ops} allreduces of {size} bytes are right", LIMIT_S)
            machine.process.wait_line("guest: ended 0", LIMIT_S)
    drops = {row["reason"]: row for row in bed.switch.show("drops")}
    assert not {"icrc", "roce-malformed", "rdma-opcode", "rdma-address"} & drops.keys(), drops


def test_a5_losses_and_duplicates_both_ways(verbs_bed, example):
    """A5: one machine's requests and acknowledgements are lost, doubled and overtaken: sums are exact."""
    bed, size, ops = verbs_bed, 1 << 16, 6
    with guest(bed, 0, command(1, 1, size, ops), example) as first, \
            guest(bed, 1, BENT + command(1, 2, size, ops), example, ("sch_netem",), ("/sbin/tc",)) as second:
        peer = bed.start("peer", [PYTHON, TOP / "tests/system/verbs_peer.py", bed.address(0), 1, 0, SIZE, size, ops], 0)
        assert f"udp: {ops} allreduces of {size} bytes are right" in peer.check_exit(LIMIT_S).text()
        for machine in (first, second):
            machine.process.wait_line(f"verbs: {ops} allreduces of {size} bytes are right", LIMIT_S)


def connected(bed):
    return sum(row["ranks"] for row in bed.switch.show("qps") if row["type"] == "UC")


def test_a5_a_rank_on_uc_waits_for_longer_than_the_lease(make_bed, example):
    """A5: its kernel's connection manager answers another REP, while the other machine starts."""
    bed, size, ops = bed_of(make_bed, ("lease", "5s")), 1 << 16, 3
    with guest(bed, 0, command(1, 1, size, ops, "uc"), example) as first:
        bed.loop.wait(lambda: connected(bed) == 1, LIMIT_S, "the first is connected")
        began = time.monotonic()
        bed.loop.wait(lambda: connected(bed) != 1 or time.monotonic() > began + 7, 30, "the lease is over")
        assert connected(bed) == 1, bed.switch.show("qps")
        with guest(bed, 1, command(1, 2, size, ops, "uc"), example) as second:
            bed.loop.wait(lambda: connected(bed) == 2, LIMIT_S, "both are connected")
            peer = bed.start("peer", [PYTHON, TOP / "tests/system/verbs_peer.py", bed.address(0), 1, 0, SIZE, size, ops],
                             0)
            assert f"udp: {ops} allreduces of {size} bytes are right" in peer.check_exit(LIMIT_S).text()
            for machine in (first, second):
                machine.process.wait_line(f"verbs: {ops} allreduces of {size} bytes are right", LIMIT_S)


def test_a5_a_loss_on_uc_ends_the_programs(verbs_bed, example):
    """A5: nothing is sent again, so an op stays incomplete: rank 2's silence ends the epoch, and each of them hears."""
    bed, size, ops = verbs_bed, 1 << 16, 500
    lossy = "/usr/bin/tc qdisc add dev eth0 root netem loss 2% || exit 1\n"
    with guest(bed, 0, command(1, 1, size, ops, "uc"), example) as first, \
            guest(bed, 1, lossy + command(1, 2, size, ops, "uc"), example, ("sch_netem",), ("/sbin/tc",)) as second:
        peer = bed.start("peer", [PYTHON, TOP / "tests/system/verbs_peer.py", bed.address(0), 1, 0, SIZE, size, ops], 0)
        for machine in (first, second):
            machine.process.wait_line("RDMA_CM_EVENT_DISCONNECTED", LIMIT_S)
            machine.process.wait_line("guest: ended 1", LIMIT_S)
        assert peer.wait_exit(LIMIT_S) != 0


def test_a5_says_why_there_is_no_connection(verbs_bed, example):
    """A5: a job that is not there, a rank that the job lacks: the reason that rdma_cm hands to the program."""
    script = "\n".join([command(7, 0, 4096, 1), command(1, 5, 4096, 1), "true"])
    with guest(verbs_bed, 0, script, example) as machine:
        machine.process.wait_line("RDMA_CM_EVENT_REJECTED, status 28: no such job here", LIMIT_S)
        machine.process.wait_line("RDMA_CM_EVENT_REJECTED, status 28: the job does not have this rank", LIMIT_S)


def test_perftest_between_machines_is_other_traffic(verbs_bed):
    """T19: RoCEv2 between hosts passes the switch as any frame does; rdma_cm's messages, too."""
    bed, write = verbs_bed, "ib_write_bw -d rxe0 -R -F -n 100 -s 65536"
    program = "/usr/bin/ib_write_bw"
    with guest(bed, 0, write, program) as server, \
            guest(bed, 1, f"until {write} {GUESTS[0]}; do sleep 1; done", program) as client:
        for machine in (server, client):
            machine.process.wait_line("guest: ended 0", LIMIT_S)
            assert re.search(r"^ 65536 +100 +[\d.]+ ", machine.process.text(), re.MULTILINE), machine.process.text()
    assert all(row["rx_sends"] == 0 for row in bed.switch.show("qps")), bed.switch.show("qps")
    drops = {row["reason"] for row in bed.switch.show("drops")}
    assert not {reason for reason in drops if reason.startswith(("rdma", "icrc", "roce", "cm-"))}, drops
