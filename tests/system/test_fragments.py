"""Chunks of 8 KiB for workers whose interfaces carry 1,500 bytes (C1): kernels cut and put together,
and so does the switch."""

import pytest
import testbed.fabric
from testbed.fabric import Impairment, worker_address
from testbed.switch import Job

SMALL = 1500
FRAGMENTS = {"datagrams": 256, "timeout": "50ms"}
CHUNKS = 3 * (1 + 147)  # of STEPS, that are longer than a packet
STEPS = [
    {"do": "allreduce", "count": n, "dtype": "int32", "seed": n, "repeat": 3}
    for n in (1, 2048, 300_000)
]


def make_small_bed(make_bed, workers, small, **options):
    """The first `small` workers have an interface, and a port, of 1,500 bytes."""
    bed = make_bed(
        "veth", workers, fragments=FRAGMENTS, port_options=[{"mtu": SMALL}] * small, **options
    )
    for rank in range(small):
        bed.fabric.namespace(rank).run(["ip", "link", "set", "dev", "eth0", "mtu", str(SMALL)])
    return bed


@pytest.fixture
def raw(monkeypatch):
    """Ports that see single fragments: for af_packet the kernel puts them together first."""
    pcap = "net_pcap{index},rx_iface_in={link},tx_iface={link}"
    monkeypatch.setattr(testbed.fabric, "_AF_PACKET", pcap)


def fragments(bed):
    return {row["port"]: row for row in bed.switch.show("fragments")}


def test_c1_chunks_of_8_kib_over_an_mtu_of_1500(make_bed, launch):
    """One port with a large MTU beside: it gets results whole."""
    bed = make_small_bed(make_bed, 3, small=2)
    for worker in launch(bed).start(STEPS):
        worker.finish()
    rows = fragments(bed)
    assert rows["w0"]["cut"] >= CHUNKS and rows["w1"]["cut"] >= CHUNKS
    assert rows["w2"]["cut"] == rows["w2"]["put_together"] == 0
    assert all(row["overlaps"] == row["evicted"] == 0 for row in rows.values())


def test_c1_lost_fragments_are_repaired(make_bed, launch, raw):
    """1 % of single fragments, each way; sums stay exact, and what waits in vain is given up."""
    bed = make_small_bed(
        make_bed, 2, small=2, impairment=Impairment(("--drop", "1%", "--duplicate", "1%"), seed=11)
    )
    stats = [worker.finish() for worker in launch(bed).start(STEPS)]
    assert sum(s["probes"] for s in stats) > 0, "losses that nobody noticed"
    rows = fragments(bed).values()
    assert sum(row["put_together"] for row in rows) > CHUNKS
    assert sum(row["timeouts"] for row in rows) > 0
    assert sum(row["duplicates"] for row in rows) > 0


def test_two_lcores_and_a_long_ping(make_bed, launch):
    """Each rank's datagrams are put together by one lcore, and half of the jobs are the other's."""
    bed = make_small_bed(make_bed, 2, small=2, jobs=[Job(1, 2), Job(2, 2)], lcores=[-1, -1])
    launcher = launch(bed)
    workers = [worker for job in (1, 2) for worker in launcher.start(STEPS, job=job)]
    for worker in workers:
        worker.finish()
    assert all(row["jobs"] > 0 for row in bed.switch.show("handover"))
    ping = bed.start(
        "ping", ["ping", "-c", "3", "-i", "0.2", "-W", "5", "-s", "6000", "10.77.0.254"], rank=0
    )
    ping.check_exit(50)
    assert " 0% packet loss" in ping.text()


def test_c1_raw_fragments_are_put_together_and_others_pass(make_bed, launch, raw):
    bed = make_small_bed(make_bed, 2, small=2)
    for worker in launch(bed).start(STEPS):
        worker.finish()
    rows = fragments(bed)
    assert all(row["put_together"] >= CHUNKS and row["cut"] >= CHUNKS for row in rows.values())
    for name, to in (("past", worker_address(1)), ("here", "10.77.0.254")):
        ping = bed.start(
            name, ["ping", "-c", "3", "-i", "0.2", "-W", "5", "-s", "6000", to], rank=0
        )
        ping.check_exit(50)
        assert " 0% packet loss" in ping.text(), name


def test_a_small_interface_without_fragments_is_an_error_that_says_so(make_bed, launch):
    bed = make_bed("veth", 1)
    bed.fabric.namespace(0).run(["ip", "link", "set", "dev", "eth0", "mtu", str(SMALL)])
    (worker,) = launch(bed).start([{"do": "barrier"}])
    assert "the path carries 1472" in worker.fail()["text"]
