"""INT-MD v2.1 and telemetry report v2.0 as Scapy layers, written from the specifications alone."""
from scapy.all import BitField, ByteField, IntField, LongField, Packet, ShortField


class Shim(Packet):
    name = "INT shim"
    fields_desc = [BitField("type", 1, 4), BitField("npt", 0, 2), BitField("reserved", 0, 2),
                   ByteField("length", 3), ShortField("carried", 0)]

    def extract_padding(self, s):
        return s, b""


class Header(Packet):
    name = "INT-MD"
    fields_desc = [BitField("version", 2, 4), BitField("D", 0, 1), BitField("E", 0, 1), BitField("M", 0, 1),
                   BitField("reserved", 0, 12), BitField("hop_ml", 0, 5), ByteField("remaining", 0),
                   ShortField("bitmap", 0), ShortField("domain", 0), ShortField("ds_bitmap", 0),
                   ShortField("ds_flags", 0)]


class Hop(Packet):
    """One node's metadata where the bitmap is 0xff80; without the node id in a report."""
    name = "hop"
    fields_desc = [IntField("node", 0), ShortField("ingress", 0), ShortField("egress", 0),
                   IntField("latency", 0), ByteField("queue", 0), BitField("occupancy", 0, 24),
                   LongField("ingress_time", 0), LongField("egress_time", 0), IntField("ingress_wide", 0),
                   IntField("egress_wide", 0), IntField("utilisation", 0), ByteField("buffer_id", 0),
                   BitField("buffer_occupancy", 0, 24)]

    def extract_padding(self, s):
        return b"", s


class Group(Packet):
    name = "report group"
    fields_desc = [BitField("version", 2, 4), BitField("hw_id", 0, 6), BitField("sequence", 0, 22),
                   IntField("node", 0)]


class Report(Packet):
    name = "report"
    fields_desc = [BitField("rep_type", 0, 4), BitField("in_type", 0, 4), ByteField("length", 0),
                   ByteField("md_length", 0), BitField("D", 0, 1), BitField("Q", 0, 1), BitField("F", 0, 1),
                   BitField("I", 0, 1), BitField("reserved", 0, 4), ShortField("bitmap", 0),
                   ShortField("domain", 0), ShortField("ds_bitmap", 0), ShortField("ds_status", 0)]


def stack(udp_payload):
    """(shim, header, hops newest first, what follows) of bytes behind UDP."""
    shim, rest = Shim(udp_payload[:4]), udp_payload[4:]
    area, rest = rest[:shim.length * 4], rest[shim.length * 4:]
    assert len(area) == shim.length * 4
    header, words = Header(area[:12]), area[12:]
    size = header.hop_ml * 4
    assert len(words) % size == 0
    return shim, header, [Hop(words[i:i + size]) for i in range(0, len(words), size)], rest
