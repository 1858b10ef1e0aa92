"""tributary-telemetryd and real UDP reports (C6, C7): who is let in, what is counted, what it says and keeps."""
import contextlib
import hmac
import json
import os
import re
import secrets
import socket
import sqlite3
import struct
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

DAEMON = os.environ["TRIBUTARY_TELEMETRYD"]
TOOL = os.environ["TRIBUTARY_TELEMETRY_TOOL"]
# Marked by the port, as the daemon expects; each has a number of its own.
REPORTS = [struct.pack(">I", 2 << 28 | number) + bytes.fromhex(row[5])[4:] for number, row in enumerate(
    row for row in map(str.split, subprocess.run(
    [TOOL], check=True, capture_output=True, text=True).stdout.splitlines()) if row[0] == "report" and row[4] == "0")]


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


def wait_for(condition, what):
    end = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < end, what
    return found


def send(udp, http, datagrams):
    """Sends them, and waits until all have been received."""
    wanted = metric(http, "datagrams_total") + len(datagrams)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for datagram in datagrams:
            out.sendto(datagram, ("127.0.0.1", udp))
    wait_for(lambda: metric(http, "datagrams_total") >= wanted, "not all reports arrived")


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


def signed(report, sequence, key):
    """The datagram with the trailer of docs/protocol/telemetry.md, by Python's own HMAC."""
    covered = report + struct.pack(">BBHHHQ", 2, 11, 0, 0x5452, 1, sequence)
    return covered + hmac.digest(key, covered, "sha256")


def test_c6_with_a_key_only_signed_reports_count_and_each_once(tmp_path):
    key = secrets.token_hex(32)
    file = tmp_path / "telemetry.key"
    file.touch(0o600)
    file.write_text(key + "\n", encoding="ascii")
    now = time.time_ns()
    good = [signed(report, now + number, key.encode()) for number, report in enumerate(REPORTS)]
    with daemon("--switch", "99=127.0.0.1", "--key-file", str(file)) as (udp, http):
        def refused():
            return {reason: int(count) for reason, count in re.findall(
                r'^tributary_telemetry_refused_total{reason="(.*)"} (.*)$', get(http, "metrics"), re.M)}
        send(udp, http, [REPORTS[0], signed(REPORTS[0], now, b"another key of 16"), good[0][:-1] + b"\0\0",
                         signed(REPORTS[0], now - 60 * 10**9, key.encode())])
        assert json.loads(get(http, "links")) == json.loads(get(http, "flows")) == []
        send(udp, http, good)
        links = get(http, "links")
        assert metric(http, "reports_total") == len(REPORTS)
        assert metric(http, "malformed_total") == 0
        send(udp, http, good)  # each again
        assert json.loads(get(http, "links"))[0]["reports"] == json.loads(links)[0]["reports"]
        assert refused() == {"unregistered": 0, "wrong-interface": 0, "unsigned": 2, "forged": 1, "stale": 1,
                             "replayed": len(REPORTS)}
    with daemon("--switch", "99=127.0.0.1") as (udp, http):  # a server without a key
        send(udp, http, good)
        assert metric(http, "reports_total") == len(REPORTS)
        assert metric(http, "malformed_total") == metric(http, "bad_packets_total") == 0


def test_c6_reports_come_in_through_the_registered_interface():
    for interface, taken in (("lo", len(REPORTS)), ("other0", 0)):
        with daemon("--switch", "99=127.0.0.1%" + interface) as (udp, http):
            send(udp, http, REPORTS)
            assert metric(http, "reports_total") == taken
            assert f'refused_total{{reason="wrong-interface"}} {len(REPORTS) - taken}\n' in get(http, "metrics")


