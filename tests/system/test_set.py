"""`tributary set`: single keys of a running switch, seen to work, refused, taken back, dropped by a reload."""

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
    assert "a reload or a restart drops it" in said
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
    said = tell("set", "switch.idle_sleep_max", "--default")
    assert "switch.idle_sleep_max: 60ms -> " in said
    assert bed.switch.show("overrides") == []


def test_what_is_refused_and_what_a_reload_drops(bed, tell):
    before = bed.switch.client("show", "config", "--socket", bed.switch.socket)
    for words, why in {
        ("switch.slots", "128"): "switch.slots: only a restart changes it",
        ("forwarding.fdb_agein", "1s"): "did you mean 'fdb_ageing'",
        ("forwarding.fdb_ageing", "soon"): "'soon' .*allowed: 1s to",
        ("ports.w9.mtu", "1"): "name one of its elements: w0, w1, w2",
        ("ports.w0.mtu",): "has no value",
        ("ports.w0.storm.broadcast", "1", "switch.slots", "128"): "only a restart",
        ("ports.w0.storm.broadcast", "--default"): "was not set",
    }.items():
        with pytest.raises(Exception, match=why):
            tell("set", *words)
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
    assert "dropped what was set: ports.w0.storm.broadcast (1000), jobs.1.lease (7s)" in said
    assert bed.switch.show("overrides") == []
    assert "nothing changed" in tell("reload")
    assert "multicast: 9 -> 10" in tell("set", "ports.w0.storm.multicast", "10")
