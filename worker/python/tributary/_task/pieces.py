"""Data of any length as pieces: a source reads them, a sink checks and keeps them.

A piece on its way is an array of uint8: 16 bytes of head (index, payload bytes, CRC-32 of the
payload; big-endian), then the payload. All pieces have the same length but the last one, which may
be shorter. A sink takes pieces in order and hashes as it goes, so that it can go on after an
interruption where it was. No part of this file knows a network.
"""

import hashlib
import os
import struct
import zlib

import numpy as np

from .errors import TaskError

HEAD = struct.Struct(">QII")
MIN_PIECE, MAX_PIECE = 1, 64 << 20
DEFAULT = 1 << 20
_READ = 1 << 20


def count_of(length, piece_bytes):
    """Pieces of data of that length; none of empty data."""
    return -(-length // piece_bytes)


def length_of(index, length, piece_bytes):
    """Payload bytes of piece `index`."""
    return min(piece_bytes, length - index * piece_bytes)


def pack(index, payload):
    """A piece as an array of uint8."""
    head = HEAD.pack(index, len(payload), zlib.crc32(payload))
    return np.frombuffer(bytearray(head) + payload, np.uint8)


def unpack(array, index, length):
    """The payload as a memoryview; None unless it is piece `index`, whole, with the right CRC."""
    view = memoryview(array)
    found, size, crc = HEAD.unpack_from(view)
    payload = view[HEAD.size :]
    good = (found, size) == (index, length) and size == len(payload)
    return payload if good and zlib.crc32(payload) == crc else None


class Source:
    """Data to send: an object with the buffer protocol, a path, or a binary file that can seek.

    length: bytes. digest: SHA-256 in hexadecimal. A file is read twice, piece by piece: for its
    digest, and to be sent. watch(bytes): called with the place up to which it was read."""

    def __init__(self, data):
        self.watch = _no_watch
        self._file = self._view = None
        self._own = isinstance(data, (str, os.PathLike))
        if self._own:
            data = open(data, "rb")
        if hasattr(data, "seek") and hasattr(data, "read"):
            self._file = data
            self.length = data.seek(0, os.SEEK_END)
        else:
            self._view = _bytes_of(data)
            self.length = len(self._view)
        self.digest = self._hash()

    def read(self, start, size):
        """Bytes [start, start + size)."""
        self.watch(start + size)
        if self._view is not None:
            return self._view[start : start + size]
        self._file.seek(start)
        data = self._file.read(size)
        if len(data) != size:
            raise TaskError(f"the file has shrunk to less than {start + size} bytes since it was hashed")
        return data

    def close(self):
        """Closes a file that was opened from its path."""
        if self._own:
            self._file.close()

    def _hash(self):
        digest = hashlib.sha256()
        for start in range(0, self.length, _READ):
            digest.update(self.read(start, min(_READ, self.length - start)))
        return digest.hexdigest()


def _no_watch(done):
    pass


def _bytes_of(data):
    try:
        return memoryview(data).cast("B")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"data is {type(data).__name__} ({error}); allowed are contiguous buffers such as bytes "
            "and arrays, a path, and a binary file that can seek"
        ) from None


class Sink:
    """Takes the pieces of data with a stated length and digest, in order.

    into: a path; the data goes there, and `value` is the path. None: `value` is a bytearray.
    held: pieces kept so far, each with the right CRC. watch(bytes): called with those kept."""

    def __init__(self, length, digest, piece_bytes, into=None):
        self.watch = _no_watch
        self.length, self.digest, self.piece_bytes = length, digest, piece_bytes
        self.pieces = count_of(length, piece_bytes)
        self.value = bytearray(length) if into is None else into
        self._file = None if into is None else open(into, "w+b")
        self.reset()

    def reset(self):
        """Forgets what is there."""
        self.held = 0
        self._hash = hashlib.sha256()

    def take(self, index, array):
        """Keeps the piece if it is the next one and whole; every other one is ignored."""
        if index != self.held:
            return
        size = length_of(index, self.length, self.piece_bytes)
        payload = unpack(array, index, size)
        if payload is None:
            return
        self._keep(index * self.piece_bytes, payload)
        self._hash.update(payload)
        self.held += 1
        self.watch(index * self.piece_bytes + size)

    def check(self):
        """Whether all of it is here, with the right digest; with a wrong one it begins anew."""
        if self.held < self.pieces:
            return False
        if self._hash.hexdigest() == self.digest:
            if self._file is not None:
                self._file.flush()
            return True
        self.reset()
        return False

    def close(self):
        """Closes the file, if there is one."""
        if self._file is not None:
            self._file.close()

    def _keep(self, start, payload):
        if self._file is None:
            self.value[start : start + len(payload)] = payload
        else:
            self._file.seek(start)
            self._file.write(payload)


class Nowhere:
    """A sink of a member that takes part in a transfer and needs none of its data."""

    held = (1 << 62) - 1

    def take(self, index, array):
        """Drops the piece."""

    def check(self):
        """Always true: it has nothing to lack."""
        return True
