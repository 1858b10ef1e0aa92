"""IOAM traces that the product has filled (C5), judged by tshark, and byte for byte by the kernel as transit node."""
import contextlib
import ctypes
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools/lib"))
from testbed.namespace import Namespace, add_veth  # noqa: E402  (needs the path above)

TOOL = os.environ["TRIBUTARY_TELEMETRY_TOOL"]
# What telemetry_tool writes for its node.
NAMESPACE, NODE, WIDE_NODE, DATA, WIDE_DATA = 123, 0xABCDEF, 0x11223344556677, 5, 6
PORTS, WIDE_PORTS = (1, 2), (70001, 70002)
UNKNOWN = 0xFFFFFFFF
# Bits of the trace type (RFC 9197, section 4.4.1).
BIT = {name: 1 << 31 - number for number, name in enumerate(
    ["id", "ports", "seconds", "fraction", "delay", "data", "queue", "complement", "wide_id", "wide_ports", "wide_data",
     "buffer"])}
OPAQUE = 1 << 9
WIDE = BIT["wide_id"] | BIT["wide_ports"] | BIT["wide_data"]
ALL = sum(BIT.values())
TYPES = (BIT["id"], BIT["id"] | BIT["ports"] | BIT["data"], WIDE, ALL,
         BIT["id"] | BIT["delay"] | BIT["complement"] | BIT["buffer"] | BIT["wide_id"], BIT["ports"] | OPAQUE)
SOURCE, DESTINATION = (socket.inet_pton(socket.AF_INET6, f"fd00:{net}::2") for net in (1, 2))
HOP_LIMIT = 61
# IPv6, the header's first two bytes, the padding and the option's head.
TRACE_AT = 40 + 2 + 2 + 4


def node_words(kind):
    """Without the opaque snapshot."""
    return sum(2 if WIDE & bit else 1 for bit in BIT.values() if kind & bit)


