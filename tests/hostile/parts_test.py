"""What attacks are made of: repaired checksums are right, and the same seed mutates the same way."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mutate  # noqa: E402  (needs the path above)
from scapy.all import IP, UDP, Ether, Raw  # noqa: E402
from scapy.contrib.roce import BTH  # noqa: E402

GOLDEN = sorted((Path(__file__).resolve().parents[1] / "golden/packets").glob("*.hex"))


def test_golden_packets_need_no_repair():
    assert len(GOLDEN) > 40
    for path in GOLDEN:
        frame = bytes.fromhex(path.read_text(encoding="ascii"))
        assert mutate.repair(frame) == mutate.repair(frame, lengths=True) == frame, path.name


def test_checksums_of_changed_packets_are_repaired():
    frame = bytearray.fromhex(GOLDEN[0].read_text(encoding="ascii"))
    frame[-1] ^= 0xFF  # the payload, which the UDP checksum covers
    frame[22] ^= 0x10  # TTL, which IPv4's covers
    repaired = Ether(mutate.repair(bytes(frame)))
    wanted = repaired.copy()
    del wanted[IP].chksum, wanted[UDP].chksum
    assert bytes(repaired) == bytes(Ether(bytes(wanted)))


def test_the_icrc_is_that_of_scapy():
    wanted = bytes(Ether(src="02:00:00:00:00:01", dst="02:74:0a:4d:00:fe") / IP(src="10.77.0.1", dst="10.77.0.254")
                   / UDP(sport=49152, dport=4791) / BTH(opcode=0x64, dqpn=0x800002, psn=5) / Raw(b"x" * 40))
    assert mutate.repair(wanted[:-4] + b"\0\0\0\0") == mutate.repair(wanted) == wanted


def test_the_same_seed_mutates_the_same_way():
    packet = bytes(range(200))
    first, again = ([mutate.mutate(made, packet, 20) for _ in range(500)] for made in (random.Random(7), random.Random(7)))
    assert first == again
    assert all(data[:20] == packet[:20] for data in first)
    assert sum(data != packet for data in first) > 450
