"""Traffic between kernel hosts: VLANs, jumbo frames, a job across VLANs, access control, neighbours."""

import json
import signal

import pytest
import yaml
from testbed.fabric import MTU, worker_address
from testbed.namespace import Namespace, add_veth
from testbed.switch import Job
from testbed.tree import PYTHON, TOP

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
    rows = [(r["vlan"], r["access"], r["addresses"]) for r in vlan_bed.switch.show("vlans")]
    assert rows == [(10, ["w0", "w2"], 2), (20, ["w1"], 1)]
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


def test_rules_change_while_jobs_and_others_run(make_bed, launch):
    """A reload: access control, storm control, VLANs; a job that runs notices nothing."""
    bed = make_bed("veth", 4, jobs=[Job(1, 2)])
    file = bed.run / "switchd.yaml"
    before = yaml.safe_load(file.read_text())

    def reload(**sections):
        file.write_text(yaml.safe_dump({**before, **sections}, sort_keys=False))
        return bed.switch.client("reload", "--socket", bed.switch.socket)

    workers = launch(bed).start([{**SMALL, "repeat": 100_000}], ports=(0, 1))
    for worker in workers:
        worker.wait_event("progress")
    assert ping(bed, 2, worker_address(3))
    rules = [{"name": "no-echo", "action": "deny", "port": "w2", "protocol": "icmp"}]
    assert "changed: acl" in reload(acl={"rules": rules})
    assert not ping(bed, 2, worker_address(3))
    hits = {row["rule"]: row["frames"] for row in bed.switch.show("acl")}
    assert hits["no-echo"] == 3
    ports = [dict(port) for port in before["ports"]]
    ports[2].update(vlan={"mode": "access", "id": 7}, storm={"broadcast": 1000})
    said = reload(ports=ports)
    assert "acl" in said and "ports[2].vlan" in said and "ports[2].storm" in said
    assert not ping(bed, 2, worker_address(3))
    assert [row["vlan"] for row in bed.switch.show("ports")][2] == "access 7"
    ports[3].update(vlan={"mode": "access", "id": 7})
    with pytest.raises(Exception, match="switch.slots: only a restart changes it"):
        reload(ports=ports, switch={**before["switch"], "slots": 128})
    assert not ping(bed, 2, worker_address(3))
    reload(ports=ports)
    assert ping(bed, 2, worker_address(3))
    assert {row["vlan"] for row in bed.switch.show("fdb") if row["port"] in ("w2", "w3")} == {7}
    assert "changed: " in reload()
    assert "nothing changed" in reload()
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        assert all(op["exact"] for op in worker.of("progress"))


def test_another_device_takes_a_port_while_jobs_run(make_bed, launch):
    """A reload: a host's cable is plugged into another interface; one that is not there is refused."""
    bed = make_bed("veth", 3, jobs=[Job(1, 2)])
    file = bed.run / "switchd.yaml"
    before = yaml.safe_load(file.read_text())

    def reload(interface, mtu):
        ports = [dict(port) for port in before["ports"]]
        ports[2].update(devargs=ports[2]["devargs"].replace("net_af_packet2,iface=w2", interface), mtu=mtu)
        file.write_text(yaml.safe_dump({**before, "ports": ports}, sort_keys=False))
        return bed.switch.client("reload", "--socket", bed.switch.socket)

    workers = launch(bed).start([{**SMALL, "repeat": 100_000}], ports=(0, 1))
    for worker in workers:
        worker.wait_event("progress")
    assert ping(bed, 0, worker_address(2))
    with Namespace() as other:
        add_veth(bed.fabric.switch_namespace, "second", other, "eth0", MTU)
        other.run(["ip", "addr", "add", "10.77.0.50/24", "dev", "eth0"])
        with pytest.raises(Exception, match="interface 'third': No such device"):
            reload("net_af_packet7,iface=third", MTU)
        # DPDK would take it for the one that is there, and close that.
        with pytest.raises(Exception, match="already used by ports.1..devargs"):
            reload("net_af_packet1,iface=second", MTU)
        assert ping(bed, 0, worker_address(2))
        assert "changed: ports[2].devargs" in reload("net_af_packet7,iface=second", 8500)
        assert ping(bed, 0, "10.77.0.50")
        assert not ping(bed, 0, "10.77.0.50", "-M", "do", "-s", "8600")
        assert not ping(bed, 0, worker_address(2))
        rows = {row["port"]: row for row in bed.switch.show("ports")}
        assert rows["w2"]["mtu"] == 8500 and rows["w2"]["link"] == "up"
        # The port's own: it is closed, and opened again.
        assert "changed: ports[2].devargs" in reload("net_af_packet7,iface=w2", MTU)
        assert ping(bed, 0, worker_address(2))
        assert "changed: ports[2].devargs" in reload("net_af_packet2,iface=w2", MTU)
    assert ping(bed, 0, worker_address(2))
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        assert all(op["exact"] for op in worker.of("progress"))


