"""Clients that keep connections open: they say nothing, or a byte of a request now and then."""

import contextlib
import itertools
import socket
import ssl
import struct
import threading
import time

from testbed.loop import WaitExpired

PAUSE_S = 1  # between two bytes of a connection
CONNECT_S = 60

HTTP = b"GET /metrics HTTP/1.1\r\nX-Drip: " + b"x" * 1000
LINE = b'{"show": "' + b"x" * 1000
TLS = bytes.fromhex("1603010200010001fc0303") + bytes(400)
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("003fff0400") + bytes(400)
POOL = bytes.fromhex("00010000" "0100") + bytes(250)  # a greeting of 256 bytes, which lacks the last ones


class Target:
    """A listening socket. `drip` is what slow clients send of a request; None: packets are sent whole."""

    def __init__(self, address, drip, kind=socket.SOCK_STREAM):
        self.address, self.drip, self.kind = address, drip, kind
        self.family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX

    def connect(self, limit_s):
        """A connected socket, whose waits have the limit, too."""
        made = socket.socket(self.family, self.kind)
        # Not settimeout(): a unix socket would not wait for room in the backlog then.
        limit = struct.pack("@ll", int(limit_s), 0)
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            made.setsockopt(socket.SOL_SOCKET, option, limit)
        try:
            made.connect(self.address)
        except BlockingIOError:
            made.close()
            raise WaitExpired(f"{self.address}: no connection within {limit_s} s") from None
        return made


class Flood:
    """`idle` and `dripping` connections to each target, held until close()."""

    def __init__(self, targets, idle, dripping):
        self._held = contextlib.ExitStack()
        self._ended = threading.Event()
        self._dripping = []
        for target in targets:
            for number in range(idle + dripping):
                made = self._held.enter_context(target.connect(CONNECT_S))
                if number >= idle and target.drip is not None:
                    made.setblocking(False)
                    self._dripping.append((made, itertools.chain(target.drip)))
        self._thread = threading.Thread(target=self._drip, daemon=True)
        self._thread.start()

    def close(self):
        self._ended.set()
        self._thread.join()
        self._held.close()

    def _drip(self):
        while not self._ended.wait(PAUSE_S):
            for made, rest in self._dripping:
                byte = next(rest, None)
                with contextlib.suppress(OSError):  # closed by the server
                    if byte is not None:
                        made.send(bytes((byte,)))


class Limit:
    """A time within which all of a block is to be done."""

    def __init__(self, seconds, what):
        self.seconds, self._what = seconds, what

    def __enter__(self):
        self._end = time.monotonic() + self.seconds
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, (TimeoutError, BlockingIOError, ssl.SSLWantReadError)) and not isinstance(error, WaitExpired):
            raise WaitExpired(f"{self._what}: no answer within {self.seconds} s") from None
        if kind is None and time.monotonic() > self._end:
            raise WaitExpired(f"{self._what}: not within {self.seconds} s")


def answer_of(connection, request, enough):
    """Sends the request; the bytes of the answer until there are enough of them, or all."""
    connection.sendall(request)
    received = b""
    while not enough(received):
        piece = connection.recv(65536)
        if not piece:
            break
        received += piece
    return received
