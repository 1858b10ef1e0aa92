"""Seeds of packet_loop.cc with ranks on RC and UC queue pairs; make_seeds.py writes them."""
import struct

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw


def connected_queue_pairs(loop_of, write):
    """Ranks on RC and UC: set-up, WRITEs, answers, gaps, and what is wrong with each."""
    job = 2  # of one worker: it gets its results at once

    def roce(opcode, qpn, psn, rest, flags=0x40, port=0xC001):
        head = bytes([opcode, flags]) + b"\xff\xff\0" + qpn.to_bytes(3, "big") + b"\x80" + psn.to_bytes(3, "big")
        return (Ether(src="02:00:00:00:01:00", dst="02:74:0a:4d:00:fe") / IP(src="10.77.0.1", dst="10.77.0.254")
                / UDP(sport=port, dport=4791, chksum=0) / Raw(head + rest + bytes(4)))

    def cm(attribute, transport=0):
        mad = bytearray(256)
        mad[0:4], mad[8:18] = bytes([1, 7, 2, 3]), bytes(range(1, 9)) + struct.pack(">H", attribute)
        mad[24:28] = b"\x0a\x0b\x0c\x0d"
        if attribute == 0x10:
            mad[32:40] = struct.pack(">Q", (0x13F0000 if transport else 0x1060000) | 47000)
            mad[56:60], mad[64:68] = struct.pack(">I", 0x11 << 8), struct.pack(">I", transport << 1)
            mad[68:76] = struct.pack(">II", 0xFFFFFE00, 0xFFFF1000)
            mad[165] = 0x40
            mad[200:232] = b"TRB2" + struct.pack(">IIQIIBBH", job, 0, 0x7F0000001000, 0x99, 128, 3, 1, 2)
        return roce(0x64, 1, 0, struct.pack(">II", 0x80010000, 1) + bytes(mad), flags=0)

    for transport, name in enumerate(("rc", "uc")):
        bits = transport << 5

        def write_packet(operation, psn, place, size, length=None, at=0):
            reth = struct.pack(">QII", place, 0, size if length is None else length) if operation in (6, 10, 11) else b""
            return roce(bits | operation, at, psn, reth + bytes([psn & 255]) * size)

        def answer(syndrome, psn):
            return roce(0x11, 0, psn, struct.pack(">I", syndrome << 24 | 1))

        behind = 0xFFFFFF
        frames = [cm(0x10, transport), cm(0x14)]
        whole = [write_packet(10, 0, 0, 64), write_packet(10, 0, 64, 64), answer(0x1F, 0), answer(0x1F, 1),
                 write_packet(6, 0, 128, 64, 128), write_packet(8, 0, 0, 64), answer(0x1F, 1)]
        bent = [write_packet(10, 1, 0, 64), write_packet(10, 0, 0, 64), write_packet(10, behind, 0, 64),
                write_packet(7, 2, 0, 64), answer(0x60, 0), answer(0x20 | 14, 0), write_packet(11, 0, 64, 64),
                write_packet(10, 0, 0, 0)]
        wrong = [write_packet(10, 0, 256, 64), write_packet(10, 0, 3, 64), write_packet(10, 0, 0, 64, 1 << 20),
                 write_packet(4, 0, 0, 64), write_packet(8, 0, 0, 4), roce(bits | 0x0C, 0, 0, bytes(16)),
                 roce(bits | 0x13, 0, 0, bytes(28)), answer(0x61, 0)]
        for case, steps in (("whole", whole), ("bent", bent), *((f"wrong{i}", [w]) for i, w in enumerate(wrong))):
            for start in (32, 32 | 16 | 1):
                loop = loop_of(start)
                for frame in frames:
                    loop.arrive(frame, right=4 | 8)
                loop.then(5, 1)
                for frame in steps:
                    loop.arrive(frame, right=4 | 8)
                loop.then(5, 1).arrive(cm(0x15), right=4 | 8).then(5, 3)
                write("packet_loop", f"{name}-{case}-{start}", loop.data)
