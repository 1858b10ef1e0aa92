"""Scapy layer of the Tributary aggregation protocol, version 1.

Written from docs/protocol.md alone and sharing nothing with core/wire, so that the two check each
other (tests/golden). It serves to read captures and to craft packets; see README.md here.

    Ether/IP/UDP(dport=47000)/Tributary(type="probe", job=1, ...)
    Ether/IP/UDP(sport=49152, dport=4791)/BTH(opcode=0x64)/DETH(source_qp=17)/RocePadding/Tributary(...)

What is left at None is filled in at build time: extension lengths and padding, the element count,
the CRC32C.
"""
import struct

from scapy.contrib.roce import BTH
from scapy.fields import (BitEnumField, BitField, ByteEnumField, ByteField, Field, FieldLenField,
                          FieldListField, FlagsField, IPField, IntField, LongField, PacketListField,
                          ShortEnumField, ShortField, SignedShortField, StrFixedLenField,
                          StrLenField, XIntField, XLongField)
from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_layers

UDP_BASE_PORT = 47000
MAX_SHARDS = 16
HEADER_BYTES = 54
ROCE_LEAD_BYTES = 10

PACKET_TYPES = {
    1: "contribution", 2: "aggregate", 3: "result", 4: "escalation", 5: "probe", 6: "pending",
    7: "unknown", 8: "ack", 9: "nack", 10: "abort", 11: "join", 12: "start", 13: "lease",
    14: "leave", 15: "put", 16: "stored", 17: "get", 18: "data", 19: "refuse",
}
FLAGS = ["at-ps", "resend", "collision", "bypass", "partial", "verified", "overflow",
         "float-retry", "degraded", "raw", "modular", "params", "ce", "excluded",
         "complete-subtree", "last", "fragments"] + ["bit%d" % i for i in range(17, 32)]
DTYPES = {
    0: "none", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "uint8", 6: "uint32",
    7: "uint64", 8: "float16", 9: "bfloat16", 10: "float32", 11: "float64", 12: "bool",
}
DTYPE_BYTES = {0: 0, 1: 1, 2: 2, 3: 4, 4: 8, 5: 1, 6: 4, 7: 8, 8: 2, 9: 2, 10: 4, 11: 8, 12: 1}
REDUCE_OPS = {
    1: "sum", 2: "mean", 3: "prod", 4: "min", 5: "max", 6: "band", 7: "bor", 8: "bxor",
    9: "land", 10: "lor", 11: "lxor",
}
ENCODINGS = {0: "plain", 1: "block-scaled", 2: "compressed"}
COLLECTIVES = {0: "allreduce", 1: "reduce", 2: "broadcast", 3: "all_gather", 4: "reduce_scatter",
               5: "barrier", 6: "open", 7: "update"}
REASONS = {
    0: "none", 1: "deadline", 2: "excluded", 3: "collision", 4: "resend", 5: "overflow",
    6: "no-slot", 7: "verify", 16: "unknown-job", 17: "not-joined", 18: "stale-epoch",
    19: "bad-rank", 20: "sender-mismatch", 21: "job-size-mismatch", 22: "aborted",
    23: "settings-mismatch",
    24: "planes-mismatch", 25: "open-refused", 26: "other-task", 27: "other-run",
    32: "lease-expired", 33: "rank-left", 34: "rank-restarted", 35: "op-mismatch",
    36: "shutdown",
    37: "parent-lost", 38: "host-lost", 39: "model-lost", 40: "model-mismatch",
    41: "configuration-changed", 42: "broken-invariant", 48: "names-off", 49: "bad-name",
    50: "foreign-name", 51: "not-allowed", 52: "name-taken", 53: "name-unknown", 54: "names-full",
    55: "names-busy", 56: "value-too-large",
}
DRAIN_STEPS = {1: "able", 2: "wanted", 3: "ask", 4: "answer", 5: "refuse", 6: "end", 7: "resume"}
EXTENSION_TYPES = {
    0: "padding", 1: "missing-ids", 2: "rank-bitmap", 3: "task-information", 4: "authentication",
    5: "crc32c", 6: "result-info", 7: "degraded-list", 8: "error", 9: "target-rank", 10: "nonce",
    11: "start-info", 12: "drain", 13: "name", 14: "value-info", 15: "open-job",
    16: "run-id",
}


