"""tributary-telemetryd on a network with two ways (C7): which one is chosen, why, and what is shown of it."""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import textwrap
import urllib.request
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from daemon_test import DAEMON, daemon, get, send, wait_for  # noqa: E402

CLIENT = os.environ["TRIBUTARY_CLIENT"]
# main hangs on switch L, work on switch R, with A and B between them.
NETWORK = """
nodes:
  - {name: main}
  - {name: L, id: 1, reports_from: 127.0.0.1}
  - {name: A, id: 2, reports_from: 127.0.0.1}
  - {name: B, id: 3, reports_from: 127.0.0.1}
  - {name: R, id: 4, reports_from: 127.0.0.1}
  - {name: work}
links:
  - {from: main, port: 0, to: L, port_there: 0}
  - {from: L, port: 1, to: A, port_there: 0}
  - {from: L, port: 2, to: B, port_there: 0}
  - {from: A, port: 1, to: R, port_there: 1}
  - {from: B, port: 1, to: R, port_there: 2}
  - {from: R, port: 0, to: work, port_there: 0}
paths:
  - {from: main, to: work}
  - {from: main, to: work, goal: most-bandwidth}
"""


def report(sequence, node, port, latency_ns=0xFFFFFFFF, utilisation_ppm=0xFFFFFFFF):
    """Report v2.0 of one hop: its ports, hop latency and utilisation."""
    own = struct.pack(">HHII", 9, port, latency_ns, utilisation_ppm)
    return struct.pack(">II", 2 << 28 | sequence, node) + struct.pack(
        ">BBBBHHHH", 1 << 4, (8 + len(own)) // 4, len(own) // 4, 0, 0x6100, 0, 0, 0) + own


class Reporters:
    def __init__(self, udp, http):
        self._ports = udp, http
        self._sequences = dict.fromkeys(range(1, 5), 0)

    def tell(self, **latencies_us):
        """`l1=100`: of node L's port 1."""
        rows = []
        for name, latency in latencies_us.items():
            node = " labr".index(name[0])
            rows.append(report(self._sequences[node], node, int(name[1]), latency * 1000, 100_000))
            self._sequences[node] += 1
        send(*self._ports, rows)


@pytest.fixture
def network(tmp_path):
    path = tmp_path / "network.yaml"
    path.write_text(NETWORK)
    with daemon("--topology", str(path), "--history", str(tmp_path / "history.db"), "--every", "100ms") as ports:
        yield ports


def paths(http):
    return json.loads(get(http, "paths"))


def test_c7_the_path_follows_the_latency_and_says_why(network):
    udp, http = network
    reporters = Reporters(udp, http)
    reporters.tell(l1=100, l2=900, a1=100, b1=100, r0=50)
    found = wait_for(lambda: [p for p in paths(http) if p["goal"] == "least-latency" and p["latency_us"] == 250],
                     "all links are known")[0]
    # Nothing was known when the first path was chosen, so it is the first of the file.
    assert found["path"] == "main -0-> L -1-> A -1-> R -0-> work" and found["hops"] == 4
    # main has one link: they branch at L.
    assert [row["path"] for row in found["candidates"]] == [found["path"], "main -0-> L -2-> B -1-> R -0-> work"]
    assert found["free_mbps"] == 9000
    for _ in range(40):
        reporters.tell(l1=50_000)
    moved = wait_for(lambda: [p for p in paths(http) if p["goal"] == "least-latency" and p["moves"] == 1],
                     "the path moves")[0]
    assert moved["path"] == "main -0-> L -2-> B -1-> R -0-> work"
    decisions = json.loads(get(http, "decisions"))
    assert "moved to a better one" in decisions[0]["explanation"]
    kept = wait_for(lambda: [d for d in json.loads(get(http, "history/decisions"))
                             if d["explanation"] == decisions[0]["explanation"]], "the decision is in the history")
    assert (kept[0]["from"], kept[0]["to"]) == ("main", "work")
    assert 'path_moves_total{from="main",to="work",goal="least-latency"} 1' in get(http, "metrics")
    links = {(row["from"], row["to"]): row for row in json.loads(get(http, "network"))["links"]}
    assert links["L", "B"]["latency_ns"] == 900_000
    assert links["main", "L"]["latency_ns"] == 0
    assert links["R", "A"]["latency_ns"] is None


def test_show_paths_and_links(network):
    udp, http = network
    Reporters(udp, http).tell(l1=100)

    def show(what, *options):
        command = [CLIENT, "show", what, "--telemetry", f"127.0.0.1:{http}", *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    done = show("links", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["latency_ns"] == 100_000
    table = show("paths").stdout.splitlines()
    assert re.split(r"\s{2,}", table[0].strip())[:3] == ["from", "to", "goal"]
    assert "main -0-> L -1-> A -1-> R -0-> work" in table[1]
    # The candidates, with their figures.
    assert any(line.startswith("  main -0-> L") for line in table)


def test_show_says_what_it_asked_in_vain():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        done = subprocess.run([CLIENT, "show", "paths", "--telemetry", f"127.0.0.1:{port}"],
                              capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stderr
    done = subprocess.run([CLIENT, "show", "paths"], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2 and "--telemetry" in done.stderr


def test_without_a_network_there_are_no_paths():
    with daemon("--switch", "1=127.0.0.1") as (_, http):
        done = subprocess.run([CLIENT, "show", "paths", "--telemetry", f"127.0.0.1:{http}"],
                              capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 1 and "404" in done.stderr


def test_the_documented_network_is_good(tmp_path):
    page = (Path(__file__).parents[2] / "docs/telemetry.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(nodes:.*?)```", page, re.S)
    path = tmp_path / "network.yaml"
    path.write_text(text)
    done = subprocess.run([DAEMON, "--topology", path, "--check"], capture_output=True, text=True, timeout=30,
                          check=False)
    assert (done.returncode, done.stdout) == (0, f"{path}: good\n"), done.stderr


def test_the_documented_paths_and_trees_are_good(tmp_path):
    docs = Path(__file__).parents[2] / "docs"
    network = yaml.safe_load(re.search(r"```yaml\n(nodes:.*?)```", (docs / "telemetry.md").read_text(), re.S)[1])
    page = (docs / "operating/best-paths.md").read_text()
    parts = [textwrap.dedent(part) for part in re.findall(r"```yaml\n( *nodes:.*?)```", page, re.S)]
    assert len(parts) == 2
    for node in network["nodes"]:
        node.update({"control": f"/run/{node['name']}.sock"} if "id" in node else {})
    for part in map(yaml.safe_load, parts):
        network.update({key: value for key, value in part.items() if key != "nodes"})
    path = tmp_path / "network.yaml"
    path.write_text(yaml.safe_dump(network))
    done = subprocess.run([DAEMON, "--topology", path, "--check"], capture_output=True, text=True, timeout=30,
                          check=False)
    assert done.returncode == 0 and network["trees"] and network["paths"][1]["destinations"], done.stderr


@pytest.mark.parametrize(("text", "mistake"), [
    ("nodes: [{name: a}, {name: a}]\nlinks: [{from: a, to: b}]", "'a' is there already"),
    ("nodes: [{name: a}, {name: b}]\nlinks: [{from: a, to: c}]", "there is no node 'c'"),
    ("nodes: [{name: a}, {name: b}]\nlinks: [{from: a, to: a}]", "is where it begins"),
    ("nodes: [{name: a}, {name: b}]\nlinks: [{from: a, to: b}, {from: b, to: a}]", "has a link already"),
    ("nodes: [{name: a, reports_from: 10.0.0.1}, {name: b}]\nlinks: [{from: a, to: b}]", "is of switches only"),
    ("nodes: [{name: a}, {name: b}]\nlinks: [{from: a, to: b}]\npaths: [{from: a, to: b, goal: nearest}]",
     "allowed: least-latency, most-bandwidth, fewest-hops"),
])
def test_mistakes_in_the_network_file(tmp_path, text, mistake):
    path = tmp_path / "network.yaml"
    path.write_text(text)
    done = subprocess.run([DAEMON, "--switch", "1=127.0.0.1", "--topology", path],
                          capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert mistake in done.stderr


def test_a_page_for_people(network):
    _, http = network
    with urllib.request.urlopen(f"http://127.0.0.1:{http}/", timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/html")
        page = answer.read().decode()
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
