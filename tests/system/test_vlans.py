"""VLANs whose tags kernels write: a host and a machine with VLAN interfaces on trunks, hosts on access ports.

   ranks 0, 1: access to VLANs 10 and 20     rank 2: a trunk     rank 3: access to the trunk's native VLAN
"""

import copy

import pytest
from testbed.fabric import MTU, SWITCH_ADDRESS, Port, worker_address
from testbed.guest import Guest
from testbed.switch import Job
from testbed.vlan import add_vlan

FIRST, SECOND, TRUNK, NATIVE = range(4)
NATIVE_VLAN = 99
TRUNK_PORT = {"mode": "trunk", "allowed": [10, 20, 30], "native": NATIVE_VLAN}
PORTS = tuple({"vlan": vlan} for vlan in (
    {"mode": "access", "id": 10},
    {"mode": "access", "id": 20},
    TRUNK_PORT,
    {"mode": "access", "id": NATIVE_VLAN},
))
SMALL = {"do": "allreduce", "count": 50_000, "dtype": "int32", "repeat": 3}
LIMIT_S = 100


def host(vlan, number):
    """An address in the subnet that hosts of a VLAN use here."""
    return f"10.78.{vlan}.{number}"


def add_address(bed, rank, vlan):
    bed.fabric.namespace(rank).run(
        ["ip", "addr", "add", f"{host(vlan, rank + 1)}/24", "dev", "eth0"])


def ping(bed, rank, address, *options):
    """Whether answers come."""
    command = ["ping", "-c", "2", "-i", "0.2", "-W", "2", *options, address]
    name = f"ping-{rank}-{address}-{len(options)}"
    return bed.start(name, command, rank=rank).wait_exit(50) == 0


def whole(bytes_of_ip):
    """Options of a ping that fills an IP packet, which nobody may cut."""
    return "-M", "do", "-s", str(bytes_of_ip - 28)


@pytest.fixture
def trunk_bed(make_bed):
    bed = make_bed("veth", 4, jobs=[Job(1, 2)], port_options=PORTS)
    add_address(bed, FIRST, 10)
    add_address(bed, SECOND, 20)
    for vlan in (10, 20, 40):
        add_vlan(bed.fabric.namespace(TRUNK), "eth0", vlan, f"{host(vlan, TRUNK + 1)}/24", MTU)
    return bed


def test_a_host_is_in_several_vlans_through_one_port(trunk_bed):
    """The tag is beside the frame in both kernels; full-size frames are 4 bytes longer by it."""
    bed = trunk_bed
    for rank, vlan in ((FIRST, 10), (SECOND, 20)):
        assert ping(bed, TRUNK, host(vlan, rank + 1))
        assert ping(bed, rank, host(vlan, TRUNK + 1), *whole(MTU))
    assert ping(bed, TRUNK, worker_address(NATIVE), *whole(MTU))
    assert ping(bed, NATIVE, worker_address(TRUNK))
    places = {(row["port"], row["vlan"]) for row in bed.switch.show("fdb")}
    assert places == {("w0", 10), ("w1", 20), ("w2", 10), ("w2", 20), ("w2", NATIVE_VLAN),
                      ("w3", NATIVE_VLAN)}
    assert not [row for row in bed.switch.show("drops") if row["reason"] != "group-malformed"]


def test_vlans_of_a_trunk_do_not_meet(trunk_bed):
    bed = trunk_bed
    # Another's address, so that it asks for it; nobody of its own VLAN has it.
    add_address(bed, FIRST, 20)
    add_address(bed, NATIVE, 10)
    assert not ping(bed, FIRST, host(20, TRUNK + 1))
    assert not ping(bed, FIRST, host(20, SECOND + 1))
    assert not ping(bed, NATIVE, host(10, TRUNK + 1))
    # The trunk is not in VLAN 40.
    assert not ping(bed, TRUNK, host(40, 1))
    drops = {(row["port"], row["reason"]): row["packets"] for row in bed.switch.show("drops")}
    assert drops["w2", "vlan-denied"] >= 2
    assert {row["vlan"] for row in bed.switch.show("fdb")} <= {10, 20, NATIVE_VLAN}


def test_a_second_tag_passes_where_the_first_stays(make_bed):
    """And nowhere else: its sender would choose the VLAN."""
    trunks = [{"vlan": copy.deepcopy(TRUNK_PORT)} for _ in range(2)]
    bed = make_bed("veth", 3, port_options=(PORTS[FIRST], *trunks))
    for rank in (1, 2):
        namespace = bed.fabric.namespace(rank)
        add_vlan(namespace, "eth0", 10, f"{host(10, rank + 1)}/24", MTU)
        add_vlan(namespace, "vlan10", 5, f"{host(5, rank + 1)}/24", MTU - 4)
    assert ping(bed, 1, host(5, 3), *whole(MTU - 4))
    drops = {(row["port"], row["reason"]): row["packets"] for row in bed.switch.show("drops")}
    assert set(drops) == {("w0", "vlan-stacked")}, drops  # it was asked who has the address


def test_o1_a_rank_in_a_vlan_of_a_trunk_has_its_results_with_the_tag(trunk_bed, launch, gate):
    """O1: beside one that never sees a tag."""
    bed = trunk_bed
    trunk = bed.fabric.namespace(TRUNK)
    trunk.run(["ip", "route", "add", f"{SWITCH_ADDRESS}/32", "dev", "vlan10"])
    trunk.run(["ip", "route", "replace", "224.0.0.0/4", "dev", "vlan10"])
    workers = launch(bed).start([SMALL, gate.step], ports=(FIRST, TRUNK))
    for worker in workers:
        worker.wait_event("step")
    rows = {row["rank"]: (row["port"], row["vlan"]) for row in bed.switch.show("members")}
    assert rows == {0: ("w0", None), 1: ("w2", 10)}
    gate.open()
    for worker in workers:
        worker.finish()


MACHINE = """
for vlan in 10 20; do
  ip link add link eth0 name eth0.$vlan type vlan id $vlan
  ip link set eth0.$vlan up
  ip addr add 10.78.$vlan.77/24 dev eth0.$vlan
done
cat /proc/net/vlan/config
ping -c 2 -W 20 -s 8972 {first} && ping -c 2 -W 20 {second} && ping -c 2 -W 20 {native} && echo all there
sleep 1000
"""


def test_a_machine_with_the_kernels_own_vlan_interfaces(make_bed):
    """C1: module 8021q, on a trunk that is a vhost-user port."""
    def port(run):
        return [Port("vm", f"net_vhost0,iface={run / 'vm.sock'}")]

    hosts = (*PORTS[:2], PORTS[NATIVE])
    bed = make_bed("veth", 3, more_ports=port, port_options=(*hosts, {"vlan": TRUNK_PORT}))
    add_address(bed, FIRST, 10)
    add_address(bed, SECOND, 20)
    script = MACHINE.format(first=host(10, 1), second=host(20, 2), native=worker_address(2))
    with Guest(bed.loop, bed.run, "vm", bed.run / "vm.sock", "10.77.0.77", script,
               modules=("8021q",)) as machine:
        machine.process.wait_line("all there", LIMIT_S)
        assert ping(bed, FIRST, host(10, 77), *whole(MTU))
        assert ping(bed, SECOND, host(20, 77))
        add_address(bed, FIRST, 20)
        assert not ping(bed, FIRST, host(20, 77))
        places = {row["vlan"] for row in bed.switch.show("fdb") if row["port"] == "vm"}
        assert places == {10, 20, NATIVE_VLAN}
