"""Broken set-ups: `tributary doctor` names the cause and the next step of each."""

import json

import pytest
from testbed.fabric import MTU, SWITCH_ADDRESS, worker_address
from testbed.namespace import Namespace, add_veth
from testbed.tree import TOP, binary

LIMIT_S = 50
FIVE = TOP / "examples/two-level-5.yaml"
LATE = 1  # the rank of a set-up with one that is late


def doctor(bed, *arguments, at=None):
    """Findings at a rank's or node's place."""
    options = {"rank": at} if isinstance(at, int) or at is None else {"worker": at}
    process = bed.start(f"doctor{len(arguments)}-{at}",
                        [binary(bed.build, "tributary"), "doctor", "--json", *arguments], **options)
    process.wait_exit(LIMIT_S)
    found = json.loads(process.text())
    errors = any(f["level"] == "error" for f in found)
    assert process.returncode == int(errors), (process.returncode, found)
    return found


def at_rank(bed, rank, *arguments):
    return doctor(bed, "--address", bed.address(rank), *arguments, at=rank)


def named(found, state, remedy, level="error"):
    """The set-up's cause is among the findings, with what to do about it."""
    return any(f["level"] == level and state in f["state"] and remedy in (f["remedy"] or "")
               for f in found)


def errors(found):
    return [f for f in found if f["level"] == "error"]


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_a_healthy_idle_switch_has_no_error(make_bed, ports):
    bed = make_bed(ports, 2)
    found = at_rank(bed, 0, "--socket", bed.switch.socket)
    assert not errors(found), found
    said = "as job 1 sends them, get to the switch and back"
    assert any(said in f["state"] for f in found) == (ports == "veth"), found


def test_no_route(make_bed):
    bed = make_bed("veth", 1)
    bed.fabric.namespace(0).run(["ip", "addr", "flush", "dev", "eth0"])
    assert named(at_rank(bed, 0), "no way to the switch's address", "ip route add")


def test_a_small_mtu_at_the_worker(make_bed):
    """The switch says how long the job's chunks are."""
    bed = make_bed("veth", 1)
    bed.fabric.namespace(0).run(["ip", "link", "set", "eth0", "mtu", "1500"])
    assert named(at_rank(bed, 0), "the job's have 8192", "ip link set eth0 mtu 83")


def test_a_small_mtu_at_the_switch(make_bed):
    bed = make_bed("veth", 1)
    bed.fabric.switch_namespace.run(["ip", "link", "set", "w0", "mtu", "1000"])
    found = at_rank(bed, 0)
    assert named(found, "packets of 8338 bytes, as job 1 sends them, do not arrive; those of up to 100",
                 "ports[].mtu"), found


def test_a_small_mtu_in_the_middle(make_bed):
    """A bridge between worker and switch, one port of which has a smaller MTU: it says nothing."""
    bed = make_bed("veth", 1)
    worker = bed.fabric.namespace(0)
    with Namespace() as middle:
        worker.run(["ip", "link", "set", "eth0", "netns", middle.path, "name", "up"])
        add_veth(middle, "down", worker, "eth0", MTU)
        middle.run(["ip", "link", "add", "bridge", "type", "bridge"])
        for link in ("up", "down"):
            middle.run(["ip", "link", "set", "dev", link, "master", "bridge"])
            middle.run(["ip", "link", "set", "dev", link, "up"])
        middle.run(["ip", "link", "set", "dev", "up", "mtu", "1400"])
        middle.run(["ip", "link", "set", "dev", "bridge", "up"])
        worker.run(["ip", "addr", "add", f"{worker_address(0)}/24", "dev", "eth0"])
        worker.run(["ip", "route", "add", "224.0.0.0/4", "dev", "eth0"])
        found = at_rank(bed, 0)
    assert named(found, "do not arrive; those of up to 140", "on every link, bridge and router"), found


def test_offload_on(make_bed):
    bed = make_bed("veth", 1)
    bed.fabric.namespace(0).run(["ethtool", "-K", "eth0", "tx", "on"])
    found = at_rank(bed, 0, "--socket", bed.switch.socket)
    assert named(found, "transmit checksum offload", "ethtool -K eth0 tx off"), found
    assert named(found, "while this host asked, as checksum-offloaded", "tx off"), found
    assert named(found, "dropped as checksum-offloaded, the last", "tx off", "warning"), found


def test_port_down(make_bed):
    bed = make_bed("veth", 1)
    bed.fabric.switch_namespace.run(["ip", "link", "set", "w0", "down"])
    bed.loop.wait(lambda: named(at_rank(bed, 0), "has no carrier", "other end"), LIMIT_S,
                  "the doctor names the link")
    bed.loop.wait(lambda: bed.switch.show("ports")[0]["link"] == "down", LIMIT_S, "the link is down")
    assert named(doctor(bed, "--socket", bed.switch.socket), "link is down", "iface=w0")


