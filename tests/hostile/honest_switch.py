"""An honest switch and a scraper: sends signed reports at a steady rate, and reads them back.

    honest_switch.py UDP_PORT HTTP_PORT KEY_FILE REPORT

REPORT is a datagram in hexadecimal. Prints how many of its reports the server has counted and shown.
"""

import json
import select
import socket
import sys
import time
import urllib.request
from pathlib import Path

from telemetryd_wire import HONEST, numbered, signed

RATE = 200
PAGES = ("links", "flows", "paths", "network", "healthz", "history?node=99&port=199")


def get(port, page):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=20) as answer:
        return answer.read().decode()


def shown(port):
    """Reports of its own egress port that the server shows."""
    rows = [row for row in json.loads(get(port, "links")) if (row["node"], row["port"]) == (HONEST, 199)]
    assert len(rows) == 1, rows
    assert rows[0]["latency_ns"] == 99_000, rows
    return rows[0]["reports"]


def main():
    udp, http, key = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]).read_bytes().strip()
    report = bytes.fromhex(sys.argv[4])
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sent, begin, look = 0, time.monotonic(), time.monotonic() + 0.5
    while True:
        due = int((time.monotonic() - begin) * RATE)
        for number in range(sent, due):
            out.sendto(signed(numbered(report, number, HONEST), time.time_ns(), key), ("127.0.0.1", udp))
        sent = max(sent, due)
        if time.monotonic() > look:
            look = time.monotonic() + 0.5
            done = shown(http)
            assert done <= sent, (done, sent)
            get(http, PAGES[sent % len(PAGES)])
            print(json.dumps({"done": done, "sent": sent}), flush=True)
        select.select([], [], [], 0.01)


main()
