"""Messages of the memory pool, after pool/record/message.h: a length, a type, fields in little endian."""

import hmac
import struct

HELLO, CHALLENGE, PROOF, WELCOME, TABLE, ENTRIES, LOOKUP, RENEW, RENEWED, CORRUPT = range(1, 11)
COMMAND, STATUS, TEXT, FAILURE, OPERATE = range(11, 16)
FILL, PIN, UNPIN, EVICT, VERIFY = range(1, 6)
HEAD_BYTES = 6
NODE, READER = b"\1", b"\2"


def frame(kind, body=b""):
    return struct.pack("<IH", len(body) + 2, kind) + body


def text(value):
    return struct.pack("<I", len(value)) + value


def hello(pool, manifest, nonce, version=1):
    return frame(HELLO, struct.pack("<I", version) + text(pool) + struct.pack("<Q", manifest) + nonce)


def prove(role, readers, nodes, token=b""):
    return hmac.digest(token, role + readers + nodes, "sha256")


def entries(generation, more, records):
    body = struct.pack("<QBI", generation, more, len(records))
    return frame(ENTRIES, body + b"".join(struct.pack("<QQII", *record) for record in records))


def ids(kind, numbers):
    return frame(kind, struct.pack("<I", len(numbers)) + b"".join(struct.pack("<Q", n) for n in numbers))


def command(kind, first, count):
    return frame(COMMAND, struct.pack("<BQQ", kind, first, count))


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionResetError("closed")
        data += more
    return data


def read_frame(connection):
    """(type, body)"""
    length, kind = struct.unpack("<IH", read_exactly(connection, HEAD_BYTES))
    return kind, read_exactly(connection, length - 2)


class Welcome:
    """What a node tells its readers of its memory."""

    def __init__(self, body):
        self.node, at = _text(body, 0)
        self.incarnation, self.base, self.bytes, self.key = struct.unpack_from("<IQQQ", body, at)
        self.transport, at = _text(body, at + 28)
        self.address, at = _text(body, at)
        self.generation, self.lease, self.lease_ms = struct.unpack_from("<QQQ", body, at)

    def frame(self):
        return frame(WELCOME, text(self.node) + struct.pack("<IQQQ", self.incarnation, self.base, self.bytes, self.key)
                     + text(self.transport) + text(self.address)
                     + struct.pack("<QQQ", self.generation, self.lease, self.lease_ms))


def _text(body, at):
    (length,) = struct.unpack_from("<I", body, at)
    return body[at + 4:at + 4 + length], at + 4 + length


def greet(connection, pool, manifest, nonce, reads=1):
    """As a loader does; the node's Welcome."""
    connection.sendall(hello(pool, manifest, nonce))
    kind, body = read_frame(connection)
    if kind != CHALLENGE:
        raise ConnectionRefusedError(body)
    connection.sendall(frame(PROOF, prove(READER, nonce, body[:16]) + bytes((reads,))))
    kind, body = read_frame(connection)
    if kind != WELCOME:
        raise ConnectionRefusedError(body)
    return Welcome(body)
