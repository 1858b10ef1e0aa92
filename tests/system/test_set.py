"""`tributary set`: keys and elements of a running switch, seen to work, refused, taken back, kept.
And that who asks how things stand waits neither for a reload nor for another client."""

import contextlib
import json
import signal
import socket

import pytest
import yaml
from testbed.fabric import worker_address
from testbed.switch import Job

SMALL = {"do": "allreduce", "count": 50_000, "dtype": "int32", "repeat": 100_000}
PATIENCE_S = 60


@pytest.fixture
def bed(make_bed):
    return make_bed("veth", 3, jobs=[Job(1, 2)])


@pytest.fixture
def tell(bed):
    def run(command, *words):
        return bed.switch.client(command, "--socket", bed.switch.socket, *words)

    return run


def ping(bed, rank, address, *options):
    command = ["ping", "-c", "3", "-i", "0.2", "-W", "2", *options, address]
    return bed.start(f"ping-{rank}-{address}-{len(options)}", command, rank=rank).wait_exit(50) == 0


def test_keys_change_while_a_job_runs(bed, loop, tell, launch):
    workers = launch(bed).start([SMALL], ports=(0, 1))
    for worker in workers:
        worker.wait_event("progress")

    assert ping(bed, 2, worker_address(0))
    known = {row["port"] for row in bed.switch.show("fdb")}
    assert "w2" in known
    said = tell("set", "forwarding.fdb_ageing", "1s", "ports.w2.storm.broadcast", "1")
    assert "forwarding.fdb_ageing: 300s (default) -> 1s" in said
    assert "changed: ports[2].storm.broadcast, forwarding.fdb_ageing" in said
    assert "over the file, until `tributary unset`" in said
    loop.wait(
        lambda: "w2" not in {row["port"] for row in bed.switch.show("fdb")},
        PATIENCE_S,
        "the address to age",
    )

    def storms():
        return sum(row["packets"] for row in bed.switch.show("drops") if row["reason"] == "storm-control")

    assert storms() == 0 or ping(bed, 2, worker_address(0))
    flood = ["ping", "-b", "-c", "50", "-i", "0.01", "-W", "1", "10.77.0.255"]
    bed.start("flood", flood, rank=2).wait_exit(50)
    assert storms() > 10

    overrides = {row["path"]: (row["value"], row["file"]) for row in bed.switch.show("overrides")}
    assert overrides == {
        "forwarding.fdb_ageing": ("1s", "300s (default)"),
        "ports.w2.storm.broadcast": ("1", "0 (default)"),
    }
    assert "fdb_ageing: 1s" in bed.switch.client("show", "config", "--socket", bed.switch.socket)
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        assert all(op["exact"] for op in worker.of("progress"))


def test_an_idle_switch_sleeps_as_it_is_told(bed, loop, tell):
    def longest():
        return max(row["longest_turn_ms"] for row in bed.switch.show("lcores"))

    tell("set", "switch.idle_sleep_max", "60ms")
    loop.wait(lambda: longest() > 40, PATIENCE_S, "the loop to sleep longer than before")
    said = tell("unset", "switch.idle_sleep_max")
    assert "switch.idle_sleep_max: 60ms -> " in said
    assert bed.switch.show("overrides") == []


def test_what_is_refused_and_what_a_reload_keeps(bed, tell):
    before = bed.switch.client("show", "config", "--socket", bed.switch.socket)
    for words, why in {
        ("switch.slots", "128"): "switch.slots: only a restart changes it",
        ("forwarding.fdb_agein", "1s"): "did you mean 'fdb_ageing'",
        ("forwarding.fdb_ageing", "soon"): "'soon' .*allowed: 1s to",
        ("ports.w9.mtu", "1"): "name one of its elements: w0, w1, w2",
        ("ports.w0.mtu",): "has no value",
        ("ports.w0.vlan.allowed[1]", "7"): r"the list has 0 elements, \[\]; allowed: 0 to 0",
        ("ports.w0.storm.broadcast", "1", "switch.slots", "128"): "only a restart",
        ("forwarding.fdb_ageing", "-5"): "'-5' .*allowed: 1s to",
        ("jobs.7", "{workers: 0}"): r"jobs\[1\].workers: .*allowed: ",
    }.items():
        with pytest.raises(Exception, match=why):
            tell("set", *words)
    with pytest.raises(Exception, match="was not set"):
        tell("unset", "ports.w0.storm.broadcast")
    with pytest.raises(Exception, match="jobs.9: is not there"):
        tell("set", "--remove", "jobs.9")
    said = tell("set", "ports.w0.storm.broadcast", "1000", "--dry-run")
    assert "would be: changed: ports[0].storm.broadcast" in said
    assert bed.switch.client("show", "config", "--socket", bed.switch.socket) == before

    tell("set", "ports.w0.storm.broadcast", "1000")
    tell("set", "jobs.1.lease", "7s")
    file = bed.run / "switchd.yaml"
    good = file.read_text()
    file.write_text("no: file")
    with pytest.raises(Exception, match="unknown key"):
        tell("reload")
    assert len(bed.switch.show("overrides")) == 2
    content = yaml.safe_load(good)
    content["ports"][0].setdefault("storm", {})["multicast"] = 9
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    said = tell("reload")
    assert "still set: ports.w0.storm.broadcast (1000), jobs.1.lease (7s)" in said
    assert [row["state"] for row in bed.switch.show("overrides")] == ["in force"] * 2
    tell("unset", "--all")
    assert bed.switch.show("overrides") == []
    assert "nothing changed" in tell("reload")
    assert "multicast: 9 -> 10" in tell("set", "ports.w0.storm.multicast", "10")