def test_c6_a_key_that_others_may_read_ends_the_start(tmp_path):
    file = tmp_path / "telemetry.key"
    file.write_text("0123456789abcdef-secret", encoding="ascii")
    file.chmod(0o644)
    command = [DAEMON, "--switch", "1=1.2.3.4", "--key-file", str(file), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert f"{file}: has mode 0644: other users may read or change the key; allowed: mode 0600 or 0640" in done.stderr
    assert "secret" not in done.stderr
    file.chmod(0o640)
    assert subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0


@contextlib.contextmanager
def switch_that_hangs(path):
    """A control socket that takes connections and never answers; yields a function that waits for a question."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(64)
        listener.settimeout(30)
        asked = []

        def wait():
            asked.append(listener.accept()[0])
            asked[-1].settimeout(30)
            assert asked[-1].recv(1)
        yield wait
        for one in asked:
            one.close()


def test_sigterm_ends_the_server_while_switches_hang(tmp_path):
    """Eight of them: the answer of each would be waited for."""
    names = [f"s{number}" for number in range(8)]
    nodes = [{"name": name, "id": number + 1, "reports_from": "127.0.0.1", "control": str(tmp_path / "hung.sock")}
             for number, name in enumerate(names)]
    network = {"nodes": [*nodes, {"name": "w"}],
               "links": [{"from": first, "port": port, "to": second, "port_there": port + 2}
                         for first, second in zip(names, names[1:]) for port in (1, 2)] +
                        [{"from": names[-1], "port": 1, "to": "w"}]}
    trees = [{"switch": name, "to": names[0], "uplinks": [{"name": "a", "port": 3}, {"name": "b", "port": 4}]}
             for name in names[1:]]
    file = tmp_path / "network.yaml"
    for asks in ({"trees": trees}, {"paths": [{"from": "s0", "to": "w", "destinations": ["10.0.0.2"]}]}):
        file.write_text(json.dumps({**network, **asks}), encoding="ascii")
        with switch_that_hangs(tmp_path / "hung.sock") as wait_for_question:
            with daemon("--topology", str(file)) as (_, http):
                wait_for_question()
                assert get(http, "healthz") == "ok\n"
        (tmp_path / "hung.sock").unlink()


def test_c7_deciding_about_many_paths_holds_up_no_report_and_no_page(tmp_path):
    """A look at 1,024 paths by 60 ways each takes minutes."""
    leaves, spines = [f"l{number}" for number in range(60)], [f"s{number}" for number in range(60)]
    file = tmp_path / "network.yaml"
    file.write_text(json.dumps({
        "nodes": [{"name": name, "id": number + 1, "reports_from": "127.0.0.1"}
                  for number, name in enumerate(leaves + spines)],
        "links": [{"from": leaf, "port": at, "to": spine, "port_there": number}
                  for number, leaf in enumerate(leaves) for at, spine in enumerate(spines)],
        "paths": [{"from": leaves[number % 60], "to": leaves[(number + 1 + number // 60) % 60],
                   "goal": "most-bandwidth"} for number in range(1024)]}), encoding="ascii")
    with daemon("--topology", str(file)) as (udp, http):
        reason = wait_for(lambda: json.loads(get(http, "paths"))[0]["path"], "the first path is decided")
        assert reason
        send(udp, http, [numbered_node(number, 1) for number in range(200)])
        assert metric(http, "reports_total") == 200
        assert not json.loads(get(http, "paths"))[-1]["path"], "the look is over: the network is too small"


def numbered_node(number, node):
    """A report with another number, of another switch."""
    return struct.pack(">II", 2 << 28 | number, node) + REPORTS[0][8:]


def test_mistakes_on_the_command_line():
    for options, text in (([], "no switch may report"),
                          (["--switch", "x=1.2.3.4"], "allowed: NODE=IPV4"),
                          (["--switch", "1=1.2.3.4", "--switch", "1=1.2.3.5"], "registered twice"),
                          (["--switch", "1=1.2.3.4%"], "NODE=IPV4%INTERFACE"),
                          (["--switch", "1=1.2.3.4%sixteen-letters."], "NODE=IPV4%INTERFACE"),
                          (["--switch", "1=1.2.3.4", "--listen", "here"], "allowed: IPV4:PORT"),
                          (["--switch", "1=1.2.3.4", "--keep", "1h"], "--keep and --every go with --history"),
                          (["--history", "x", "--keep", "1s"], "'1s'; allowed: 1min to 87600h"),
                          (["--history", "x", "--every", "fast"], "'fast'; allowed: 100ms to 1h")):
        done = subprocess.run([DAEMON, *options], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 2
        assert text in done.stderr


def history(http, query):
    return json.loads(get(http, f"history?{query}"))["rows"]


def numbered(first):
    """The reports again, with other numbers."""
    return [struct.pack(">I", 2 << 28 | first + number) + report[4:] for number, report in enumerate(REPORTS)]


def test_c7_the_history_of_a_port_outlives_the_server(tmp_path):
    options = ("--switch", "99=127.0.0.1", "--history", str(tmp_path / "history.db"), "--every", "100ms")
    with daemon(*options) as (udp, http):
        send(udp, http, REPORTS)
        row = wait_for(lambda: history(http, "node=3&port=7"), "a row is written")[-1]
        assert row["latency_ns"] == row["p50_ns"] == row["p99_ns"] == 3000
        assert (row["utilisation_ppm"], row["queue"], row["dropped"]) == (30_000, 300, 0)
        assert history(http, "node=3&port=8") == []
        assert metric(http, "history_rows_total") >= 9
    # The query of the handbook, on a port that there is.
    page = (Path(__file__).parents[2] / "docs/telemetry.md").read_text(encoding="utf-8")
    (query,) = re.findall(r'sqlite3 -readonly history.db "(.*)"', page)
    with contextlib.closing(sqlite3.connect(tmp_path / "history.db")) as other:
        assert other.execute(query.replace("node = 2 AND port = 1", "node = 3 AND port = 7")).fetchone()[1] == 3000
    with daemon(*options) as (_, http):
        assert history(http, "node=3&port=7&from=-3600&step=3700")[0]["latency_ns"] == 3000
        for query, text in (("node=3", "port is missing"), ("node=3&port=x", "allowed: 0 to 65535")):
            try:
                get(http, f"history?{query}")
            except urllib.error.HTTPError as error:
                assert error.code == 400 and text in error.read().decode()
            else:
                raise AssertionError(f"{query}: was answered")


def test_c7_a_locked_history_is_counted_and_holds_no_reports(tmp_path):
    file = tmp_path / "history.db"
    with daemon("--switch", "99=127.0.0.1", "--history", str(file), "--every", "100ms") as (udp, http):
        send(udp, http, REPORTS)
        wait_for(lambda: metric(http, "history_rows_total") >= 9, "rows are written")
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            wait_for(lambda: metric(http, "history_failed_turns_total") >= 1, "a turn fails")
            send(udp, http, numbered(1000))
            assert metric(http, "reports_total") == 2 * len(REPORTS)
            assert json.loads(get(http, "links"))
            assert history(http, "node=3&port=7"), "what is there can be read"
            other.execute("ROLLBACK")
        written = metric(http, "history_rows_total")
        send(udp, http, numbered(2000))
        wait_for(lambda: metric(http, "history_rows_total") > written, "rows are written again")
        assert metric(http, "history_missed_turns_total") >= 1


def test_files_that_are_no_history(tmp_path):
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"no database" * 1000)
    foreign = tmp_path / "foreign.db"
    with contextlib.closing(sqlite3.connect(foreign)) as other:
        other.execute("CREATE TABLE theirs (a)")
    for file, text in ((damaged, "file is not a database"), (foreign, "is a database of another program"),
                       (tmp_path / "no/such/history.db", "unable to open database file")):
        done = subprocess.run([DAEMON, "--switch", "1=127.0.0.1", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                               "--history", file], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 1
        assert f"history {file}: {text}" in done.stderr
    assert damaged.read_bytes() == b"no database" * 1000


def test_without_a_history_there_is_no_page_of_it():
    with daemon("--switch", "1=127.0.0.1") as (_, http):
        try:
            get(http, "history?node=1&port=1")
        except urllib.error.HTTPError as error:
            assert error.code == 404
        else:
            raise AssertionError("it was answered")
