"""Switches die under ranks that retry (rule 23, T1): no op fails, every sum is exact, and all ranks
hold the same bits.

TRIBUTARY_SEED and TRIBUTARY_ROUNDS choose another run, or a longer one.
"""

import os
import random
import signal

import pytest
from testbed.switch import Job
from testbed.tree import TOP

LONG = [{"do": "allreduce", "count": 3_000, "dtype": "int32", "repeat": 100_000, "seed": 5}]
FLOATS = [{**LONG[0], "dtype": "float32"}]
LEASE_S = 1.0


def wait_on(worker, ops=5):
    """So many ops from now on."""
    worker.wait_event("progress", len(worker.of("progress")) + ops)


def check(workers):
    """Each op once, in order, exact, and of the same bits everywhere."""
    digests = {}
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        done = worker.of("progress")
        assert [op["op"] for op in done] == list(range(len(done)))
        assert all(op["exact"] for op in done), f"rank {worker.rank}: a wrong sum"
        for op in done:
            digests.setdefault(op["op"], set()).add(op["digest"])
    assert all(len(bits) == 1 for bits in digests.values())


@pytest.mark.parametrize("steps", [LONG, FLOATS], ids=["int32", "float32"])
def test_rule23_every_switch_of_a_tree_dies_in_turn(make_tree, launch_tree, steps):
    dice = random.Random(int(os.environ.get("TRIBUTARY_SEED", "1")))
    bed = make_tree(TOP / "examples/hpcc-12.yaml", job_options={"lease": f"{LEASE_S:g}s"})
    workers = launch_tree(bed).start(steps, retry="ops")
    names = list(bed.topology.switches)
    for _ in range(int(os.environ.get("TRIBUTARY_ROUNDS", "1"))):
        dice.shuffle(names)
        for name in names:
            for worker in workers:
                wait_on(worker, dice.randrange(1, 5))
            counts = [len(worker.of("progress")) for worker in workers]
            bed.switches[name].signal(signal.SIGKILL)
            bed.start_switch(name)
            for worker, count in zip(workers, counts):
                worker.wait_event("progress", count + 3)
            first = [worker.of("progress")[count:] for worker, count in zip(workers, counts)]
            print(f"{name}: longest op {max(op['took_s'] for ops in first for op in ops):.3f} s")
    check(workers)


def test_rule23_a_switch_dies_and_is_restarted_by_turns(make_bed, launch):
    """Its job sums float32 alone; the ranks agree on what they have by int64."""
    options = (("lease", f"{LEASE_S:g}s"), ("reductions", ["float32 sum"]))
    bed = make_bed("veth", 3, jobs=[Job(1, 3, options)])
    workers = launch(bed).start(FLOATS, retry="ops")
    for number in range(4):
        for worker in workers:
            wait_on(worker)
        if number % 2 == 0:
            bed.switch.process.signal(signal.SIGKILL)
            bed.switch.process.wait_exit(50)
        else:
            bed.switch.stop()
        bed.switch.start()
    for worker in workers:
        wait_on(worker)
    check(workers)
    [row] = bed.switch.show("jobs")
    assert row["retries"] == 1 and row["state"] == "running", row


def test_rule23_a_rank_that_is_gone_is_named(make_bed, launch):
    bed = make_bed("veth", 3, jobs=[Job(1, 3, (("lease", f"{LEASE_S:g}s"),))])
    workers = launch(bed).start(LONG, retry="ops", retry_timeout=2.0)
    for worker in workers:
        wait_on(worker)
    workers[1].process.signal(signal.SIGKILL)
    for rank in (0, 2):
        error = workers[rank].fail()
        assert error["reason"] == "lease-expired" and error["missing_ranks"] == [1], error
        assert "its ops were to be done again, but" in error["text"]
        assert "waiting for rank 1" in error["text"]


def test_rule23_a_rank_that_does_not_retry_is_named_by_those_that_do(make_bed, launch):
    bed = make_bed("veth", 3, jobs=[Job(1, 3, (("lease", f"{LEASE_S:g}s"),))])
    launcher = launch(bed)
    workers = [
        launcher.start_rank(rank, 3, LONG, retry="none" if rank == 1 else "ops", retry_timeout=2.0)
        for rank in range(3)
    ]
    for worker in workers:
        wait_on(worker)
    bed.switch.process.signal(signal.SIGKILL)
    bed.switch.process.wait_exit(50)
    bed.switch.start()
    assert "its ops were to be done again" not in workers[1].fail()["text"]
    for rank in (0, 2):
        error = workers[rank].fail()
        assert "its ops were to be done again, but" in error["text"], error
        assert "waiting for rank 1" in error["text"], error
