"""Sockets of a network namespace, made by a thread that otherwise stays where it is."""

import contextlib
import ctypes
import os
import socket

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _enter(fd):
    if _libc.setns(fd, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def inside(namespace):
    """What the calling thread opens meanwhile is in the namespace."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _enter(namespace.fd)
        try:
            yield
        finally:
            _enter(home)
    finally:
        os.close(home)


def raw_socket(namespace, link):
    """For whole frames on `link`."""
    with inside(namespace):
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        made.bind((link, 0))
        return made