LLDP = {"lldp": {"enabled": True, "interval": "1s", "hold": 2}}
# A host that says who it is, and prints what it hears, as another implementation reads it.
HOST = """
import json
from scapy.all import Ether, sendp, sniff
from scapy.contrib.lldp import *

heard = sniff(iface="eth0", lfilter=lambda p: LLDPDU in p, count=1, timeout=60)[0]
sendp(Ether(dst="01:80:c2:00:00:0e", src="02:09:08:07:06:05", type=0x88CC)
      / LLDPDUChassisID(subtype=4, id="02:09:08:07:06:05") / LLDPDUPortID(subtype=5, id="eth0")
      / LLDPDUTimeToLive(ttl=60) / LLDPDUSystemName(system_name="a\\nhost")
      / LLDPDUEndOfLLDPDU(), iface="eth0", verbose=False)
print(json.dumps({"chassis": heard[LLDPDUChassisID].id, "port": heard[LLDPDUPortID].id.decode(),
                  "ttl": heard[LLDPDUTimeToLive].ttl, "to": heard.dst,
                  "name": heard[LLDPDUSystemName].system_name.decode(),
                  "bridge": heard[LLDPDUSystemCapabilities].mac_bridge_enabled,
                  "address": list(heard[LLDPDUManagementAddress].management_address)}))
"""


def test_a_host_and_the_switch_know_each_other(make_bed, loop):
    """scapy's LLDP at the other end of the cable."""
    bed = make_bed("veth", 2, sections={"forwarding": LLDP})
    host = bed.start("host", [PYTHON, "-c", HOST], rank=1)
    heard = json.loads(host.check_exit(90).text().splitlines()[-1])
    assert heard == {"chassis": "02:74:0a:4d:00:fe", "port": "w1", "ttl": 3, "to": "01:80:c2:00:00:0e",
                     "name": "testbed", "bridge": 1, "address": [10, 77, 0, 254]}
    loop.wait(lambda: bed.switch.show("lldp"), 10, "the switch has heard of the host")
    (row,) = bed.switch.show("lldp")
    assert (row["port"], row["chassis"], row["its_port"]) == ("w1", "02:09:08:07:06:05", "eth0")
    assert row["system"] == "a\\x0ahost"


def test_switches_know_which_ports_are_connected(make_tree, loop, tmp_path):
    topology = yaml.safe_load((TOP / "examples/two-level-5.yaml").read_text())
    for switch in topology["switches"]:
        switch["forwarding"] = LLDP
    file = tmp_path / "lldp.yaml"
    file.write_text(json.dumps(topology))
    bed = make_tree(file)

    def cables(switch):
        return {(row["port"], row["system"], row["its_port"]) for row in bed.show(switch, "lldp")}

    loop.wait(lambda: cables("root") == {("a", "A", "up"), ("b", "B", "up")}, 30, "the root knows both")
    loop.wait(lambda: cables("A") == {("up", "root", "a")}, 30, "A knows the root")
    # One says that it goes, the other cannot.
    bed.switches["B"].signal(signal.SIGTERM)
    bed.switches["A"].signal(signal.SIGKILL)
    loop.wait(lambda: not cables("root"), 30, "both are forgotten")


