"""Multicast between kernels: members that ask by IGMP or MLD, and a querier that is the kernel's bridge.

   rank 0: sends     rank 1: comes and goes as a member     rank 2: no member     rank 3: the querier

With one packet loop, and with two: whoever receives a message, lcore 0 keeps what it says, and tells the other.
"""

import json
import os
import signal

import pytest
from testbed.tree import PYTHON

SENDER, MEMBER, OTHER, QUERIER = range(4)
GROUPS = {4: ("239.9.9.9", "01:00:5e:09:09:09"), 6: ("ff15::9:9", "33:33:00:09:00:09")}
SNOOPING = {"forwarding": {"snooping": {
    "enabled": True, "flood_unknown": False, "leave_delay": "300ms"}}}
LIMIT_S = 60
TRIES = 50
# Who is behind a port of which lcore: the sender's knows what it is told, or is told what others hear.
LCORES = {
    "one": None,
    "sender-on-1": {SENDER: 1, MEMBER: 0, OTHER: 0, QUERIER: 0},
    "sender-on-0": {SENDER: 0, MEMBER: 1, OTHER: 1, QUERIER: 1},
    "all-on-1": {SENDER: 1, MEMBER: 1, OTHER: 0, QUERIER: 1},
}

# Says what it sees on the cable, whoever it is for, and, a member, what its kernel gives to it.
# SIGUSR1 joins, SIGUSR2 leaves.
HOST = """
import json, select, signal, socket, struct, sys
group, v6 = sys.argv[1], ":" in sys.argv[1]
def say(**what):
    print(json.dumps(what), flush=True)
cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
cable.bind(("eth0", 0))
heard = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
heard.bind((group, 5000, 0, socket.if_nametoindex("eth0")) if v6 else (group, 5000))
member = socket.inet_pton(heard.family, group) + struct.pack(
    "@I" if v6 else "@4xI", socket.if_nametoindex("eth0"))
level = socket.IPPROTO_IPV6 if v6 else socket.IPPROTO_IP
join = socket.IPV6_JOIN_GROUP if v6 else socket.IP_ADD_MEMBERSHIP
leave = socket.IPV6_LEAVE_GROUP if v6 else socket.IP_DROP_MEMBERSHIP
signal.signal(signal.SIGUSR1, lambda *_: heard.setsockopt(level, join, member))
signal.signal(signal.SIGUSR2, lambda *_: heard.setsockopt(level, leave, member))
say(ready=True)
while True:
    for ready in select.select([cable, heard], [], [])[0]:
        data, sender = ready.recvfrom(2048)
        if ready is heard:
            say(data=data.decode())
        elif sender[2] != socket.PACKET_OUTGOING and b"group-" in data:
            say(seen=data[data.index(b"group-"):].decode())
        elif sender[2] != socket.PACKET_OUTGOING and b"mark-" in data:
            say(mark=data[data.index(b"mark-"):].decode())
"""
# Three datagrams to the group, and one to everybody, which comes behind them on every cable.
SEND = """
import socket, sys
group, turn = sys.argv[1:]
v6 = ":" in group
s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
s.setsockopt(*((socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 8) if v6
               else (socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)))
for i in range(3):
    s.sendto(f"group-{turn}-{i}".encode(), (group, 5000))
e = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
e.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
e.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
e.sendto(f"mark-{turn}".encode(), ("255.255.255.255", 5001))
"""


class Network:
    """Hosts that listen, and what has reached them."""

    def __init__(self, bed, family):
        self.bed = bed
        self.group, self.mac = GROUPS[family]
        self._turn = 0
        self.events = {rank: [] for rank in (MEMBER, OTHER, QUERIER)}
        self._hosts = {rank: self._start(rank) for rank in self.events}

    def _start(self, rank):
        def line(_process, text):
            if text.startswith("{"):
                self.events[rank].append(json.loads(text))

        host = self.bed.start(f"host{rank}", [PYTHON, "-c", HOST, self.group], rank, on_line=line)
        host.wait_line("ready", LIMIT_S)
        return host

    def member(self, number, ports):
        """Joins or leaves; waits until the switch knows."""
        self._hosts[MEMBER].signal(number)
        self.bed.loop.wait(lambda: self.rows().get(self.mac) == ports, LIMIT_S, f"the group is at {ports}")

    def rows(self):
        return {row["group"]: ",".join(row["ports"]) for row in self.bed.switch.show("groups")}

    def expect(self, ranks):
        """The group's frames come over the cables of these, all of them; at once where there is one packet loop."""
        tries = TRIES if self.bed.switch.show("handover") else 1
        seen = None
        for _ in range(tries):
            seen = self.send()
            if seen == {rank: 3 for rank in ranks}:
                return
        raise AssertionError(f"expected all at {ranks}, have {seen}")

    def send(self):
        """By rank, how many of the group's three frames came over its cable."""
        self._turn += 1
        command = [PYTHON, "-c", SEND, self.group, self._turn]
        self.bed.start(f"send{self._turn}", command, SENDER).check_exit(LIMIT_S)
        mark = {"mark": f"mark-{self._turn}"}
        self.bed.loop.wait(lambda: all(mark in events for events in self.events.values()), LIMIT_S,
                           "what was sent last has come")
        seen = {rank: sum(event in events for event in self._sent("seen")) for rank, events in self.events.items()}
        return {rank: count for rank, count in seen.items() if count}

    def wait_data(self):
        """The member's kernel took what was sent last for its own."""
        def there():
            return all(event in self.events[MEMBER] for event in self._sent("data"))

        self.bed.loop.wait(there, LIMIT_S, "the member has it")

    def _sent(self, kind):
        return [{kind: f"group-{self._turn}-{i}"} for i in range(3)]


