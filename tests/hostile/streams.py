"""Hostile clients of listening sockets: garbage, halves, silence, drips, and clients that do not read."""

import os
import socket
import struct

from attack import Attack, Held
from mutate import mutate

_REQUESTS = [
    b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /links HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
    b"GET /flows HTTP/1.0\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /paths HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /history?node=3&port=7&from=-3600&step=3700 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\nabc",
    b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    b"HEAD /../../etc/passwd HTTP/1.1\r\nHost: a\r\nRange: bytes=0-\r\n\r\n",
    b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 2000 + b"\r\n",
]


def connect_tcp(port, timeout=2):
    return socket.create_connection(("127.0.0.1", port), timeout)


def connect_unix(path, timeout=2):
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(timeout)
    made.connect(os.fspath(path))
    return made


def reset(connection):
    """The other end sees a reset, not an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def stream_attack(name, seed, rate, connect, messages, held=40, first=0):
    """Mutated `messages` to what `connect()` reaches. `held`: connections that stay open and silent, or drip."""
    kept = Held(held)

    def turn(attack):
        random = attack.random
        kind = random.choice(("garbage", "mutated", "mutated", "whole", "half", "reset", "silent", "drip", "deaf"))
        message = random.choice(messages)
        if kind == "drip" and kept.drip(random, bytes((random.choice(message),))):
            return kind
        connection = connect()
        if kind == "garbage":
            message = random.randbytes(random.choice((1, 7, 100, 5000)))
        elif kind in ("mutated", "reset", "deaf"):
            message = mutate(random, message, first)
        elif kind == "half":
            message = message[:random.randrange(len(message) + 1)]
        attack.note(kind, message)
        if kind in ("silent", "drip"):
            kept.add(connection)
            return kind
        with connection:
            connection.sendall(message)
            if kind == "deaf":  # asks again and again, and takes no answer
                connection.setblocking(False)
                for _ in range(50):
                    connection.send(random.choice(messages))
            elif kind == "reset":
                reset(connection)
            elif kind != "half":
                connection.settimeout(0.2)
                connection.recv(65536)
        return kind

    return Attack(name, seed, rate, turn, kept.close)


def http_attack(name, seed, rate, connect, held=40):
    return stream_attack(name, seed, rate, connect, _REQUESTS, held)
