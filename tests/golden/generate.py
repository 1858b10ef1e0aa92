#!/usr/bin/python3
"""Writes the golden packets with the Scapy layer: tests/golden/packets/NAME.json and NAME.hex.

Run it after a change of the protocol or of the list below, and commit what it writes;
golden_test.py fails while the files differ from what this would write.
"""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scapy_codec as codec  # noqa: E402
from tributary_layer import (COLLECTIVES, DTYPE_BYTES, DTYPES, FLAGS, PACKET_TYPES,  # noqa: E402
                             REDUCE_OPS)

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "packets")
SWITCH_IP, WORKER_IP, GROUP_IP = 0x0A4D00FE, 0x0A4D0001, 0xEFC30001
MAX32 = 0xFFFFFFFF


def value(table, name):
    return next(k for k, v in table.items() if v == name)


def flag(*names):
    return sum(1 << FLAGS.index(n) for n in names)


def packet(kind, extensions=(), payload=b"", dtype="none", vlan=None, udp_checksum=True, ce=False,
           to_group=False, port=47000, **fields):
    header = dict.fromkeys(codec.HEADER_FIELDS, 0)
    number = value(DTYPES, dtype)
    header.update(type=value(PACKET_TYPES, kind), job=1, epoch=7, dtype=number, reduce_op=1,
                  fan_in=4)
    size = DTYPE_BYTES[number]
    header["element_count"] = len(payload) // size if size else 0
    header.update(fields)
    return {
        "destination": "01005e430001" if to_group else "02740a4d00fe",
        "source": "020000000001", "vlan_tci": vlan,
        "source_ip": WORKER_IP, "destination_ip": GROUP_IP if to_group else SWITCH_IP,
        "source_port": 40001, "destination_port": port, "udp_checksum": udp_checksum,
        "congestion_experienced": ce, "header": header, "extension_list": list(extensions),
        "payload": payload.hex(),
    }


def floats(*values):
    return struct.pack("<%df" % len(values), *values)


def ints(*values):
    return struct.pack("<%di" % len(values), *values)


def raw(type_byte, inline, data):
    return ["raw", {"type_byte": type_byte, "inline": inline, "data": data.hex()}]


NONCE = ["nonce", {"nonce": 0x0123456789ABCDEF}]
CRC = ["crc32c", {}]
START = ["start_info", {"window": 64, "chunk_bytes": 1024, "workers": 4, "lease_ms": 10000,
                        "group_ipv4": GROUP_IP, "shards": 1, "integrity": 0,
                        "udp_base_port": 47000, "completion_host": 0, "host_term": 0,
                        "partials": 0, "order": 0, "arithmetic": 0, "notify": 0, "further_planes": 0}]
# The completion host notifies ranks itself, and its UDP port is in the header's slot.
START_DIRECT = ["start_info", {**START[1], "completion_host": 0x0A4D0063, "host_term": 3, "notify": 2}]
START_LARGEST = ["start_info", {"window": MAX32, "chunk_bytes": MAX32, "workers": MAX32,
                                "lease_ms": MAX32, "group_ipv4": MAX32, "shards": 255,
                                "integrity": 255, "udp_base_port": 65535,
                                "completion_host": MAX32, "host_term": MAX32,
                                "partials": 255, "order": 254, "arithmetic": 253,
                                "notify": 252, "further_planes": 65535}]
TASK = ["task_information", {"total_elements": 1 << 40, "workers": 4, "nodes": 2}]
RESULT_INFO = ["result_info", {"window": 128, "effective_from_seq": 0xFFFFFF00, "host_term": 3,
                               "seed_generation": 9}]
OP_ERROR = ["error", {
    "expected": {"total_elements": 1000, "rank": 0, "element_count": 256, "dtype": 10,
                 "reduce_op": 1, "collective": 0, "last": 0, "target": 65535, "scale_exponent": 0,
                 "encoding": 0},
    "got": {"total_elements": (1 << 64) - 1, "rank": MAX32, "element_count": 65535, "dtype": 3,
            "reduce_op": 11, "collective": 5, "last": 1, "target": 3, "scale_exponent": -200,
            "encoding": 1}}]


DRAIN = ["drain", {"step": 6, "id": 0xFEDCBA9876543210, "op": 42, "by": 7}]
NAME = ["name", {"text": "/job/1/run=7/layer1/grad/v=12/seg=0"}]
NAME_LONGEST = ["name", {"text": "/job/4294967295/run=7/" + 107 * "t" +
                         "/v=1/seg=16777215/worker=1023"}]
