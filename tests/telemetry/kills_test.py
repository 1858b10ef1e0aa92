"""kill -9 and SIGSTOP of tributary-telemetryd under a stream of reports (C6, C7): seeded, again and again.

Reports and scrapes go on after it; the history keeps what was written.

TRIBUTARY_SEED and TRIBUTARY_ROUNDS choose another run, or another length.
"""
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from daemon_test import DAEMON, get, history, metric, numbered, wait_for

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/lib"))

from testbed.free_port import free_port  # noqa: E402  (needs the path above)

SEED = int(os.environ.get("TRIBUTARY_SEED", "1"))
ROUNDS = int(os.environ.get("TRIBUTARY_ROUNDS", "30"))


@contextlib.contextmanager
def stream(port):
    """A switch that reports without end."""
    over = threading.Event()

    def report():
        first = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            while not over.wait(0.001):
                for datagram in numbered(first):
                    out.sendto(datagram, ("127.0.0.1", port))
                    first += 1

    thread = threading.Thread(target=report)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def start(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    assert process.stdout.readline() == "ready\n"
    return process


def end(process, number):
    process.send_signal(number)
    process.communicate(timeout=30)


def files_of(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def test_c6_c7_reports_and_scrapes_go_on_after_kills_and_stops(tmp_path):
    dice = random.Random(SEED)
    udp, http = free_port(), free_port()
    command = [DAEMON, "--listen", f"127.0.0.1:{udp}", "--http", f"127.0.0.1:{http}",
               "--switch", "99=127.0.0.1", "--history", str(tmp_path / "history.db"), "--every", "100ms"]
    process = start(command)
    try:
        with stream(udp):
            wait_for(lambda: history(http, "node=3&port=7"), "a row is written")
            files, rows = files_of(process), 0
            for number in range(ROUNDS):
                stops = dice.random() < 0.5
                print(f"seed {SEED} round {number}: {'stop' if stops else 'kill'}")
                for _ in range(dice.randrange(20)):
                    get(http, dice.choice(("metrics", "links", "flows", "healthz")))
                if stops:
                    process.send_signal(signal.SIGSTOP)
                    with socket.create_connection(("127.0.0.1", http), timeout=30) as waits:
                        waits.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                        process.send_signal(signal.SIGCONT)
                        assert b"ok" in b"".join(iter(lambda: waits.recv(4096), b""))
                else:
                    end(process, signal.SIGKILL)
                    process = start(command)
                before = metric(http, "reports_total")
                wait_for(lambda: metric(http, "reports_total") > before, "reports are counted again")
                links = {(row["node"], row["port"]): row for row in json.loads(get(http, "links"))}
                assert links[3, 7]["latency_ns"] == 3000
                assert metric(http, "malformed_total") == 0
                kept = history(http, "node=3&port=7")
                assert len(kept) >= rows and {row["p50_ns"] for row in kept} == {3000}
                rows = len(kept)
        assert files_of(process) <= files + 2
        end(process, signal.SIGTERM)
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            end(process, signal.SIGKILL)