# A host that says it is another one: the same rank, child, MAC, IP and UDP port, the right epoch and
# checksums, and data that would fit; from its own port.
IMPOSTOR = """
import json, struct, sys
order = json.loads(sys.argv[1])
sys.path.insert(0, order["layer"])
from scapy.all import IP, UDP, Ether, sendp
from tributary_layer import Nonce, Tributary

common = dict(job=1, origin=0, child=0, fan_in=order["fan_in"])
said = [Tributary(type="join", extensions=[Nonce(nonce=n)], **common) for n in range(1, 1 + order["joins"])]
for seq in range(order["contributions"]):
    said.append(Tributary(type="contribution", epoch=order["epoch"], op=seq // 8, chunk=seq % 8, seq=seq,
                          slot=seq % 64, covered=1, dtype="int32", reduce_op="sum", **common)
                / struct.pack("<256i", *range(256)))
for kind in order["others"]:
    said.append(Tributary(type=kind, epoch=order["epoch"], **common))
sendp([Ether(src=order["mac"], dst="02:74:0a:4d:00:fe") / IP(src=order["ip"], dst="10.77.0.254")
       / UDP(sport=order["udp_port"], dport=47000) / one for one in said], iface="eth0", verbose=False)
"""
IMPOSTORS_PORT = "w2"


def mac_of(bed, rank):
    (link,) = json.loads(bed.fabric.namespace(rank).run(["ip", "-j", "link", "show", "dev", "eth0"]))
    return link["address"]


def impersonate(bed, joins, contributions=0, others=(), epoch=0, udp_port=47000):
    """Port 2's host sends as rank 0; returns how many packets it were."""
    order = {"layer": str(TOP / "tools/scapy"), "mac": mac_of(bed, 0), "ip": worker_address(0),
             "udp_port": udp_port, "fan_in": 2, "joins": joins, "contributions": contributions,
             "others": others, "epoch": epoch}
    bed.start(f"impostor-{joins}", [PYTHON, "-c", IMPOSTOR, json.dumps(order)], rank=2).check_exit(90)
    return joins + contributions + len(others)


def impostors_drops(bed):
    return {row["reason"]: row["packets"] for row in bed.switch.show("drops") if row["port"] == IMPOSTORS_PORT}


def member(bed, address):
    (row,) = [row for row in bed.switch.show("members") if (row["address"] or "").startswith(f"{address}:")]
    return row


@pytest.mark.parametrize("reason", ["sender-mismatch", "spoofed-mac"])
def test_a_second_host_that_poses_as_a_rank_is_not_heard(make_bed, launch, loop, gate, reason):
    """By its port; and where the first host's address is static, before anybody looks what it says."""
    bed = make_bed("veth", 3, jobs=[Job(1, 2)])
    file = bed.run / "switchd.yaml"
    if reason == "spoofed-mac":
        static = [{"mac": mac_of(bed, 0), "port": "w0"}]
        file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "forwarding": {"static_macs": static}}))
        assert "changed: forwarding.static_macs" in bed.switch.client("reload", "--socket", bed.switch.socket)
    workers = launch(bed).start([{**SMALL, "repeat": 100}, gate.step, SMALL], ports=(0, 1))
    workers[0].wait_event("progress")
    before = bed.switch.show("jobs")[0]
    first = member(bed, worker_address(0))
    sent = impersonate(bed, 20, 300, ["probe", "ack"], before["epoch"], int(first["address"].split(":")[1]))
    loop.wait(lambda: sum(impostors_drops(bed).values()) >= sent, 30, "all of it was dropped")
    assert impostors_drops(bed) == {reason: sent}
    gate.open()
    for worker in workers:
        worker.finish()
    after = bed.switch.show("jobs")[0]
    assert (after["epoch"], after["aborts"], after["last_abort"]) == (before["epoch"], 0, "none")


def test_a_host_that_is_first_takes_no_place_that_has_a_port(make_bed, launch, loop):
    """Nobody has joined yet: `members` says behind which port a rank is."""
    bed = make_bed("veth", 3, jobs=[Job(1, 2, (("members", [{"rank": 0, "port": "w0"}]),))])
    sent = impersonate(bed, 5)
    loop.wait(lambda: impostors_drops(bed).get("sender-mismatch") == sent, 30, "it is refused")
    for worker in launch(bed).start([SMALL], ports=(0, 1)):
        worker.finish()
    assert impostors_drops(bed) == {"sender-mismatch": sent}
    assert bed.switch.show("jobs")[0]["aborts"] == 0