def test_an_mtu_is_set(bed, tell, launch):
    """C1: without a moment of silence, and up to what buffers hold since the start."""
    workers = launch(bed).start([SMALL], ports=(0, 1))
    for worker in workers:
        worker.wait_event("progress")
    large = ("-s", "8600", "-M", "do")
    assert ping(bed, 2, worker_address(0), *large)
    assert "ports.w2.mtu: 9000 -> 8400" in tell("set", "ports.w2.mtu", "8400")
    assert not ping(bed, 2, worker_address(0), *large, "-q")
    assert any(row["port"] == "w2" and row["reason"] == "mtu-exceeded" for row in bed.switch.show("drops"))
    tell("set", "ports.w2.mtu", "9216")
    assert ping(bed, 2, worker_address(0), *large, "-q", "-n")
    assert {row["port"]: row["mtu"] for row in bed.switch.show("ports")}["w2"] == 9216
    assert not [row for row in bed.switch.show("drops") if row["reason"] == "tx-link-down"]
    for worker in workers:
        assert worker.process.running and all(op["exact"] for op in worker.of("progress"))


def test_an_element_of_a_list_is_set(bed, tell):
    """O1: where a list has it, by its place; what was set is the list."""
    tell("set", "ports.w0.vlan.mode", "trunk", "ports.w0.vlan.allowed", "[10, 20]")
    said = tell("set", "ports.w0.vlan.allowed[1]", "30-39", "ports.w0.vlan.allowed[2]", "50")
    assert "ports.w0.vlan.allowed: [10, 20] -> [10, 30-39, 50]" in said
    assert "changed: ports[0].vlan.allowed" in said
    vlans = {row["port"]: row for row in bed.switch.show("ports")}["w0"]["vlan"]
    assert "10" in vlans and "30-39" in vlans and "50" in vlans, vlans
    assert bed.switch.show("overrides")[1]["value"] == "[10, 30-39, 50]"
    for words, why in {
        ("ports.w0.vlan.allowed[1]", "[1, 2]"): "is one value, not a list",
        ("ports.w0.mtu", "8400", "--nonsense"): "unknown option '--nonsense'",
    }.items():
        with pytest.raises(Exception, match=why):
            tell("set", *words)
    with pytest.raises(Exception, match=r"ports\[0\].vlan.allowed\[1\]: '5000' .*allowed: 1 to"):
        tell("set", "ports.w0.vlan.allowed[1]", "5000")
    tell("unset", "ports.w0.vlan.allowed", "ports.w0.vlan.mode")
    assert bed.switch.show("overrides") == []


def test_jobs_and_ports_come_and_go_and_outlive_a_restart(bed, loop, tell, launch):
    """C1: with the memory of a file that reserves none by itself, beside a job that runs."""
    running = launch(bed).start([SMALL], ports=(0, 1))
    for worker in running:
        worker.wait_event("progress")
    said = tell("set", "jobs.7", "{workers: 2, chunk_bytes: 4096, arithmetic: modular}")
    assert "jobs: 7 added; 1 as before" in said
    few = [dict(SMALL, repeat=3)]

    def run_job(job):
        for worker in launch(bed).start(few, job=job, ports=(1, 2)):
            worker.finish()

    run_job(7)
    for worker in running:
        assert worker.process.running and all(op["exact"] for op in worker.of("progress"))
        worker.process.stop()
    said = tell("set", "--remove", "jobs.1", "ports.w0")
    assert "ports.w0: {name: w0, devargs: " in said and "-> none" in said

    before = bed.switch.show("overrides")
    bed.switch.stop()
    bed.switch.start()
    assert bed.switch.show("overrides") == before
    assert [row["port"] for row in bed.switch.show("ports")] == ["w1", "w2"]
    assert {row["job"] for row in bed.switch.show("jobs")} == {7}
    run_job(7)
    assert "jobs: 1 added, 7 removed" in tell("unset", "--all")
    assert {row["port"] for row in bed.switch.show("ports")} == {"w0", "w1", "w2"}


