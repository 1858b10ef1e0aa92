"""Datagrams of telemetry reports as switches send them, with the trailer of docs/protocol/telemetry.md."""

import hmac
import struct

HONEST, LIAR = 99, 5  # node ids, both registered


def signed(report, sequence, key):
    covered = report + struct.pack(">BBHHHQ", 2, 11, 0, 0x5452, 1, sequence)
    return covered + hmac.digest(key, covered, "sha256")


def numbered(report, number, node):
    return struct.pack(">II", 2 << 28 | number & 0x3FFFFF, node) + report[8:]
