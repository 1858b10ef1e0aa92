"""A node of a pool that lies to its loaders: about its memory, its records, and when it will answer."""

import collections
import os
import random
import socket
import struct
import threading

import pool_wire as wire
from mutate import mutate

_MEMORY = 1 << 20
_TRANSPORTS = (b"mapped", b"mapped", b"mapped", b"tcp", b"shm", b"verbs", b"\xff\xfe", b"", b"x" * 5000)
_PATIENCE_S = 3
_ENDLESS = 200  # parts of a table that does not end


class HostileNode:
    """Listens for loaders, and behind an abstract socket for those that want to map its memory."""

    def __init__(self, seed):
        self.did = collections.Counter()
        self._random = random.Random(f"{seed} node")
        self._over = threading.Event()
        self._name = b"tributary-hostile-" + os.urandom(8).hex().encode()
        self._listeners = [socket.create_server(("127.0.0.1", 0), backlog=64),
                           socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
        self._listeners[1].bind(b"\0" + self._name)
        self._listeners[1].listen(64)
        self.address = "127.0.0.1:%d" % self._listeners[0].getsockname()[1]
        for listener, serve in zip(self._listeners, (self._serve, self._hand_over)):
            threading.Thread(target=self._accept, args=(listener, serve), daemon=True).start()

    def close(self):
        self._over.set()
        for listener in self._listeners:
            listener.close()

    def _accept(self, listener, serve):
        while not self._over.is_set():
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            connection.settimeout(_PATIENCE_S)
            threading.Thread(target=self._guarded, args=(connection, serve), daemon=True).start()

    def _guarded(self, connection, serve):
        try:
            with connection:
                serve(connection)
        except (OSError, struct.error):
            self.did["ended by the loader"] += 1

    def _serve(self, connection):
        pick = self._random
        kind, body = wire.read_frame(connection)
        if kind != wire.HELLO or pick.random() < 0.1:
            self.did["no greeting"] += 1
            return
        readers, nodes = body[-16:], pick.randbytes(16)
        self._send(connection, wire.frame(wire.CHALLENGE, nodes + wire.prove(wire.NODE, readers, nodes)), 0.05)
        wire.read_frame(connection)
        self._send(connection, self._welcome().frame(), 0.2)
        while not self._over.is_set():
            kind, body = wire.read_frame(connection)
            self._answer(connection, kind, body)

    def _welcome(self):
        pick = self._random
        made = wire.Welcome.__new__(wire.Welcome)
        made.node, made.incarnation = b"h", pick.choice((1, 0, 2**32 - 1))
        made.base = pick.choice((0, 0, 2**64 - 1, 4096))
        made.bytes = pick.choice((_MEMORY, _MEMORY, _MEMORY, 0, 1, 2**40, 2**63, 2**64 - 1))
        made.key = pick.getrandbits(64)
        made.transport = pick.choice(_TRANSPORTS)
        made.address = pick.choice((self._name, self._name, self._name, b"", b"a" * 107, b"a" * 4000, pick.randbytes(60)))
        made.generation, made.lease = pick.choice((1, 0, 2**64 - 1)), 1
        made.lease_ms = pick.choice((10_000, 0, 1, 2**64 - 1))
        self.did["welcome " + ("mapped" if made.transport == b"mapped" else "other")] += 1
        return made

    def _answer(self, connection, kind, body):
        pick = self._random
        how = pick.choice(("right", "right", "right", "mutated", "silent", "failure", "other", "endless", "close"))
        self.did[how] += 1
        records = [(n, pick.choice((64 * n, 2**64 - 1, _MEMORY - 1, pick.getrandbits(64))),
                    pick.choice((100, 0, 2**32 - 1, 1000)), pick.choice((1, 2, 2**32 - 1))) for n in range(40)]
        if kind == wire.RENEW:
            answer = wire.frame(wire.RENEWED, struct.pack("<QQB", pick.choice((1, 2, 0, 2**64 - 1)), 1, pick.randrange(3)))
        elif kind in (wire.TABLE, wire.LOOKUP):
            answer = wire.entries(pick.choice((1, 2, 2**64 - 1)), 0, records)
        else:
            answer = wire.frame(wire.TEXT, wire.text(b"{}"))
        if how == "silent":
            self._over.wait(_PATIENCE_S / 2)
            return
        if how == "close":
            raise ConnectionAbortedError
        if how == "failure":
            answer = wire.frame(wire.FAILURE, wire.text(b"\xff\xfe\0" + pick.randbytes(20)))
        elif how == "other":
            answer = wire.frame(pick.randrange(20), pick.randbytes(pick.randrange(100)))
        elif how == "endless":
            for _ in range(_ENDLESS):
                connection.sendall(wire.entries(pick.randrange(2**32), 1, records))
        self._send(connection, answer, 1.0 if how == "mutated" else 0.0)

    def _send(self, connection, data, mutated):
        if self._random.random() < mutated:
            data = mutate(self._random, data, self._random.choice((0, 4, 6)))
        connection.sendall(data)

    def _hand_over(self, connection):
        """Memory that is none, too short, cut short a moment later, or made of garbage; several at once."""
        pick = self._random
        connection.recv(64)
        how = pick.choice(("memory", "memory", "cut", "short", "pipe", "nothing", "two", "empty", "silent"))
        self.did["memory: " + how] += 1
        memory = os.memfd_create("node")
        pipe = os.pipe()
        try:
            os.ftruncate(memory, 4096 if how == "short" else _MEMORY)
            os.pwrite(memory, pick.randbytes(4096), pick.randrange(_MEMORY - 4096) if how != "short" else 0)
            passed = {"pipe": [pipe[0]], "nothing": [], "two": [memory, pipe[0]]}.get(how, [memory])
            if how == "silent":
                self._over.wait(_PATIENCE_S)
                return
            socket.send_fds(connection, [b"" if how == "empty" else b"m"], passed)
            if how == "cut":
                self._over.wait(0.05)
                os.ftruncate(memory, 0)
            connection.recv(64)  # until the loader ends it
        finally:
            for fd in (memory, *pipe):
                os.close(fd)
