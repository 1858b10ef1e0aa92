"""`tributary drain` (O1): a switch is emptied for its maintenance, and no op fails."""

import json
import re

import pytest
from testbed.switch import Job
from testbed.tree import TOP, binary

LIMIT_S = 50
LONG = [{"do": "allreduce", "count": 20_000, "dtype": "int32", "repeat": 100_000}]


def jobs(bed):
    return {row["job"]: row for row in bed.switch.show("jobs")}


def wait_on(worker, ops=20):
    """So many ops from now on."""
    worker.wait_event("progress", len(worker.of("progress")) + ops)


def check(workers):
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        done = worker.of("progress")
        assert [op["op"] for op in done] == list(range(len(done)))
        assert all(op["exact"] for op in done), f"rank {worker.rank}: a wrong sum"


def test_o1_a_switch_is_restarted_between_two_ops(make_bed, launch):
    bed = make_bed("veth", 4, jobs=[Job(1, 2), Job(2, 2)])
    start = launch(bed).start
    workers = start(LONG, job=1, ports=(0, 1)) + start(LONG, job=2, ports=(2, 3))
    for _ in range(3):
        for worker in workers:
            wait_on(worker)
        said = bed.switch.client("drain", "--socket", bed.switch.socket)
        assert said == "job 1: drained\njob 2: drained"
        assert all(row["held"] and row["state"] != "running" for row in jobs(bed).values())
        assert bed.switch.show("slots") == []
        bed.switch.stop()
        bed.switch.start()
    for worker in workers:
        wait_on(worker)
    check(workers)
    assert all(row["aborts"] == 0 and not row["held"] for row in jobs(bed).values())


def test_o1_ranks_whose_packets_have_crc32c_join_the_next_epoch_over_memif(make_bed, launch):
    """Rule 18: a JOIN that knows no integrity yet is covered by the UDP checksum, after a drain too."""
    bed = make_bed("memif", 2, jobs=[Job(1, 2, options=(("integrity", "crc32c"),))])
    workers = launch(bed).start(LONG)
    for _ in range(2):
        for worker in workers:
            wait_on(worker)
        for undo in ([], ["--undo"]):
            bed.switch.client("drain", "1", *undo, "--socket", bed.switch.socket)
    for worker in workers:
        wait_on(worker)
    check(workers)


def test_o1_one_job_pauses_and_the_other_goes_on(make_bed, loop, launch):
    bed = make_bed("veth", 4, jobs=[Job(1, 2), Job(2, 2)])
    start = launch(bed).start
    paused = start(LONG, job=1, ports=(0, 1))
    others = start(LONG, job=2, ports=(2, 3))
    for worker in paused + others:
        wait_on(worker)
    assert bed.switch.client("drain", "1", "--socket", bed.switch.socket) == "job 1: drained"
    bed.switch.client("set", "jobs.1.lease", "7s", "--socket", bed.switch.socket)
    # What was on its way to this test is here.
    had = [len(worker.of("progress")) for worker in paused]
    for worker in others:
        wait_on(worker, 50)
    assert all(len(worker.of("progress")) <= had[i] + 1 for i, worker in enumerate(paused))
    assert jobs(bed)[1]["held"] and not jobs(bed)[2]["held"]
    undone = bed.switch.client("drain", "1", "--undo", "--socket", bed.switch.socket)
    assert undone == "job 1: goes on"
    for worker in paused + others:
        wait_on(worker)
    check(paused + others)
    events = json.loads(bed.switch.client("events", "--json", "--socket", bed.switch.socket))
    texts = " ".join(event["text"] for event in events)
    assert "job 1: drained and held" in texts and "job 1: held no more" in texts, texts
    with pytest.raises(Exception, match="this switch has no job 9"):
        bed.switch.client("drain", "9", "--socket", bed.switch.socket)


def test_o1_a_rank_that_does_not_come_holds_a_drain_up(make_bed, gate, launch):
    bed = make_bed("veth", 2, jobs=[Job(1, 2)])
    step = {**LONG[0], "repeat": 3}
    workers = launch(bed).start(lambda rank: [step] if rank == 0 else [gate.step, step])
    workers[0].wait_event("submitted")
    bed.switch.client("set", "switch.drain_time", "1500ms", "--socket", bed.switch.socket)
    with pytest.raises(Exception, match=re.escape("job 1: not drained within 1500ms, and not held")):
        bed.switch.client("drain", "--socket", bed.switch.socket)
    assert not jobs(bed)[1]["held"]
    gate.open()
    for worker in workers:
        worker.finish()


def test_o1_a_change_that_comes_during_a_drain_has_its_own(make_bed, gate, launch):
    """Rank 1 has not called yet: the first change waits for it, and the second one for the first."""
    bed = make_bed("veth", 2, jobs=[Job(1, 2)])
    workers = launch(bed).start(lambda rank: LONG if rank == 0 else [gate.step, *LONG])
    workers[0].wait_event("submitted")
    bed.switch.client("set", "switch.drain_time", "40s", "--socket", bed.switch.socket)
    client = binary(bed.build, "tributary")
    changes = [
        bed.start(f"set{at}", [client, "set", key, value, "--socket", bed.switch.socket])
        for at, (key, value) in enumerate((("jobs.1.window", "16"), ("jobs.1.lease", "7s")))
    ]
    assert all(change.running for change in changes)
    assert jobs(bed)[1]["completions"] == 0
    gate.open()
    for change in changes:
        change.check_exit(LIMIT_S)
    for worker in workers:
        wait_on(worker)
    check(workers)
    assert jobs(bed)[1]["aborts"] == 0 and jobs(bed)[1]["drains"] > 0
    overrides = {row["path"]: row["value"] for row in bed.switch.show("overrides")}
    assert (overrides["jobs.1.window"], overrides["jobs.1.lease"]) == ("16", "7s"), overrides


def test_o1_a_job_moves_to_another_lcore_between_two_ops(make_bed, launch):
    bed = make_bed("veth", 2, jobs=[Job(1, 2, options=(("lcore", 0),))], lcores=(-1, -1))
    workers = launch(bed).start(LONG)
    for lcore in (1, 0):
        for worker in workers:
            wait_on(worker)
        assert jobs(bed)[1]["lcore"] != lcore
        bed.switch.client("set", "jobs.1.lcore", str(lcore), "--socket", bed.switch.socket)
        assert jobs(bed)[1]["lcore"] == lcore
    for worker in workers:
        wait_on(worker)
    check(workers)
    assert jobs(bed)[1]["aborts"] == 0


def test_o1_a_leaf_is_restarted_under_a_tree(make_tree, loop, launch_tree):
    bed = make_tree(TOP / "examples/hpcc-12.yaml")
    workers = launch_tree(bed).start(LONG)
    for worker in workers:
        wait_on(worker)
    for name in (bed.topology.serving(bed.topology.ranks(1)[0])["name"], root_of(bed.topology)):
        assert "job 1: drained" in bed.client(name, "drain")
        bed.switches[name].stop()
        bed.start_switch(name)
        for worker in workers:
            wait_on(worker)
    check(workers)


def root_of(topology):
    return next(name for name, switch in topology.switches.items() if "parent" not in switch)