def use_ipv6(namespace, link, number):
    """An address that is good at once: nobody is asked whether it is taken."""
    namespace.run(["sysctl", "-qw", f"net.ipv6.conf.{link}.addr_gen_mode=1"])
    namespace.run(["sysctl", "-qw", f"net.ipv6.conf.{link}.disable_ipv6=0"])
    namespace.run(["ip", "addr", "add", f"fe80::{number}/64", "dev", link, "nodad"])


def start_querier(namespace, family, version):
    """A bridge with one port: asks at once, and again in a second, then as usual."""
    kind = ["mcast_igmp_version" if family == 4 else "mcast_mld_version", str(version)]
    namespace.run(["ip", "link", "add", "name", "br0", "type", "bridge", "mcast_snooping", "1", *kind]
                  + ["mcast_querier", "1", "mcast_query_use_ifaddr", "1", "mcast_startup_query_interval", "100"])
    namespace.run(["ip", "link", "set", "dev", "eth0", "master", "br0"])
    if family == 4:
        namespace.run(["ip", "addr", "add", "10.77.0.99/24", "dev", "br0"])
    else:
        use_ipv6(namespace, "br0", 99)
    namespace.run(["ip", "link", "set", "dev", "br0", "up"])


def make_group_bed(make_bed, lcores):
    if lcores is None:
        return make_bed("veth", 4, sections=SNOOPING)
    cpus = sorted(os.sched_getaffinity(0))
    return make_bed("veth", 4, sections=SNOOPING, lcores=cpus[:2] if len(cpus) > 1 else [-1, -1],
                    port_options=[{"lcores": [lcores[rank]]} for rank in range(4)])


def group_messages(bed):
    """IGMP and MLD messages that went from lcore 1 to lcore 0; 0, too, where there is one."""
    return sum(row["groups"] for row in bed.switch.show("handover") if row["to"] == 0)


@pytest.mark.parametrize("lcores", LCORES)
@pytest.mark.parametrize("family,version", [(4, 2), (4, 3), (6, 1), (6, 2)])
def test_a_group_goes_to_members_and_routers(make_bed, family, version, lcores):
    """O1: IGMPv2, IGMPv3, MLDv1, MLDv2, as the kernel speaks them."""
    bed = make_group_bed(make_bed, LCORES[lcores])
    if family == 6:
        for rank in (SENDER, MEMBER, OTHER):
            use_ipv6(bed.fabric.namespace(rank), "eth0", rank + 1)
    network = Network(bed, family)
    # Nobody asks who wants what, and members would not repeat it: everything goes everywhere.
    network.expect({MEMBER, OTHER, QUERIER})
    start_querier(bed.fabric.namespace(QUERIER), family, version)
    bed.loop.wait(lambda: network.rows().get("routers") == "w3", LIMIT_S, "the switch knows the querier")
    network.expect({QUERIER})
    for _ in range(2):
        network.member(signal.SIGUSR1, "w1")
        network.expect({MEMBER, QUERIER})
        network.wait_data()
        network.member(signal.SIGUSR2, None)
        network.expect({QUERIER})
    hears = LCORES[lcores] is not None and 1 in (LCORES[lcores][MEMBER], LCORES[lcores][QUERIER])
    assert group_messages(bed) > 0 or not hears
    lost = {row["reason"] for row in bed.switch.show("drops")}
    assert not lost & {"group-malformed", "group-flood"}
