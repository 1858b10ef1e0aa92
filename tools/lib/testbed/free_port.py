"""TCP ports for servers that are started a moment later."""

import random
import socket

# Below the ports that the kernel gives to outgoing connections: none of those takes it meanwhile.
_PORTS = range(15000, 32000)
_TRIES = 100


def free_port(host="127.0.0.1"):
    """A port of the host's on which no process listens now."""
    for left in reversed(range(_TRIES)):
        with socket.socket() as probe:
            try:
                probe.bind((host, random.choice(_PORTS)))
                return probe.getsockname()[1]
            except OSError:
                if left == 0:
                    raise
