"""Frames for a switch: golden packets and the fuzz corpora's, made current, then mutated.

Half of the mutated ones have their checksums and lengths made right, so that they get further than these.
"""

import struct
from pathlib import Path

from attack import Attack
from mutate import mutate, repair, udp_frame

_TESTS = Path(__file__).resolve().parents[1]
_CORPORA = ("arp", "classify", "groups", "lldp", "frame", "fragments", "engine", "packet_loop")
_AGGREGATION, _INT, _ROCE = 47000, 5000, 4791
_HEAD = 42  # of Ethernet, IPv4 and UDP
_MOST_FRAME = 9000
_WORKERS = 3
# Of job 2, whose ranks are these attacks alone: they join, take part, and leave.
_JOIN, _CONTRIBUTION, _LEAVE = "join", "contribution_float32", "leave"


class Frames:
    """All frames to start from, by kind. `rank`: of job 2, that this one takes part as."""

    epochs = {1: 1, 2: 1}  # by job, as the switch's operator sees them

    def __init__(self, rank):
        self._rank = rank
        self.golden = {path.stem: bytes.fromhex(path.read_text(encoding="ascii"))
                       for path in sorted((_TESTS / "golden/packets").glob("*.hex"))}
        self.corpus = [path.read_bytes() for name in _CORPORA
                       for path in sorted((_TESTS / "fuzz/corpus" / name).glob("*"))]
        self.roce = [path.read_bytes() for path in sorted((_TESTS / "fuzz/corpus/roce").glob("*"))]

    def draw(self, random):
        """(kind, frame)"""
        kind = random.choice(("golden", "golden", "golden", "rank", "rank", "int", "roce", "corpus", "garbage"))
        if kind == "rank":
            return kind, self._of_rank(random)
        if kind == "golden":
            frame = self._current(random, random.choice([*self.golden.values()]))
            first = random.choice((0, 14, _HEAD, _HEAD + 54))
        elif kind == "int":
            frame, first = self._with_telemetry(random), _HEAD
        elif kind == "roce":
            frame, first = udp_frame(self._to_queue_pair(random), port=_ROCE), _HEAD
        elif kind == "corpus":
            frame, first = random.choice(self.corpus), 0
        else:
            return kind, random.randbytes(random.randrange(1, 200))
        frame = mutate(random, frame, min(first, len(frame)))[:_MOST_FRAME]
        if random.random() < 0.5:
            frame = repair(frame, lengths=random.random() < 0.7)
        return kind, frame

    def _of_rank(self, random):
        """A valid step of a rank of job 2, or nearly."""
        name = random.choice((_JOIN, _JOIN, _CONTRIBUTION, _CONTRIBUTION, "lease", "probe", "barrier", "ack", _LEAVE))
        frame = bytearray(self.golden[name])
        rank = self._rank if random.random() < 0.95 else random.randrange(_WORKERS)
        struct.pack_into(">I", frame, _HEAD + 6, 2)
        struct.pack_into(">H", frame, _HEAD + 10, 0 if name == _JOIN else self.epochs[2])
        seq = random.randrange(4)
        struct.pack_into(">IIII", frame, _HEAD + 14, seq, 0, seq, seq)
        struct.pack_into(">IHH", frame, _HEAD + 30, rank, rank, _WORKERS)
        frame[29] = 101 + rank  # the last byte of its address
        if name == _JOIN and random.random() < 0.1:
            frame[-12:-4] = random.randbytes(8)  # another nonce: the rank was started again
        return repair(bytes(frame))

    def _current(self, random, frame):
        """Job and epoch such as there are."""
        frame = bytearray(frame)
        at = frame.find(b"\x01", 38, 50)
        if at == _HEAD:
            job = random.choice((1, 1, 2, 2, 3, 0))
            struct.pack_into(">I", frame, at + 6, job)
            epoch = self.epochs.get(job, 1)
            struct.pack_into(">H", frame, at + 10, random.choice((epoch, epoch, epoch, 0, epoch + 1)) & 0xFFFF)
        return bytes(frame)

    def _to_queue_pair(self, random):
        packet = bytearray(random.choice(self.roce))
        number = random.choice((0x800002, 0x800002, 0x800001, 1, 0x000011, None))
        if number is not None and len(packet) >= 8:
            packet[5:8] = number.to_bytes(3, "big")
        return bytes(packet)

    def _with_telemetry(self, random):
        inner = random.choice([*self.golden.values()])[_HEAD:]
        hops = random.randrange(10)
        words = random.choice((3, 8, 12))
        header = struct.pack(">BBBBHHHH", 0x20 | random.choice((0, 1, 2, 4)), 0, words, random.randrange(9),
                             random.choice((0xFF80, 0xFF81, 0x8000, random.randrange(65536))), 0, 0, 0)
        area = header + random.randbytes(hops * words * 4)
        return udp_frame(struct.pack(">BBH", 0x10, len(area) // 4 & 0xFF, _AGGREGATION) + area + inner, port=_INT)


def frame_attack(name, seed, rate, frames, out):
    def turn(attack):
        kind, frame = frames.draw(attack.random)
        attack.note(kind, frame)
        out.send(frame)
        return kind

    return Attack(name, seed, rate, turn, out.close)
