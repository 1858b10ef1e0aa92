"""Results that do without a late rank (rule 21, T9, T16), on a real switch and a tree of them."""

import signal

import pytest
from testbed.switch import Job
from testbed.tree import TOP

ALLOWED = (
    ("deadline", "1s"),
    ("on_deadline", "escalate"),
    ("stragglers", {"degraded_after": "1s"}),
)
LATE = 3
LIMIT_S = 50

TREE = TOP / "examples/hpcc-12.yaml"
TREE_LATE, SIBLING = 1, 0  # w112 and w111, on the same switch
# Ops of 49 chunks. Ranks wait for one that is two windows behind.
TREE_OPS = [{"do": "allreduce", "count": 12_500, "dtype": "int32", "repeat": 1000, "seed": 6}]
TREE_OPTIONS = {"chunk_bytes": 1024, "window": 512, "lease": "40s", "deadline": "1s", "on_deadline": "escalate"}
# A busy machine delays no rank by as much.
TREE_PATIENCE = "2s"


def test_rule21_all_get_the_same_result_without_the_late_rank(make_bed, launch, gate):
    """Three of four ranks end an op without the fourth, which gets their bits and list later."""
    bed = make_bed("veth", 4, jobs=[Job(1, 4, options=ALLOWED)])
    first = {"do": "allreduce", "count": 1000, "dtype": "int32", "seed": 1}  # one chunk
    last = {**first, "seed": 2}
    workers = launch(bed).start(
        lambda rank: ([gate.step] if rank == LATE else []) + [first, {"do": "barrier"}, last]
    )
    in_time = [worker.wait_event("progress") for worker in workers if worker.rank != LATE]
    assert not workers[LATE].of("progress")
    gate.open()
    for worker in workers:
        worker.finish()
    results = [worker.of("progress")[0] for worker in workers]
    # Who else was that late on a busy machine is on the list, too.
    assert LATE in in_time[0]["missing"]
    for result in results:
        assert result["missing"] == in_time[0]["missing"], results
        assert result["digest"] == in_time[0]["digest"], results
        assert result["exact"], results
    # The barrier has waited for everybody, and the next op has whoever was in time for it.
    lasts = [worker.of("progress")[1] for worker in workers]
    assert all(result["digest"] == lasts[0]["digest"] for result in lasts), lasts

    host = bed.switch.show("completion")[0]
    assert host["degraded"] >= 1 and host["left_out"] >= 1, host
    assert bed.switch.show("jobs")[0]["degraded_results"] >= 1


def check_stream(workers):
    """What survivors have of an op, they have alike."""
    results = {}
    for worker in workers:
        for op in worker.of("progress"):
            assert op["exact"], op
            told = (op["missing"], op["digest"])
            assert results.setdefault(op["op"], told) == told, (worker.rank, op)


@pytest.mark.parametrize("back", [False, True], ids=["silent", "restarted"])
def test_rule21_a_killed_rank_is_missed_then_ends_the_epoch(make_bed, launch, back):
    """Ops go on without a rank that was killed in them, until its lease is over or it joins anew."""
    lease = "30s" if back else "3s"
    bed = make_bed("veth", 4, jobs=[Job(1, 4, options=(*ALLOWED, ("lease", lease)))])
    launcher = launch(bed)
    op = {"do": "allreduce", "count": 1000, "dtype": "int32", "seed": 1}
    workers = launcher.start([{**op, "repeat": 100_000}])
    for worker in workers:
        worker.wait_event("progress", 3)
    workers[LATE].process.signal(signal.SIGKILL)
    others = [worker for worker in workers if worker.rank != LATE]
    again = []
    if back:
        bed.loop.wait(
            lambda: all(LATE in worker.of("progress")[-1]["missing"] for worker in others),
            LIMIT_S,
            "all others have a result that lacks the killed rank",
        )
        again = [launcher.start_rank(LATE, 4, [op])]
    for worker in others:
        assert worker.fail()["missing_ranks"] == [LATE]
    check_stream(others)
    for worker in again + [launcher.start_rank(rank, 4, [op]) for rank in range(4 - len(again))]:
        worker.finish()


def start_tree(make_tree, launch_tree, **stragglers):
    bed = make_tree(TREE, job_options={
        **TREE_OPTIONS, "stragglers": {"degraded_after": TREE_PATIENCE, **stragglers}})
    workers = launch_tree(bed).start(TREE_OPS)
    for worker in workers:
        worker.wait_event("progress", 2)
    return bed, workers


def missing_in(workers, ops):
    """The list of each of so many further ops, which all workers must have alike."""
    first = max(len(worker.of("progress")) for worker in workers)
    for worker in workers:
        worker.wait_event("progress", first + ops)
    lists = []
    for op in range(first, first + ops):
        results = [worker.of("progress")[op] for worker in workers]
        assert all(result["exact"] for result in results), results
        assert all(result["missing"] == results[0]["missing"] for result in results), results
        lists.append(results[0]["missing"])
    return lists


@pytest.mark.parametrize("exclude", ["none", "threshold"])
def test_rule21_only_the_late_rank_is_missing_then_only_ranks_of_a_dead_switch(
        make_tree, launch_tree, exclude):
    """T9: neither the sibling nor the uncle of a late rank, whose data is there, is left out."""
    bed, workers = start_tree(make_tree, launch_tree, exclude=exclude)
    others = [worker for worker in workers if worker.rank != TREE_LATE]
    workers[TREE_LATE].process.signal(signal.SIGSTOP)
    # It may have sent a part of the ops that were open.
    *first, last = missing_in(others, 3)
    assert all(set(missing) <= {TREE_LATE} for missing in first)
    assert last == [TREE_LATE]
    bed.switches["S250"].signal(signal.SIGKILL)
    others = [worker for worker in others if worker.rank != SIBLING]
    *first, last = missing_in(others, 3)
    assert all({TREE_LATE} <= set(missing) <= {SIBLING, TREE_LATE} for missing in first)
    assert last == [SIBLING, TREE_LATE]
