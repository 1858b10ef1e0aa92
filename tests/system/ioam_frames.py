"""IPv6 packets with an IOAM trace to fill (RFC 9197, RFC 9486), on a raw socket.

    ioam_frames.py receive INTERFACE COUNT             "ready MAC"; then a line of JSON, the packets in hexadecimal
    ioam_frames.py send INTERFACE MAC NAMESPACE ...    a packet of each of these namespaces, with room for four nodes
"""

import json
import socket
import struct
import sys

ETH_P_IPV6 = 0x86DD
ETH_P_LOCAL = 0x88B5  # IEEE 802, for local experiments
SOURCE, DESTINATION = (socket.inet_pton(socket.AF_INET6, f"fd00::{host}") for host in (1, 2))
# Node, ports, seconds, fraction, delay, queue.
TYPE, WORDS, ROOM = 0xFA000000, 6, 4
HOP_LIMIT = 61


def packet(namespace):
    words = WORDS * ROOM
    trace = struct.pack(">HHI", namespace, WORDS << 11 | words, TYPE) + bytes(words * 4)
    options = b"\x01\x00" + struct.pack(">BBBB", 0x31, 2 + len(trace), 0, 0) + trace
    body = struct.pack("BB", 59, (len(options) + 2) // 8 - 1) + options
    return struct.pack(">IHBB", 6 << 28, len(body), 0, HOP_LIMIT) + SOURCE + DESTINATION + body


def hops(found):
    """(namespace, words left, of each hop newest first: its values) of a packet."""
    at = 40 + 2 + 2 + 4
    namespace, lengths = struct.unpack_from(">HH", found, at)
    left = lengths & 0x7F
    nodes = []
    for word in range(left, WORDS * ROOM, WORDS):
        node, ports, seconds, fraction, delay, queue = struct.unpack_from(">6I", found, at + 8 + word * 4)
        nodes.append({"node": node & 0xFFFFFF, "hop_limit": node >> 24, "ports": (ports >> 16, ports & 0xFFFF),
                      "time": seconds + fraction / 1e6, "delay_ns": delay, "queue": queue})
    return namespace, left, nodes


def main():
    do, interface, *rest = sys.argv[1:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IPV6)) as raw:
        raw.bind((interface, ETH_P_IPV6))
        own = raw.getsockname()[4]
        if do == "send":
            to = bytes.fromhex(rest[0].replace(":", ""))
            for namespace in rest[1:]:
                raw.send(to + own + struct.pack(">H", ETH_P_IPV6) + packet(int(namespace)))
            return
        # So that switches know the way to it.
        raw.send(b"\xff" * 6 + own + struct.pack(">H", ETH_P_LOCAL) + bytes(46))
        print("ready", own.hex(":"), flush=True)
        got = []
        while len(got) < int(rest[0]):
            frame = raw.recv(65536)
            if frame[22:38] == SOURCE:
                got.append(frame[14:].hex())
        print(json.dumps(got), flush=True)


if __name__ == "__main__":
    main()
