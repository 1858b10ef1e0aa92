"""In-band telemetry on real switches and a real telemetry server (C5, C6, C7)."""

import json
import signal
import sys
import time
from pathlib import Path

import ioam_frames
import yaml
from testbed.tree import TOP

TRACES = Path(__file__).with_name("ioam_frames.py")
WATCH = Path(__file__).with_name("marked_frames.py")
STEPS = [
    {"do": "allreduce", "count": 20_000, "dtype": "int32", "repeat": 10, "seed": 5},
    {"do": "allreduce", "count": 5_000, "dtype": "float32", "repeat": 5, "seed": 6},
]
ROOT, LEAF = 250, 201


def two_switches(folder):
    """The shipped example without its second leaf: workers w1 to w3 on A, A on the root."""
    tree = yaml.safe_load((TOP / "examples/two-level-5.yaml").read_text())
    tree["switches"] = [s for s in tree["switches"] if s["name"] != "B"]
    tree["workers"] = [w for w in tree["workers"] if w["switch"] == "A"]
    # A rank on the root, so that sums go there.
    tree["workers"].append({"name": "w4", "switch": "root", "port": "b", "address": "10.77.0.4"})
    tree["jobs"] = [{"id": 1, "workers": 4, "window": 64, "chunk_bytes": 4096}]
    path = folder / "two-switches.yaml"
    path.write_text(yaml.safe_dump(tree, sort_keys=False))
    return path


class Watch:
    """Counts frames on an interface, and those with metadata."""

    def __init__(self, bed, node, interface):
        self._process = bed.start(f"watch-{node}", [sys.executable, WATCH, interface], node)
        self._process.wait_line("^ready", 30)

    def counts(self):
        self._process.signal(signal.SIGTERM)
        self._process.check_exit(30)
        return json.loads(self._process.stdout[-1])


def hops_of_op(bed, switch, what, ranks):
    """Of each op, the hops in its lines of this kind at that switch."""
    found = []
    for op in range(sum(step["repeat"] for step in STEPS)):
        for row in bed.show(switch, f"op 1/{op}"):
            if row["what"] == what and (row["ranks"] or []) == ranks:
                found.append(row["hops"])
    assert found, f"{switch}: no line '{what}' of {ranks}"
    return found


def check_hops_of_ops(bed):
    """`show op`: sums have passed A, results the root, and the rank on the root nothing."""
    for switch, what, ranks, node in (
        ("root", "arrived", [0, 1, 2], LEAF),
        ("A", "result of the parent", [], ROOT),
    ):
        for hops in hops_of_op(bed, switch, what, ranks):
            (hop,) = hops
            assert hop["node"] == node and 0 < hop["latency_us"] < 10e6, hops
    assert set(map(str, hops_of_op(bed, "root", "arrived", [3]))) == {"None"}


def test_c5_other_traffic_is_watched_at_every_hop(make_tree, tmp_path):
    """Pings that rules watch: each switch reports the same ones, and none is changed or lost."""
    path = two_switches(tmp_path)
    tree = yaml.safe_load(path.read_text())
    for switch in tree["switches"]:
        switch["acl"] = {"rules": [{"name": "pings", "action": "allow", "protocol": "icmp"}]}
    path.write_text(yaml.safe_dump(tree, sort_keys=False))
    bed = make_tree(path, telemetry=16)
    for name in ("root", "A"):
        bed.client(name, "set", "acl.rules.pings.watch", "4")
    ping = bed.start("ping", ["ping", "-i", "0.01", "-c", "200", "10.77.0.1"], "w4")
    ping.check_exit(60)
    assert " 0% packet loss" in ping.text(), ping.text()[-300:]
    watched = {name: bed.show(name, "telemetry")[0]["watched"] for name in ("root", "A")}
    # 200 requests and 200 answers, each number with a hash of its own.
    assert watched["root"] == watched["A"] and 50 < watched["A"] < 150, watched
    pings = ("::ffff:10.77.0.4", "::ffff:10.77.0.1")

    def flows():
        rows = [row for row in bed.telemetry.page("flows")
                if row["protocol"] == 1 and (row["source"], row["destination"]) in (pings, pings[::-1])]
        return rows if sum(row["reports"] for row in rows) == 2 * watched["A"] else None

    rows = bed.loop.wait(flows, 30, "all reports of both ways")
    assert len(rows) == 2
    for row in rows:
        assert {hop["node"] for hop in row["hops"]} == {ROOT, LEAF} and not row["whole"], row
        assert all(0 < hop["latency_ns"] < 1e9 for hop in row["hops"]) and row["changes"] == 0, row