def test_wrong_job(make_bed):
    """And the question is no drop of the job."""
    bed = make_bed("veth", 1)
    found = at_rank(bed, 0, "--job", "77")
    assert named(found, "answers, but has no job 77", "tributary show jobs"), found
    at_rank(bed, 0)
    assert not bed.switch.show("drops")
    assert bed.switch.show("jobs")[0]["probes"] == 0


def test_a_rank_that_the_job_does_not_have(make_bed):
    bed = make_bed("veth", 2)
    assert named(at_rank(bed, 0, "--rank", "2"), "has no rank 2 of job 1: there are 2", "workers")


def test_acl(make_bed):
    rule = {"name": "no-udp", "protocol": "udp", "source": worker_address(0)}
    bed = make_bed("veth", 2, sections={"acl": {"rules": [rule]}})
    found = at_rank(bed, 0)
    assert named(found, "answers ARP, but no packets of a job", "tributary show acl"), found
    found = at_rank(bed, 0, "--socket", bed.switch.socket)
    assert named(found, "as acl-denied", "acl.rules"), found
    assert any("by rule no-udp" in f["state"] for f in found), found
    assert not errors(at_rank(bed, 1))


def test_vlan(make_bed):
    vlan = {"mode": "trunk", "allowed": [10]}
    bed = make_bed("veth", 2, port_options=[{"vlan": vlan}])
    found = at_rank(bed, 0, "--socket", bed.switch.socket)
    assert named(found, "no host answers ARP", "tributary show vlans"), found
    assert named(found, "as vlan-denied", "ports[].vlan"), found
    assert not errors(at_rank(bed, 1))


def test_a_dead_gateway(make_bed):
    bed = make_bed("veth", 1)
    gateway = worker_address(98)
    bed.fabric.namespace(0).run(["ip", "route", "add", SWITCH_ADDRESS, "via", gateway])
    found = at_rank(bed, 0)
    assert [f["subject"] for f in errors(found)] == [f"gateway {gateway}"], found
    assert named(found, "does not answer ARP on eth0", "ip route"), found


def test_wrong_leaf(make_tree):
    """w4 is rank 3, on B; A knows the switch above, and that one B."""
    bed = make_tree(FIVE)
    a, b = (bed.address(worker) for worker in ("w1", "w4"))
    found = doctor(bed, "--address", a, "--rank", "3", at="w4")
    assert named(found, "is not the switch of rank 3 of job 1; that is " + b.removeprefix("udp://"),
                 "give the rank the address " + b), found
    assert not errors(doctor(bed, "--address", b, "--rank", "3", at="w4"))


def test_dead_leaf(make_tree, launch_tree):
    bed = make_tree(FIVE)
    bed.switches["B"].stop()
    launcher = launch_tree(bed)
    for rank, worker in enumerate(("w1", "w2", "w3")):
        launcher.start_rank(rank, 5, [], 1, worker)
    found = doctor(bed, "--address", bed.address("w4"), "--rank", "3", at="w4")
    assert named(found, "no host answers ARP", "systemctl status tributary-switchd"), found

    def told():
        found = doctor(bed, "--socket", bed.socket("root"), at="root")
        return named(found, "others wait for switch 202, which is silent", "at that switch", "warning")

    bed.loop.wait(told, LIMIT_S, "the root's doctor names the leaf")


def test_a_leaf_that_waits_is_not_dead(make_tree, launch_tree):
    bed = make_tree(FIVE)
    launcher = launch_tree(bed)
    for rank, worker in ((0, "w1"), (1, "w2"), (2, "w3"), (3, "w4")):
        launcher.start_rank(rank, 5, [], 1, worker)

    def told():
        found = doctor(bed, "--socket", bed.socket("root"), at="root")
        return named(found, "switch 202 answers, and waits for ranks below it", "at that switch",
                     "warning")

    bed.loop.wait(told, LIMIT_S, "the root's doctor knows that the leaf runs")


def test_late_rank(make_bed, launch):
    bed = make_bed("veth", 3)
    step = {"do": "allreduce", "count": 1000, "dtype": "int32", "repeat": 10**6}
    launch(bed).start(lambda rank: [{**step, "compute_s": 0.05 if rank == LATE else 0}])

    def told():
        found = doctor(bed, "--socket", bed.switch.socket)
        return named(found, f"rank {LATE} is late in every op", "tributary show stragglers 1",
                     "warning")

    bed.loop.wait(told, LIMIT_S, "the doctor names the late rank")