def test_a_rule_comes_at_its_place(bed, tell):
    assert ping(bed, 0, worker_address(1))
    tell("set", "acl.rules.icmp", "{action: allow, protocol: icmp}")
    tell("set", "acl.rules[0]", "{name: no-echo, action: deny, protocol: icmp, port: w0}")
    assert [row["rule"] for row in bed.switch.show("acl")][:2] == ["no-echo", "icmp"]
    assert not ping(bed, 0, worker_address(1), "-q")
    tell("set", "--remove", "acl.rules.no-echo")
    assert ping(bed, 0, worker_address(1), "-q", "-n")


def test_a_bad_override_is_set_aside_and_the_switch_starts(bed, tell):
    tell("set", "jobs.7", "{workers: 2}", "forwarding.fdb_ageing", "60s")
    bed.switch.stop()
    file = bed.run / "switchd.overrides"
    gone = "- {path: ports.x, element: {name: x, devargs: \"net_af_packet9,iface=gone0\", mtu: 9000}}\n"
    contradiction = "- {path: jobs.8, element: {id: 8, workers: 2, members: [{rank: 0, port: nowhere}]}}\n"
    file.write_text(file.read_text() + gone + contradiction)
    bed.switch.start()
    rows = {row["path"]: row["state"] for row in bed.switch.show("overrides")}
    assert rows["jobs.7"] == rows["forwarding.fdb_ageing"] == "in force"
    assert "there is no interface 'gone0' here" in rows["ports.x"], rows
    assert "nowhere" in rows["jobs.8"], rows
    assert "set aside: ports.x" in "\n".join(bed.switch.process.stderr)
    assert {row["job"] for row in bed.switch.show("jobs")} == {1, 7}

    bed.switch.stop()
    file.write_text("- {path")
    bed.switch.start()
    assert bed.switch.show("overrides") == []
    assert (bed.run / "switchd.overrides.damaged").read_text() == "- {path"


class SilentPeer:
    """Serves the socket of a virtio-user port, and never says a word: the port opens when it has gone."""

    def __init__(self, path):
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._listener.settimeout(PATIENCE_S)
        self._connection = None

    def wait(self):
        """Until the device is about to be opened."""
        self._connection, _ = self._listener.accept()

    def go(self):
        self._listener.close()
        self._connection.close()


def ask(bed, request):
    """One line to the control socket, without a client; returns the connection."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE_S)
    connection.connect(str(bed.switch.socket))
    connection.sendall(request)
    return connection


def answer(connection):
    with connection, connection.makefile() as lines:
        return json.loads(lines.readline())


def with_slow_port(bed):
    """A file with one more port, whose device opens as late as its peer wishes."""
    file = bed.run / "switchd.yaml"
    content = yaml.safe_load(file.read_text())
    devargs = f"net_virtio_user9,path={bed.run / 'silent.sock'}"
    port = {"name": "slow", "devargs": devargs, "mtu": content["ports"][0]["mtu"]}
    content["ports"].append(port)
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return SilentPeer(bed.run / "silent.sock")


def test_who_asks_waits_neither_for_a_reload_nor_for_other_clients(bed, tell):
    """C1: with a reload under way that waits for a device, and clients that are silent or slow."""
    peer = with_slow_port(bed)
    tell("set", "ports.w0.storm.broadcast", "1000")
    reload = ask(bed, b'{"command":"reload"}\n')
    peer.wait()
    with contextlib.ExitStack() as stack:
        for _ in range(80):  # more than there can be
            stack.enter_context(ask(bed, b""))
        stack.enter_context(ask(bed, b'{"comm'))
        for what in ("ports", "jobs", "members", "slots", "stages", "lcores", "rxq", "fdb", "config",
                     "buffers", "drops", "overrides"):
            told = answer(ask(bed, json.dumps({"command": "show", "what": what}).encode() + b"\n"))
            assert told["ok"], told
            assert len(told["data"]) == {"ports": 3, "overrides": 1}.get(what, len(told["data"]))
        again = ask(bed, b'{"command":"set","values":{"forwarding.fdb_ageing":"1s"}}\n')
    peer.go()
    refused = answer(reload)
    assert not refused["ok"] and "port slow" in refused["error"], refused
    assert answer(again)["ok"], "it had its turn"
    assert [row["port"] for row in bed.switch.show("ports")] == ["w0", "w1", "w2"]


def test_a_signal_reloads_beside_everything_else(bed, loop, tell):
    """C1: SIGHUP, too, may wait for a device; then a second one brings what the file says by now."""
    file = bed.run / "switchd.yaml"
    good = file.read_text()
    peer = with_slow_port(bed)
    bed.switch.process.signal(signal.SIGHUP)
    peer.wait()
    with pytest.raises(Exception, match="busy: another change"):
        tell("reload")
    assert len(bed.switch.show("ports")) == 3
    content = yaml.safe_load(good)
    content["ports"][2]["name"] = "renamed"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    bed.switch.process.signal(signal.SIGHUP)
    peer.go()
    for said in "not reloaded: port slow", "port w2 is called renamed":
        loop.wait(lambda said=said: said in "\n".join(bed.switch.process.stderr), PATIENCE_S, said)
