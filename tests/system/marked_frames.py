"""Counts the frames on an interface, and those whose UDP port says that they carry telemetry.

    marked_frames.py INTERFACE       until SIGTERM; then one line of JSON
"""

import json
import select
import signal
import socket
import sys

ALL = 0x0003  # ETH_P_ALL
MARK = 5000


def is_marked(frame):
    return (frame[12:14] == b"\x08\x00" and frame[14] == 0x45 and frame[23] == 17
            and int.from_bytes(frame[36:38], "big") == MARK)


def main():
    counts = {"frames": 0, "marked": 0}
    wake, end = socket.socketpair()
    signal.signal(signal.SIGTERM, lambda *_: end.send(b"x"))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL)) as tap:
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        tap.bind((sys.argv[1], 0))
        print("ready", flush=True)
        over = False
        while not over:
            readable, _, _ = select.select([tap, wake], [], [])
            over = readable == [wake]
            if tap in readable:
                frame = tap.recv(65536)
                counts["frames"] += 1
                counts["marked"] += is_marked(frame)
    print(json.dumps(counts), flush=True)


main()