VALUE = ["value_info", {"digest": 0x44BC2CF5AD770999, "bytes": 3, "segments": 1,
                        "whole": 0x44BC2CF5AD770999, "lifetime_ms": 3600000}]
VALUE_LARGEST = ["value_info", {"digest": (1 << 64) - 1, "bytes": (1 << 64) - 1,
                                "segments": MAX32, "whole": (1 << 64) - 1,
                                "lifetime_ms": MAX32}]
OPEN = ["open_job", {"units": 2, "nodes": 3, "window": 64, "chunk_bytes": 1024}]
OPEN_LARGEST = ["open_job", {"units": 65535, "nodes": 65535, "window": 32768, "chunk_bytes": 65528}]
RUN = ["run_id", {"run_id": 0xFEDCBA9876543211}]
DRAIN_WISH = ["drain", {"step": 2, "id": 0, "op": 0, "by": MAX32}]
DRAIN_LEFT = ["drain", {"step": 7, "id": 0xFEDCBA9876543210, "op": 42, "by": 0}]
DRAIN_LARGEST = ["drain", {"step": 3, "id": (1 << 64) - 1, "op": MAX32, "by": MAX32}]


def missing(ids):
    return ["missing_ids", {"ids": list(ids)}]


GOLDEN = {
    # The exchange of docs/protocol.md, one packet of each line.
    "join": packet("join", [NONCE], epoch=0, origin=2, child=2),
    "join_open": packet("join", [NONCE, OPEN], epoch=0, origin=2, child=2, fan_in=6),
    "join_open_largest": packet("join", [NONCE, OPEN_LARGEST], epoch=0),
    "join_run": packet("join", [NONCE, RUN], epoch=0, origin=2, child=2),
    "pending_join": packet("pending", [NONCE, missing([1, 3])], epoch=0),
    "start": packet("start", [NONCE, START]),
    "start_resizable": packet("start", [NONCE, START], op=8, chunk=2),
    "start_direct": packet("start", [NONCE, START_DIRECT], slot=52001, origin=2, child=2),
    "contribution_float32": packet(
        "contribution", [TASK], floats(1.5, -2.25, 3.0e38, 0.0), "float32", op=3, seq=17, slot=17,
        origin=2, child=2, covered=1, flags=flag("last")),
    "contribution_resend": packet(
        "contribution", [], ints(1, -1), "int32", op=3, chunk=5, seq=22, slot=22, origin=1,
        child=1, covered=1, flags=flag("resend")),
    "contribution_reduce": packet(
        "contribution", [TASK, ["target_rank", {"rank": MAX32}]], ints(1, -1), "int32", op=4,
        origin=1, child=1, covered=1, collective=value(COLLECTIVES, "reduce"), flags=flag("last")),
    "result_group": packet("result", [], ints(2**31 - 1, -2**31), "int32", to_group=True, op=3,
                           chunk=5, seq=22, slot=22, covered=4),
    "probe": packet("probe", op=3, chunk=5, seq=22, origin=1, child=1),
    "pending_probe": packet("pending", [missing([0])], op=3, chunk=5, seq=22),
    "unknown": packet("unknown", op=3, chunk=5, seq=22),
    "ack": packet("ack", seq=23, origin=1, child=1),
    "lease": packet("lease", origin=1, child=1),
    "lease_drain_end": packet("lease", [DRAIN], to_group=True),
    "lease_drain_wanted_by_ranks": packet("lease", [DRAIN_WISH]),
    "leave_for_good": packet("leave", [DRAIN_LEFT], op=42),
    "lease_drain_ask": packet("lease", [DRAIN_LARGEST], to_group=True),
    "leave": packet("leave", origin=1, child=1),
    "nack_join": packet("nack", [NONCE], reason=21, epoch=0),
    # With this job there would be 17 jobs, and there may be 16; the job has two units and three nodes.
    "nack_open_refused": packet("nack", [NONCE], reason=25, epoch=0, origin=1, slot=201, op=17, chunk=16),
    "nack_other_task": packet("nack", [NONCE], reason=26, epoch=0, origin=0x20003, slot=201, op=64,
                              chunk=1024),
    # Rank 3 of another run waits.
    "nack_other_run": packet("nack", [NONCE], reason=27, epoch=0, origin=3, slot=0x0A4D000B, op=41234),
    "nack_taken": packet("nack", [NONCE], reason=20, epoch=0, slot=0x0A4D000B, op=41234),
    "abort_deadline": packet("abort", [missing([2])], to_group=True, reason=1, op=3, chunk=5,
                             seq=22),
    "abort_mismatch": packet("abort", [OP_ERROR], reason=35, op=3),
    "aggregate": packet(
        "aggregate", [raw(2, 2, struct.pack(">III", 32, 0xF0F0F0F0, 1)), RESULT_INFO],
        floats(0.5), "float32", flags=flag("partial", "complete-subtree"), covered=9),
    "escalation": packet(
        "escalation", [raw(7, 1, b"\0\0\0\5"), ["target_rank", {"rank": 1}], raw(4, 42, bytes(range(16)))],
        ints(7), "int32", reason=3, flags=flag("collision", "raw")),
    # Named data (docs/protocol/names.md).
    "put": packet("put", [NAME, VALUE], b"abc", "uint8", origin=2, child=2),
    "stored": packet("stored", [NAME, VALUE], epoch=0),
    "get": packet("get", [NAME_LONGEST], epoch=0, origin=1, child=1, job=MAX32),
    "data": packet("data", [NAME, VALUE, CRC], b"abc", "uint8", epoch=0),
    "data_largest_info": packet("data", [NAME_LONGEST, VALUE_LARGEST], b"", "uint8", epoch=0),
    "refuse": packet("refuse", [NAME], reason=53, slot=17, epoch=0),
    # Carriage.
    "vlan_tagged": packet("contribution", [], ints(1, 2, 3, 4), "int32", vlan=0x6064, covered=1),
    "vlan_largest_tci": packet("probe", vlan=0xFFFF),
    "congestion_experienced": packet("contribution", [], ints(5), "int32", ce=True),
    "shard_port": packet("contribution", [], ints(5), "int32", shard=15, port=47015),
    "crc32c_only": packet("contribution", [CRC], floats(1, 2, 3), "float32", udp_checksum=False),
    "crc32c_last_extension": packet("contribution", [TASK, CRC], ints(*range(64)), "int32",
                                    udp_checksum=False, vlan=5),
    "crc32c_and_checksum": packet("lease", [CRC]),
    # Boundaries.
    "barrier": packet("contribution", collective=value(COLLECTIVES, "barrier"), covered=1,
                      flags=flag("last")),
    "every_field_largest": packet(
        "leave", [], b"", "bool", flags=0x00FFFFFF, job=MAX32, epoch=65535, attempt=255,
        seed_generation=255, op=MAX32, chunk=MAX32, seq=MAX32, slot=MAX32, origin=MAX32,
        child=65535, fan_in=65535, covered=MAX32, reduce_op=max(REDUCE_OPS), scale_exponent=-1,
        collective=5, ttl=15, shard=255, plane=15, stream=15, reason=255),
    "every_field_smallest": packet("contribution", job=0, epoch=0, fan_in=0),
    "scale_exponent_lowest": packet("contribution", scale_exponent=-32768),
    "scale_exponent_highest": packet("contribution", scale_exponent=32767),
    "odd_payload": packet("contribution", [], b"\x01\x80\xff", "int8"),
    "largest_chunk": packet("contribution", [TASK], bytes(i * 7 & 255 for i in range(8192)),
                            "float64", reduce_op=4),
    "compressed": packet("contribution", [], b"\x01\x02\x03", "int32", encoding=2,
                         element_count=1000),
    "missing_most_ids": packet("pending", [NONCE, missing(range(1000, 1248)), CRC]),
    "missing_no_ids": packet("pending", [missing([])]),
    "start_largest": packet("start", [START_LARGEST]),
    "unknown_extension": packet("probe", [raw(0x7E, 65535, b"ignored!"), NONCE]),
}


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for name, description in GOLDEN.items():
        base = os.path.join(FOLDER, name)
        with open(base + ".json", "w", encoding="utf-8") as f:
            f.write(json_text(description))
        with open(base + ".hex", "w", encoding="ascii") as f:
            f.write(hex_text(codec.to_frame(description)))


def json_text(description):
    return json.dumps(description, indent=1) + "\n"


def hex_text(frame):
    digits = frame.hex()
    return "".join(digits[i:i + 64] + "\n" for i in range(0, len(digits), 64))


if __name__ == "__main__":
    main()
