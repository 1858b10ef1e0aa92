"""A hostile memif client: handshakes that lie, rings that jump, descriptors to nowhere, and sudden ends."""

import fcntl
import mmap
import os
import socket
import struct

from attack import Attack
from mutate import mutate

_ACK, _HELLO, _INIT, _REGION, _RING, _CONNECT, _CONNECTED, _DISCONNECT, _SHARE = (1, 2, 3, 4, 5, 6, 7, 8, 100)
_MESSAGE = 128
_COOKIE = 0x3E31F20
_RING_BYTES, _LOG2, _BUFFERS = 0x1000, 5, 0x4000
_MEMORY = 0x40000
_F_ADD_SEALS, _F_SEAL_SHRINK = 1033, 2
_HEADS, _TAIL, _FLAGS = 6, 64, 4
_NAMES = (b"tributary unchecked", b"tributary", b"DPDK 22.11.11", b"", b"x" * 32)
_NUMBERS = (0, 1, 31, 32, 33, 255, 0x3FFF, 0x4000, 0x7FFF, 0x8000, 0xFFC0, 0xFFFF)
_WIDE = (0, 1, 64, 0x3FFFF, 0x40000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFC0, 0xFFFFFFFF)


def _message(kind, body=b""):
    return struct.pack("<H", kind) + body.ljust(_MESSAGE - 2, b"\0")


class _Client:
    """One connection, and the memory that goes with it."""

    def __init__(self, attack, path, ids):
        self._random = random = attack.random
        self._attack = attack
        self.files = []
        self.memory = None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.files.append(self.socket)
        try:
            self.socket.settimeout(1)
            self.socket.connect(os.fspath(path))
            self._make_memory()
            self._honest = random.random() < 0.6
            self._shake_hands(random.choice(ids))
        except BaseException:
            self.close()
            raise

    def _make_memory(self):
        self._fd = os.memfd_create("hostile", os.MFD_ALLOW_SEALING)
        self.files.append(_Descriptor(self._fd))
        os.ftruncate(self._fd, _MEMORY)
        if self._random.random() < 0.95:
            fcntl.fcntl(self._fd, _F_ADD_SEALS, _F_SEAL_SHRINK)
        self.memory = mmap.mmap(self._fd, _MEMORY)
        for ring in range(4):
            struct.pack_into("<IHH", self.memory, ring * _RING_BYTES, _COOKIE, 0, 0)
        self._event = os.eventfd(0, os.EFD_NONBLOCK)
        self.files.append(_Descriptor(self._event))

    def _shake_hands(self, port):
        random = self._random
        self.socket.recv(_MESSAGE)
        steps = [(_INIT, struct.pack("<HIB24s32s", 0x200, port, 0, b"", random.choice(_NAMES)), None),
                 (_REGION, struct.pack("<HQ", 0, _MEMORY), self._fd)]
        for flags, ring in ((1, 0), (0, 1)):
            steps.append((_RING, struct.pack("<HHHIBH", flags, 0, 0, ring * _RING_BYTES, _LOG2, 0), self._event))
        steps.append((_CONNECT, b"hostile", None))
        for kind, body, passed in steps:
            self._say(kind, body, passed)
            if kind != _CONNECT or self._honest:
                self.socket.recv(_MESSAGE)

    def _say(self, kind, body, passed):
        random = self._random
        message = _message(kind, body)
        if not self._honest and random.random() < 0.3:
            if random.random() < 0.5:
                message = mutate(random, message, random.choice((0, 2)))[:random.choice((_MESSAGE, _MESSAGE, 300))]
            else:
                at = random.randrange(2, 20)
                number = struct.pack("<I", random.choice(_WIDE))
                message = message[:at] + number + message[at + 4:]
            passed = random.choice((passed, passed, None, self._fd, self._event, self.socket.fileno()))
        self._attack.note("memif", message[:40])
        descriptors = [] if passed is None else [passed] * random.choice((1, 1, 1, 1 if self._honest else 5))
        socket.send_fds(self.socket, [message], descriptors)

    def turn(self, frames):
        """Something that a client may do, or must not; its name."""
        random = self._random
        kind = random.choice(("frames", "frames", "frames", "descriptor", "ring", "take", "event", "message"))
        if kind == "frames":
            for _ in range(random.randrange(1, 40)):
                self._send(frames.draw(random)[1][:2048])
        elif kind == "descriptor":
            ring = random.randrange(2)
            at = ring * _RING_BYTES + 128 + 16 * random.randrange(1 << _LOG2)
            struct.pack_into("<HHIII", self.memory, at, random.choice((0, 0, 1, 0xFFFF)), random.choice((0, 0, 1, 0xFFFF)),
                             random.choice(_WIDE), random.choice(_WIDE), random.choice(_WIDE))
            self._move(ring, random.randrange(1, 4))
        elif kind == "ring":
            at = random.randrange(2) * _RING_BYTES + random.choice((0, _FLAGS, _HEADS, _HEADS, _TAIL))
            struct.pack_into("<H", self.memory, at, random.choice(_NUMBERS))
            struct.pack_into("<I", self.memory, (at // _RING_BYTES) * _RING_BYTES, _COOKIE)
        elif kind == "take":  # empty buffers for the switch's frames
            for index in range(1 << _LOG2):
                struct.pack_into("<HHIII", self.memory, _RING_BYTES + 128 + 16 * index, 0, 0, 2048,
                                 _BUFFERS + index * 2048 + 0x10000, 0)
            self._move(1, random.randrange(1, 33))
        elif kind == "message":
            self._say(random.choice((_ACK, _INIT, _REGION, _RING, _CONNECT, _SHARE, 0, 77)), random.randbytes(20), None)
        os.eventfd_write(self._event, 1)
        return kind

    def _send(self, frame):
        head = struct.unpack_from("<H", self.memory, _HEADS)[0]
        index = head % (1 << _LOG2)
        offset = _BUFFERS + index * 2048
        self.memory[offset:offset + len(frame)] = frame
        struct.pack_into("<HHIII", self.memory, 128 + 16 * index, 0, 0, len(frame), offset, 0)
        self._move(0, 1)

    def _move(self, ring, count):
        at = ring * _RING_BYTES + _HEADS
        head = struct.unpack_from("<H", self.memory, at)[0]
        struct.pack_into("<H", self.memory, at, (head + count) & 0xFFFF)

    def end(self):
        """Sometimes with a word, sometimes with its memory cut short."""
        if self._random.random() < 0.3:
            self.socket.send(_message(_DISCONNECT, struct.pack("<I", 1) + b"bye"))
        elif self._random.random() < 0.2:
            os.ftruncate(self._fd, 0)  # refused where the memory is sealed
        self.close()

    def close(self):
        if self.memory is not None:
            self.memory.close()
            self.memory = None
        while self.files:
            self.files.pop().close()


class _Descriptor:
    def __init__(self, fd):
        self._fd = fd

    def close(self):
        os.close(self._fd)


def memif_attack(name, seed, rate, path, ids, frames):
    """Clients at `path`, one after the other, which ask for one of `ids`."""
    clients = []

    def turn(attack):
        if clients and attack.random.random() < 0.03:
            clients.pop().end()
            return "end"
        if not clients:
            clients.append(_Client(attack, path, ids))
            return "connect"
        try:
            return clients[0].turn(frames)
        except OSError:
            clients.pop().close()
            raise

    def end():
        while clients:
            clients.pop().close()

    return Attack(name, seed, rate, turn, end)