def packet(kind, nodes, hop_limit=HOP_LIMIT):
    """As its source sends it (RFC 9486): IPv6 with room for the data of so many nodes."""
    words = (node_words(kind) + bool(kind & OPAQUE)) * nodes
    options = b"\x01\x00" + struct.pack(">BBBBHHI", 0x31, 2 + 8 + words * 4, 0, 0, NAMESPACE,
                                        node_words(kind) << 11 | words, kind)
    options += bytes(words * 4)
    if words % 2:
        options += b"\x01\x02\x00\x00"
    body = struct.pack("BB", 59, (len(options) + 2) // 8 - 1) + options
    return struct.pack(">IHBB", 6 << 28, len(body), 0, hop_limit) + SOURCE + DESTINATION + body


def filled(before):
    """(outcome, packet) of the product's transit node."""
    done = subprocess.run([TOOL, "ioam", before.hex()], capture_output=True, text=True, check=True, timeout=30)
    outcome, after = done.stdout.split()
    return outcome, bytes.fromhex(after)


def after_nodes(kind, nodes, room):
    found = packet(kind, room)
    for _ in range(nodes):
        outcome, found = filled(found)
        assert outcome == "filled"
    return found


def dissect(packets, fields, tmp_path):
    """A dictionary for each packet: the fields that tshark finds, each a list of numbers."""
    file = tmp_path / "packets.pcap"
    raw_ip = 101
    file.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, raw_ip) + b"".join(
        struct.pack("<IIII", 1, number, len(one), len(one)) + one for number, one in enumerate(packets)))
    command = ["tshark", "-r", file, "-T", "fields", "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=;"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [{field: text.split(";") for field, text in zip(fields, line.split("|")) if text}
            for line in done.stdout.splitlines()]


EXPECTED = {"hlim": (("id", "wide_id"), [HOP_LIMIT]), "id": (("id",), [NODE]), "iif": (("ports",), [PORTS[0]]),
            "eif": (("ports",), [PORTS[1]]), "tss": (("seconds",), [UNKNOWN]), "tsf": (("fraction",), [UNKNOWN]),
            "trdelay": (("delay",), [UNKNOWN]), "nsdata": (("data",), [DATA]), "qdepth": (("queue",), [UNKNOWN]),
            "csum": (("complement",), [UNKNOWN]), "id_wide": (("wide_id",), [WIDE_NODE]),
            "iif_wide": (("wide_ports",), [WIDE_PORTS[0]]), "eif_wide": (("wide_ports",), [WIDE_PORTS[1]]),
            "nsdata_wide": (("wide_data",), [WIDE_DATA]), "bufoccup": (("buffer",), [UNKNOWN])}
PROBLEMS = ["ipv6.opt.ioam.trace.invalid_nodelen", "ipv6.opt.ioam.trace.invalid_remlen",
            "ipv6.opt.ioam.trace.invalid_type", "_ws.malformed"]


@pytest.mark.parametrize("nodes", [1, 3])
def test_c5_tshark_reads_what_nodes_wrote(nodes, tmp_path):
    room = 3
    trace = "ipv6.opt.ioam.trace."
    fields = [trace + name for name in ("ns", "nodelen", "remlen", "flag.o")] + PROBLEMS
    fields += [f"{trace}node.{name}" for name in EXPECTED] + [trace + "node.oss.len", trace + "node.oss.scid"]
    shown = dissect([after_nodes(kind, nodes, room) for kind in TYPES], fields, tmp_path)
    assert len(shown) == len(TYPES)
    for kind, found in zip(TYPES, shown):
        numbers = {name: [int(text, 0) for text in found.get(name, [])] for name in fields}
        assert not any(numbers[name] for name in PROBLEMS), found
        words = node_words(kind) + bool(kind & OPAQUE)
        assert numbers[trace + "ns"] == [NAMESPACE]
        assert numbers[trace + "nodelen"] == [node_words(kind)]
        assert numbers[trace + "remlen"] == [words * (room - nodes)]
        assert numbers[trace + "flag.o"] == [0]
        for name, (bits, values) in EXPECTED.items():
            times = sum(bool(kind & BIT[bit]) for bit in bits)
            assert numbers[f"{trace}node.{name}"] == values * times * nodes, (hex(kind), name)
        assert numbers[trace + "node.oss.len"] == [0] * nodes * bool(kind & OPAQUE)
        assert numbers[trace + "node.oss.scid"] == [0xFFFFFF] * nodes * bool(kind & OPAQUE)


def test_c5_tshark_sees_the_overflow(tmp_path):
    outcome, full = filled(after_nodes(ALL, 1, 1))
    assert outcome == "full"
    (found,) = dissect([full], ["ipv6.opt.ioam.trace.flag.o", "ipv6.opt.ioam.trace.remlen", *PROBLEMS], tmp_path)
    assert found == {"ipv6.opt.ioam.trace.flag.o": ["1"], "ipv6.opt.ioam.trace.remlen": ["0"]}


@contextlib.contextmanager
def raw_socket(namespace, link):
    """Of this link, as seen in its namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        assert libc.setns(namespace.fd, 0) == 0
        try:
            found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86DD))
            found.bind((link, 0x86DD))
        finally:
            assert libc.setns(home, 0) == 0
    finally:
        os.close(home)
    with found:
        found.settimeout(30)
        yield found


def mac_of(namespace, link):
    words = namespace.run(["ip", "-o", "link", "show", link]).split()
    return words[words.index("link/ether") + 1]


def make_router(router, host):
    """Between fd00:1::/64 at a0 and fd00:2::/64 at b0; says of itself what telemetry_tool says of its node."""
    for name, net, port, wide in (("a", 1, PORTS[0], WIDE_PORTS[0]), ("b", 2, PORTS[1], WIDE_PORTS[1])):
        add_veth(router, f"{name}0", host, f"{name}1", 1500)
        for key, value in (("disable_ipv6", 0), ("forwarding", 1), ("ioam6_enabled", 1), ("ioam6_id", port),
                           ("ioam6_id_wide", wide)):
            router.run(["sysctl", "-qw", f"net.ipv6.conf.{name}0.{key}={value}"])
        router.run(["ip", "addr", "add", f"fd00:{net}::1/64", "dev", f"{name}0", "nodad"])
    router.run(["sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"])
    router.run(["sysctl", "-qw", f"net.ipv6.ioam6_id={NODE}"])
    router.run(["sysctl", "-qw", f"net.ipv6.ioam6_id_wide={WIDE_NODE}"])
    router.run(["ip", "ioam", "namespace", "add", str(NAMESPACE), "data", str(DATA), "wide", str(WIDE_DATA)])
    router.run(["ip", "-6", "neigh", "add", "fd00:2::2", "lladdr", mac_of(host, "b1"), "dev", "b0"])


def forwarded(one, sender, receiver, to):
    """The packet that the kernel has forwarded."""
    sender.send(bytes.fromhex(to.replace(":", "")) + bytes(5) + b"\x01\x86\xdd" + one)
    while True:
        frame = receiver.recv(2000)
        if frame[14 + 24:14 + 40] == DESTINATION:
            return frame[14:]


@pytest.mark.skipif(not os.path.exists("/proc/sys/net/ipv6/ioam6_id") or os.geteuid() != 0,
                    reason="the kernel is no IOAM node, or this is not root, which namespaces need")
def test_c5_a_transit_node_of_the_kernel_writes_the_same():
    # The kernel's clock and queue are its own.
    kinds = [kind for kind in TYPES if not kind & BIT["seconds"]]
    kinds += [ALL & ~(BIT["seconds"] | BIT["fraction"] | BIT["queue"])]
    with Namespace() as router, Namespace() as host:
        make_router(router, host)
        to = mac_of(router, "a0")
        with raw_socket(host, "a1") as sender, raw_socket(host, "b1") as receiver:
            for kind in kinds:
                theirs = forwarded(packet(kind, 3, HOP_LIMIT + 1), sender, receiver, to)
                outcome, ours = filled(packet(kind, 3))
                assert outcome == "filled"
                assert theirs.hex() == ours.hex(), hex(kind)
                again = forwarded(theirs[:7] + bytes([HOP_LIMIT + 1]) + theirs[8:], sender, receiver, to)
                assert again == filled(ours)[1], "the second node's data lie before the first one's"
                none_left = forwarded(packet(kind, 0, HOP_LIMIT + 1), sender, receiver, to)
                assert none_left == filled(packet(kind, 0))[1], "the overflow flag"