def crc32c(data, crc=0):
    """CRC-32C (Castagnoli, RFC 3720), a bit at a time: slow, and plainly right."""
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Extension(Packet):
    """Common part of all extensions: critical bit and type, length in words, an inline value."""

    # Type number, whether a writer marks it critical, name of the inline field.
    number, is_critical, inline_name = None, 0, "inline"

    def post_build(self, pkt, pay):
        pkt += b"\0" * (-len(pkt) % 4)
        if self.words is None:
            pkt = pkt[:1] + bytes([len(pkt) // 4]) + pkt[2:]
        return pkt + pay

    def extract_padding(self, s):
        return b"", s  # what follows belongs to the next extension


def head(number, critical, inline=None):
    """The four bytes every extension starts with."""
    return [BitField("critical", critical, 1), BitEnumField("ext", number, 7, EXTENSION_TYPES),
            ByteField("words", None), inline or ShortField("inline", 0)]


def rest_bytes(pkt):
    """Bytes of data after the four of the head, as the length byte tells."""
    return max(0, 4 * (pkt.words or 1) - 4)


class Padding(Extension):
    name = "Tributary padding"
    fields_desc = head(0, 0)


class MissingIds(Extension):
    name = "Tributary missing ids"
    fields_desc = head(1, 0, FieldLenField("count", None, fmt="H", count_of="ids")) + [
        FieldListField("ids", [], IntField("id", 0), length_from=rest_bytes)]


class RankBitmap(Extension):
    name = "Tributary rank bitmap"
    fields_desc = head(2, 0, FieldLenField("count", None, fmt="H", count_of="bits")) + [
        IntField("base", 0),
        FieldListField("bits", [], XIntField("word", 0), length_from=lambda p: rest_bytes(p) - 4)]


class TaskInformation(Extension):
    name = "Tributary task information"
    fields_desc = head(3, 0) + [
        LongField("total_elements", 0), IntField("workers", 0), IntField("nodes", 0)]


class OpaqueExtension(Extension):
    """An extension whose data has no layout in version 1, or that this version does not know."""

    name = "Tributary extension"
    fields_desc = head(0, 0) + [StrLenField("data", b"", length_from=rest_bytes)]


class Authentication(OpaqueExtension):
    name = "Tributary authentication"
    fields_desc = head(4, 0) + [StrLenField("data", b"", length_from=rest_bytes)]


class Crc32c(Extension):
    name = "Tributary CRC32C"
    fields_desc = head(5, 1) + [XIntField("crc", None)]


class ResultInfo(Extension):
    name = "Tributary result info"
    fields_desc = head(6, 1) + [
        IntField("window", 0), IntField("effective_from_seq", 0), IntField("host_term", 0),
        ByteField("seed_generation", 0), StrFixedLenField("reserved", b"\0" * 3, 3)]


class DegradedList(OpaqueExtension):
    name = "Tributary degraded list"
    fields_desc = head(7, 0) + [StrLenField("data", b"", length_from=rest_bytes)]


def op_description(prefix):
    """The fields in which the error extension describes one side."""
    return [LongField(prefix + "total_elements", 0), IntField(prefix + "rank", 0),
            ShortField(prefix + "element_count", 0), ByteEnumField(prefix + "dtype", 0, DTYPES),
            ByteEnumField(prefix + "reduce_op", 1, REDUCE_OPS),
            ByteEnumField(prefix + "collective", 0, COLLECTIVES), ByteField(prefix + "last", 0),
            ShortField(prefix + "target", 0xFFFF), SignedShortField(prefix + "scale_exponent", 0),
            ByteField(prefix + "encoding", 0), ByteField(prefix + "reserved", 0)]


class OpError(Extension):
    name = "Tributary error"
    fields_desc = head(8, 0) + op_description("expected_") + op_description("got_")


class TargetRank(Extension):
    name = "Tributary target rank"
    fields_desc = head(9, 0) + [IntField("rank", 0)]


class Nonce(Extension):
    name = "Tributary nonce"
    fields_desc = head(10, 1) + [XLongField("nonce", 0)]


class StartInfo(Extension):
    name = "Tributary start info"
    fields_desc = head(11, 1, ShortField("further_planes", 0)) + [
        IntField("window", 0), IntField("chunk_bytes", 0), IntField("workers", 0),
        IntField("lease_ms", 0), IPField("group_ipv4", "0.0.0.0"), ByteField("shards", 1),
        ByteField("integrity", 0), ShortField("udp_base_port", UDP_BASE_PORT),
        IntField("completion_host", 0), IntField("host_term", 0),
        ByteField("partials", 0), ByteField("order", 0), ByteField("arithmetic", 0),
        ByteField("notify", 0)]


class Drain(Extension):
    """Critical in every step but the first, by which a JOIN says that its sender can drain."""
    name = "Tributary drain"
    fields_desc = head(12, 1, ShortEnumField("step", 2, DRAIN_STEPS)) + [
        XLongField("id", 0), IntField("op", 0), IntField("by", 0)]


class Name(Extension):
    """The inline value is the text's length; zero bytes pad it to words."""
    name = "Tributary name"
    fields_desc = head(13, 1, FieldLenField("length", None, fmt="H", length_of="text")) + [
        StrLenField("text", b"", length_from=lambda p: min(p.length, rest_bytes(p))),
        StrLenField("pad", b"", length_from=lambda p: rest_bytes(p) - min(p.length, rest_bytes(p)))]


class ValueInfo(Extension):
    name = "Tributary value info"
    fields_desc = head(14, 1) + [XLongField("digest", 0), LongField("bytes", 0),
                                 IntField("segments", 0), XLongField("whole", 0),
                                 IntField("lifetime_ms", 0)]


class OpenJob(Extension):
    """Task information of a job that the switch learns from its ranks."""
    name = "Tributary open job"
    fields_desc = head(15, 0) + [ShortField("units", 1), ShortField("nodes", 1),
                                 ShortField("window", 64), ShortField("chunk_bytes", 1024)]


class RunId(Extension):
    """Equal on all ranks of one start of a program."""
    name = "Tributary run id"
    fields_desc = head(16, 0) + [XLongField("run_id", 0)]


EXTENSION_CLASSES = {
    0: Padding, 1: MissingIds, 2: RankBitmap, 3: TaskInformation, 4: Authentication, 5: Crc32c,
    6: ResultInfo, 7: DegradedList, 8: OpError, 9: TargetRank, 10: Nonce, 11: StartInfo,
    12: Drain, 13: Name, 14: ValueInfo, 15: OpenJob, 16: RunId,
}


def next_extension(pkt, lst, cur, remain):
    """Class of the extension that `remain` starts with; None ends the list."""
    if len(remain) < 4 or remain[1] == 0 or 4 * remain[1] > len(remain):
        return None
    known = EXTENSION_CLASSES.get(remain[0] & 0x7F, OpaqueExtension)

    def dissect(data, _internal=0, _underlayer=None):
        return known(data, _internal=_internal, _underlayer=_underlayer)

    return dissect


class Tributary(Packet):
    """Header v1: 54 bytes, then extensions; the payload is little-endian elements."""

    name = "Tributary"
    fields_desc = [
        ByteField("version", 1),
        ByteEnumField("type", 1, PACKET_TYPES),
        FlagsField("flags", 0, 32, FLAGS),
        IntField("job", 0),
        ShortField("epoch", 0),
        ByteField("attempt", 0),
        ByteField("seed_generation", 0),
        IntField("op", 0),
        IntField("chunk", 0),
        IntField("seq", 0),
        IntField("slot", 0),
        IntField("origin", 0),
        ShortField("child", 0),
        ShortField("fan_in", 0),
        IntField("covered", 0),
        ByteEnumField("dtype", 0, DTYPES),
        ByteEnumField("reduce_op", 1, REDUCE_OPS),
        ShortField("element_count", None),
        SignedShortField("scale_exponent", 0),
        ByteEnumField("encoding", 0, ENCODINGS),
        BitEnumField("collective", 0, 4, COLLECTIVES),
        BitField("ttl", 0, 4),
        ByteField("shard", 0),
        BitField("plane", 0, 4),
        BitField("stream", 0, 4),
        ByteEnumField("reason", 0, REASONS),
        ByteField("extension_words", None),
        PacketListField("extensions", [], next_cls_cb=next_extension,
                        length_from=lambda p: 4 * p.extension_words),
    ]

    def post_build(self, pkt, pay):
        pkt += bytes(Padding()) * (-(len(pkt) - HEADER_BYTES) % 8 // 4)
        if self.extension_words is None:
            pkt = pkt[:53] + bytes([(len(pkt) - HEADER_BYTES) // 4]) + pkt[54:]
        if self.element_count is None:
            size = DTYPE_BYTES.get(pkt[42], 0)
            pkt = pkt[:44] + struct.pack(">H", len(pay) // size if size else 0) + pkt[46:]
        return self._seal(pkt, pay) + pay

    def _seal(self, pkt, pay):
        """Fills the CRC32C left at None: over header, extensions (itself as 0) and payload."""
        at = HEADER_BYTES
        for extension in self.extensions:
            if isinstance(extension, Crc32c) and extension.crc is None:
                crc = crc32c(pkt[:at + 4] + b"\0" * 4 + pkt[at + 8:] + pay)
                pkt = pkt[:at + 4] + struct.pack(">I", crc) + pkt[at + 8:]
            at += len(bytes(extension))
        return pkt

    def crc_ok(self):
        """True, False, or None where the packet, as dissected, has no CRC32C extension."""
        raw = bytes(self.original) if self.original else bytes(self)
        at = HEADER_BYTES
        while at + 8 <= HEADER_BYTES + 4 * raw[53]:
            if raw[at] & 0x7F == 5:
                carried, = struct.unpack_from(">I", raw, at + 4)
                return carried == crc32c(raw[:at + 4] + b"\0" * 4 + raw[at + 8:])
            at += 4 * max(1, raw[at + 1])
        return None


class RocePadding(Packet):
    """The zero bytes that lead a RoCEv2 payload, so that 64 bytes precede the elements."""

    name = "Tributary in RoCEv2"
    fields_desc = [StrFixedLenField("zero", b"\0" * ROCE_LEAD_BYTES, ROCE_LEAD_BYTES)]


class DETH(Packet):
    """Datagram extended transport header, of SENDs on UD queue pairs; Scapy has none."""

    name = "DETH"
    fields_desc = [XIntField("q_key", 0x01234567), ByteField("reserved", 0), BitField("source_qp", 0, 24)]


def bind_ports(base=UDP_BASE_PORT, shards=MAX_SHARDS):
    """Decode UDP ports base … base+shards−1, in either direction, as Tributary."""
    for port in range(base, base + shards):
        bind_layers(UDP, Tributary, dport=port)
        bind_layers(UDP, Tributary, sport=port)


bind_ports()
# SEND_ONLY of the reliable and the unreliable connected transports.
bind_layers(BTH, RocePadding, opcode=0x04)
bind_layers(BTH, RocePadding, opcode=0x24)
# SEND_ONLY of UD, which switches take.
bind_layers(BTH, DETH, opcode=0x64)
bind_layers(DETH, RocePadding)
bind_layers(RocePadding, Tributary)