def test_c5_traces_of_other_packets_are_filled_at_every_hop(make_tree, tmp_path):
    """IOAM from w4 on the root to w1 on A; one of another namespace arrives as it was sent."""
    path = two_switches(tmp_path)
    tree = yaml.safe_load(path.read_text())
    for switch in tree["switches"]:
        ports = [port["name"] for port in switch["ports"]]
        switch["telemetry"] = {
            "node_id": switch["id"], "report_to": "127.0.0.1:9", "ioam": {"namespace": 123, "ports": ports}}
    path.write_text(yaml.safe_dump(tree, sort_keys=False))
    bed = make_tree(path)
    receiver = bed.start("traces-to", [sys.executable, TRACES, "receive", "eth0", "3"], "w1")
    mac = receiver.wait_line(r"^ready (\S+)", 30)[1]
    for name in ("root", "A"):
        bed.loop.wait(lambda name=name: mac in {row["mac"] for row in bed.show(name, "fdb")}, 30, f"{name} knows w1")
    began = time.time()
    bed.start("traces-from", [sys.executable, TRACES, "send", "eth0", mac, "123", "9", "123"], "w4").check_exit(30)
    receiver.check_exit(30)
    first, foreign, last = map(bytes.fromhex, json.loads(receiver.stdout[-1]))
    assert foreign == ioam_frames.packet(9)
    for found in (first, last):
        namespace, left, nodes = ioam_frames.hops(found)
        room = ioam_frames.WORDS * ioam_frames.ROOM
        assert (namespace, left) == (123, room - 2 * ioam_frames.WORDS)
        assert [(node["node"], node["ports"]) for node in nodes] == [(LEAF, (0, 1)), (ROOT, (1, 0))], nodes
        for node in nodes:
            assert node["hop_limit"] == ioam_frames.HOP_LIMIT and 0 < node["delay_ns"] < 10e9 and node["queue"] < 100
            assert began - 1 < node["time"] < time.time() + 1
        assert nodes[1]["time"] < nodes[0]["time"], "one clock here"
    for name in ("root", "A"):
        (row,) = bed.show(name, "telemetry")
        assert (row["traces"], row["traces_full"], row["traces_malformed"]) == (2, 0, 0), row


def test_c5_c6_c7_sums_are_exact_and_every_hop_is_seen(make_tree, launch_tree, tmp_path):
    bed = make_tree(two_switches(tmp_path), telemetry=1)
    uplink = Watch(bed, "A", "up")
    hosts = [Watch(bed, worker, "eth0") for worker in ("w1", "w4")]
    for worker in launch_tree(bed).start(STEPS):
        worker.finish()
    between = uplink.counts()
    assert between["marked"] > 100, between
    for host in hosts:
        seen = host.counts()
        assert seen["frames"] > 100 and seen["marked"] == 0, seen
    for switch in ("root", "A"):
        (row,) = bed.show(switch, "telemetry")
        assert row["inserted"] > 100 and row["stripped"] > 100, row
        assert row["malformed"] == row["unstripped"] == row["untrusted"] == row["no_space"] == 0

    check_hops_of_ops(bed)

    wanted = {(ROOT, 0), (ROOT, 1), *((LEAF, port) for port in range(4))}

    def known():
        links = {(row["node"], row["port"]): row for row in bed.telemetry.show("links")}
        return links if wanted <= links.keys() else None

    links = bed.loop.wait(known, 30, "every port is reported")
    for link in wanted:
        assert 0 < links[link]["p50_ns"] <= links[link]["most_ns"], links[link]
    ops = sum(step["repeat"] for step in STEPS)
    ends = bed.loop.wait(lambda: [row for row in bed.telemetry.page("ops") if row["op"] == ops - 1], 30,
                         "the end of the last op is told")
    assert [(row["job"], row["node"], row["ended"]) for row in ends] == [(1, ROOT, ops)], ends
    assert 0 < ends[0]["period_ns"] < 10e9

    paths = {row["to"]: row for row in bed.telemetry.show("paths")}
    assert paths["w1"]["path"] == "root -0-> A -1-> w1"
    assert paths["w1"]["latency_us"] is not None
