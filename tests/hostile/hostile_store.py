"""A store that lies about lengths and ranges, drips, fails, and sends its readers in circles."""

import contextlib
import random
import socket
import threading

import stores

_OLD = ("half", "reset", "standby", "circle", 500, 503, 404, 403, 429, 200, 206, 301, 302, 999)
_NEW = ("drip", "too long", "negative", "range", "two ranges", "endless head", "endless body", "garbage", "no length")
_PATIENCE_S = 5
_MOST = 4 << 20


class _Handler(stores.Handler):
    """Does what the store's `fault` says, also what the tests' own store does not know."""

    def do_GET(self):
        fault = self.server.store.lie()
        if fault not in _NEW:
            self.server.store.fault = lambda _path: fault
            return super().do_GET()
        self.close_connection = True
        with contextlib.suppress(OSError):
            self._lie(fault)
        return None

    def _lie(self, fault):
        out, over = self.connection, self.server.store.released
        out.settimeout(_PATIENCE_S)
        head = b"HTTP/1.1 206 Partial Content\r\n"
        if fault == "drip":
            out.sendall(head + b"Content-Length: 1000\r\nContent-Range: bytes 0-999/1000\r\n\r\n")
            for _ in range(20):
                out.send(b"x")
                if over.wait(0.2):
                    return
        elif fault == "too long":
            out.sendall(head + b"Content-Length: 18446744073709551615\r\n\r\n" + b"x" * 100_000)
        elif fault == "negative":
            out.sendall(head + b"Content-Length: -1\r\nContent-Range: bytes -5--1/-9\r\n\r\nabc")
        elif fault == "range":
            out.sendall(head + b"Content-Length: 4\r\nContent-Range: bytes 18446744073709551612-18446744073709551615/"
                        b"18446744073709551616\r\nETag: \"x\"\r\n\r\nabcd")
        elif fault == "two ranges":
            out.sendall(head + b"Content-Range: bytes 0-3/4\r\nContent-Range: bytes 4-7/8\r\nContent-Length: 4\r\n\r\nabcd")
        elif fault == "endless head":
            self._endless(head, b"X-Header: " + b"y" * 1000 + b"\r\n")
        elif fault == "endless body":
            self._endless(head + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"z" * 4096 + b"\r\n")
        elif fault == "no length":
            out.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"q" * 50_000)
        else:
            out.sendall(self.server.store.random.randbytes(500))

    def _endless(self, head, part):
        self.connection.sendall(head)
        for _ in range(_MOST // len(part)):
            self.connection.sendall(part)


class HostileStore:
    """S3 or WebHDFS over a folder; lies from resume() to pause(). The tests' own stores serve what is right."""

    def __init__(self, kind, folder, seed):
        self.lies = False
        self.told = {}
        self.random = random.Random(f"{seed} store")
        self._lock = threading.Lock()
        self.store = kind(folder)
        self.store.lie = self._lie
        self.store.random = self.random
        self.store.server.RequestHandlerClass = _Handler
        self.store.server.handle_error = lambda *_: None
        self.url = self.store.url

    def _lie(self):
        with self._lock:
            if not self.lies or self.random.random() < 0.3:
                return None
            fault = self.random.choice(_OLD + _NEW)
            self.told[str(fault)] = self.told.get(str(fault), 0) + 1
            return fault

    def pause(self):
        self.lies = False

    def resume(self):
        self.lies = True

    def close(self):
        self.store.close()


def mapped_client(address):
    """A connection to a node's abstract socket."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.settimeout(1)
    made.connect(b"\0" + address)
    return made
