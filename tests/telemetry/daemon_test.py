"""tributary-telemetryd and real UDP reports (C6, C7): who is let in, what is counted, what it says."""
import contextlib
import json
import os
import re
import socket
import subprocess
import time
import urllib.request

DAEMON = os.environ["TRIBUTARY_TELEMETRYD"]
TOOL = os.environ["TRIBUTARY_TELEMETRY_TOOL"]
# Marked by the port, as the daemon expects.
REPORTS = [bytes.fromhex(row[5]) for row in map(str.split, subprocess.run(
    [TOOL], check=True, capture_output=True, text=True).stdout.splitlines()) if row[0] == "report" and row[4] == "0"]


@contextlib.contextmanager
def daemon(*more):
    command = [DAEMON, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            found = re.match(r"reports at UDP port (\d+) of \d+ switches, HTTP port (\d+)", process.stdout.readline())
            assert process.stdout.readline() == "ready\n"
            yield int(found[1]), int(found[2])
        finally:
            process.terminate()
        process.communicate(timeout=30)
        assert process.returncode == 0


def get(port, page):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=30) as answer:
        return answer.read().decode()


def metric(port, name):
    return float(re.search(rf"^tributary_telemetry_{name} (\S+)$", get(port, "metrics"), re.M)[1])


def send(udp, http, datagrams):
    """Sends them, and waits until all have been received."""
    wanted = metric(http, "datagrams_total") + len(datagrams)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for datagram in datagrams:
            out.sendto(datagram, ("127.0.0.1", udp))
    end = time.monotonic() + 30
    while metric(http, "datagrams_total") < wanted:
        assert time.monotonic() < end, "not all reports arrived"


def test_links_and_flows_of_a_registered_switch():
    with daemon("--switch", "99=127.0.0.1") as (udp, http):
        send(udp, http, REPORTS)
        assert get(http, "healthz") == "ok\n"
        assert metric(http, "reports_total") == len(REPORTS)
        assert metric(http, "unregistered_total") == metric(http, "malformed_total") == 0
        links = {(row["node"], row["port"]): row for row in json.loads(get(http, "links"))}
        assert set(links) == {(node, node * 2 + 1) for node in (*range(1, 9), 99)}
        assert links[3, 7]["latency_ns"] == links[3, 7]["most_ns"] == 3000
        assert links[99, 199]["reports"] == len(REPORTS)
        flows = json.loads(get(http, "flows"))
        assert {flow["source"] for flow in flows} == {"::ffff:10.0.0.1", "fd00:fd01:fd02:fd03:fd04:fd05:fd06:fd07"}
        for flow in flows:
            assert [hop["node"] for hop in flow["hops"]] == [*range(1, 9), 99]
            assert flow["destination_port"] == 9000 and flow["whole"]


def test_forged_and_damaged_reports_are_counted_and_change_nothing():
    with daemon("--switch", "99=127.0.0.2", "--switch", "5=127.0.0.1") as (udp, http):
        send(udp, http, [REPORTS[0], b"", b"\x20"])  # from another address than node 99's; too short
        assert metric(http, "unregistered_total") == 3
        other = REPORTS[0][:4] + (5).to_bytes(4, "big") + REPORTS[0][8:-5]
        send(udp, http, [other])
        assert metric(http, "malformed_total") == 1
        assert json.loads(get(http, "links")) == json.loads(get(http, "flows")) == []


def test_mistakes_on_the_command_line():
    for options, text in ((["--switch", "x=1.2.3.4"], "allowed: NODE=IPV4"),
                          (["--switch", "1=1.2.3.4", "--switch", "1=1.2.3.5"], "registered twice"),
                          (["--switch", "1=1.2.3.4", "--listen", "here"], "allowed: IPV4:PORT")):
        done = subprocess.run([DAEMON, *options], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 2
        assert text in done.stderr
