"""Frames and reports of the product, decoded by Scapy from the specifications alone (C5, C6)."""
import os
import subprocess
import sys
from pathlib import Path

from scapy.all import IP, UDP, Ether, IPv6

sys.path.insert(0, str(Path(__file__).parent))
import decoder  # noqa: E402  (needs the path above)

LINES = [line.split() for line in subprocess.run(
    [os.environ["TRIBUTARY_TELEMETRY_TOOL"]], check=True, capture_output=True, text=True).stdout.splitlines()]


def rows(kind):
    return [(*map(int, row[1:5]), *map(bytes.fromhex, row[5:])) for row in LINES if row[0] == kind]


def check_hop(hop, node, named=True):
    if named:
        assert hop.node == node
    assert (hop.ingress, hop.egress, hop.latency) == (node * 2, node * 2 + 1, node * 1000)
    assert (hop.queue, hop.occupancy, hop.utilisation) == (node, node * 100, node * 10000)
    assert (hop.ingress_time, hop.egress_time) == (node << 40, (node << 40) + node * 1000)
    assert (hop.ingress_wide, hop.egress_wide, hop.buffer_occupancy) == (node + 70000, node + 80000, node)


def check_stack(payload, hops, by_dscp):
    shim, header, found, rest = decoder.stack(payload)
    assert (shim.type, shim.npt, shim.reserved) == (1, 0 if by_dscp else 1, 0)
    assert shim.carried == (10 << 2 if by_dscp else 9000)
    assert (header.version, header.D, header.E, header.M, header.reserved) == (2, 0, 0, 0, 0)
    assert (header.hop_ml, header.remaining, header.bitmap) == (12, 8 - hops, 0xFF80)
    assert len(found) == hops
    for at, hop in enumerate(found):
        check_hop(hop, hops - at)
    return rest


def test_every_form_is_there():
    assert len(rows("frame")) == len(rows("report")) == 2 * 3 * 8 * 2


def test_frames():
    for ipv6, tags, hops, by_dscp, before, frame, after in rows("frame"):
        assert after == before
        layers = Ether(frame)
        ip = layers[IPv6 if ipv6 else IP]
        assert (ip.tc if ipv6 else ip.tos) >> 2 == (0x17 if by_dscp else 10)
        assert ip[UDP].dport == (9000 if by_dscp else 5000)
        rest = check_stack(bytes(ip[UDP].payload), hops, by_dscp)
        assert rest == bytes(Ether(before)[UDP].payload)
        assert frame[:14 + 4 * tags] == before[:14 + 4 * tags]
        # Scapy computes lengths and checksums anew where they are absent.
        again = layers.copy()
        for layer, fields in ((IPv6 if ipv6 else IP, ("plen",) if ipv6 else ("len", "chksum")), (UDP, ("len", "chksum"))):
            for field in fields:
                delattr(again[layer], field)
        assert bytes(again) == frame


def test_reports():
    for ipv6, _, hops, by_dscp, datagram in rows("report"):
        group, rest = decoder.Group(datagram[:8]), datagram[8:]
        assert (group.version, group.hw_id, group.sequence, group.node) == (2, 5, 77, 99)
        report, rest = decoder.Report(rest[:12]), rest[12:]
        assert (report.rep_type, report.in_type) == (1, 5 if ipv6 else 4)
        assert (report.D, report.Q, report.F, report.I, report.reserved) == (0, 0, 1, 0, 0)
        assert (report.bitmap, report.md_length) == (0x7F80, 11)
        assert report.length * 4 == len(rest) + 8
        check_hop(decoder.Hop(bytes(4) + rest[:44]), 99, named=False)
        packet = (IPv6 if ipv6 else IP)(rest[44:])
        payload = bytes(packet[UDP].payload)[:packet[UDP].len - 8]
        assert len(check_stack(payload, hops, by_dscp)) == 33
