"""Traffic between kernel hosts: VLANs, jumbo frames, a job across VLANs, access control."""

import pytest
from testbed.fabric import worker_address
from testbed.switch import Job

SMALL = {"do": "allreduce", "count": 50_000, "dtype": "int32", "repeat": 3}
FIRST, OTHER, SECOND = range(3)
VLANS = tuple({"vlan": {"mode": "access", "id": vlan}} for vlan in (10, 20, 10))


def ping(bed, rank, address, *options):
    """Whether answers come."""
    command = ["ping", "-c", "3", "-i", "0.2", "-W", "2", *options, address]
    process = bed.start(f"ping-{rank}-{address}-{len(options)}", command, rank=rank)
    return process.wait_exit(50) == 0


@pytest.fixture
def vlan_bed(make_bed):
    return make_bed("veth", 3, jobs=[Job(1, 3)], port_options=VLANS)


def test_vlans_are_networks_of_their_own(vlan_bed):
    assert ping(vlan_bed, FIRST, worker_address(SECOND))
    assert ping(vlan_bed, FIRST, worker_address(SECOND), "-M", "do", "-s", "8972")
    assert not ping(vlan_bed, FIRST, worker_address(OTHER))
    # It has asked who has the address: nobody there heard, and the switch knows where it is.
    assert not ping(vlan_bed, OTHER, worker_address(FIRST))
    vlans = {(row["port"], row["vlan"]) for row in vlan_bed.switch.show("fdb")}
    assert vlans == {("w0", 10), ("w1", 20), ("w2", 10)}
    modes = [row["vlan"] for row in vlan_bed.switch.show("ports")]
    assert modes == ["access 10", "access 20", "access 10"]
    port = ("show", "fdb", "vlan=10", "port=w2", "--socket", vlan_bed.switch.socket)
    assert " w2 " in vlan_bed.switch.client(*port) and " w0 " not in vlan_bed.switch.client(*port)


def test_a_job_spans_vlans(vlan_bed, launch):
    """The switch's own address is in each of them."""
    for worker in launch(vlan_bed).start([SMALL]):
        worker.finish()


def test_acl_denies_and_counts(make_bed):
    rules = [
        {"name": "no-echo", "action": "deny", "port": "w0", "protocol": "icmp"},
        {"name": "web", "action": "deny", "protocol": "tcp", "destination_ports": 80},
    ]
    bed = make_bed("veth", 2, sections={"acl": {"rules": rules}})
    assert not ping(bed, 0, worker_address(1))
    assert not ping(bed, 1, worker_address(0))  # the answer comes in at w0
    hits = {row["rule"]: row["frames"] for row in bed.switch.show("acl")}
    assert hits["no-echo"] == 6 and hits["web"] == 0 and hits["default"] > 0
    reasons = {(row["port"], row["reason"]): row["packets"] for row in bed.switch.show("drops")}
    assert reasons["w0", "acl-denied"] == 6
