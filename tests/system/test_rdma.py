"""A rank by RDMA: a real virtual machine with the kernel's RoCE, beside a rank by UDP."""

import json

import pytest
from testbed.guest import Guest
from testbed.fabric import Port
from testbed.switch import Job
from testbed.tree import binary

GUESTS = ["10.77.0.77", "10.77.0.78"]
LIMIT_S = 150
# One kernel host at the first port, a machine at each of the others. RDMA's path MTU is 4096 where the
# port's is 9000.
HOSTS = 1
CHUNK = 3968


def machine_ports(run):
    return [Port(f"vm{i}", f"net_vhost0{i},iface={run / f'vm{i}.sock'}") for i in range(len(GUESTS))]


@pytest.fixture
def rdma_bed(make_bed):
    size = HOSTS + len(GUESTS)
    return make_bed(
        "veth", HOSTS, more_ports=machine_ports, port_options=[{}, {"rdma": True}, {"rdma": True}],
        jobs=[Job(1, size, (("rdma", True), ("chunk_bytes", CHUNK)))])


# What a machine sends is lost, doubled and overtaken. By its path: busybox has a tc, too.
BENT = "/usr/bin/tc qdisc add dev eth0 root netem delay 1ms loss 1% duplicate 1% reorder 5% || exit 1\n"
# The kernel asks thrice for the switch's address, once a second: all of them are lost.
LATE_LINK = ("/usr/bin/tc qdisc add dev eth0 root netem loss 100% || exit 1\n"
             "(sleep 6; /usr/bin/tc qdisc del dev eth0 root) &\n")


def guest(bed, i, script, programs=()):
    return Guest(bed.loop, bed.run, f"vm{i}", bed.run / f"vm{i}.sock", GUESTS[i], script, (*programs, "/sbin/tc"),
                 modules=("sch_netem",), rdma=True)


def command(bed, rank, scheme, count="400K", more=()):
    address = bed.address(0).replace("udp://", f"{scheme}://")
    return ["tributary", "allreduce", "--job", 1, "--size", HOSTS + len(GUESTS), "--rank", rank, "--count", count,
            "--dtype", "int32", "--timeout", LIMIT_S, "--address", address, *more]


def test_t19_a5_two_machines_by_rdma_and_a_host_by_udp_sum(rdma_bed):
    """T19, A5: rdma_cm finds the job's queue pair, and sums are exact on every rank of one job.

    The second machine's packets are lost, doubled and overtaken.
    """
    bed = rdma_bed
    client = binary(bed.build, "tributary")
    right = "checked: 0 of 409600 elements wrong"
    lines = [" ".join(map(str, command(bed, HOSTS + i, "rdma"))) for i in range(len(GUESTS))]
    with guest(bed, 0, lines[0], [client]) as first, guest(bed, 1, BENT + lines[1], [client]) as second:
        host = bed.start("host", [client, *command(bed, 0, "udp")[1:]], rank=0)
        assert right in host.check_exit(LIMIT_S).text()
        for machine in (first, second):
            machine.process.wait_line(right, LIMIT_S)
            machine.process.wait_line("guest: ended 0", LIMIT_S)
    (row,) = bed.switch.show("qps")
    assert row["qp"] == 0x800001 and row["rx_sends"] > 0 and row["tx_sends"] > 0 and row["resent"] is None, row
    ops = bed.switch.show("ops 1")
    kept = [row["op"] for row in ops if row["arrivals"] == "kept"]
    assert kept, ops
    lines = bed.switch.show(f"op 1/{kept[0]}")
    assert {(*line["ranks"], line["by"]) for line in lines if line["what"] == "arrived"} == {
        (0, "udp"), (1, "rdma UD"), (2, "rdma UD")}, lines
    drops = {row["reason"]: row for row in bed.switch.show("drops")}
    assert not {"icrc", "roce-malformed", "rdma-qkey", "rdma-opcode"} & drops.keys(), json.dumps(drops)


def test_a5_says_why_a_rank_gets_no_queue_pair(rdma_bed):
    """A5: a job that is not there, a rank that the job lacks: rdma_cm's refusal, in words.

    The link comes up late: a rank asks for the switch's address until its time is over.
    """
    bed = rdma_bed
    address = bed.address(0).replace("udp://", "rdma://")
    ask = f"tributary allreduce --size 9 --count 1 --timeout 20 --address {address}"
    script = f"{LATE_LINK}{ask} --job 7 --rank 0\n{ask} --job 1 --rank 5\n"
    with guest(bed, 0, script, [binary(bed.build, "tributary")]) as machine:
        machine.process.wait_line("does not have the job, or the job has no `rdma: true`", LIMIT_S)
        machine.process.wait_line("the job does not have this rank", LIMIT_S)
