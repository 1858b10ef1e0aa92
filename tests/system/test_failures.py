"""Crashes and mistakes: everyone concerned learns of it, nothing leaks, the next run works."""

import os
import signal

import pytest
from testbed.switch import Job

PATIENT = (("lease", "5s"), ("deadline", "3s"))
LARGE = {"do": "allreduce", "count": 2_000_000, "dtype": "float32"}
SMALL = {"do": "allreduce", "count": 5_000, "dtype": "int32", "repeat": 3}


def wait_forever(bed):
    """A step that does not end: nobody opens the FIFO."""
    path = bed.run / "never"
    os.mkfifo(path, 0o666)
    return {"do": "wait_fifo", "path": str(path)}


def has_reader(fifo):
    """Whether a process waits for this FIFO; it goes on."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return True
    except OSError:
        return False


def slots_in_use(bed):
    return len(bed.switch.show("slots")) + sum(j["slots_open"] for j in bed.switch.show("jobs"))


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_killed_worker_is_named_slots_are_freed_next_run_works(make_bed, launch, loop, ports):
    bed = make_bed(ports, 4, jobs=[Job(1, 4, options=PATIENT)])
    launcher = launch(bed)
    never = wait_forever(bed)
    workers = launcher.start(lambda rank: [SMALL, never] if rank == 2 else [SMALL, LARGE])
    others = [worker for worker in workers if worker.rank != 2]
    for worker in others:
        worker.wait_event("submitted", 2)  # the large op has begun, without rank 2
    workers[2].process.signal(signal.SIGKILL)
    for worker in others:
        error = worker.fail()
        assert error["missing_ranks"] == [2], error
        assert "2" in error["text"]
    loop.wait(lambda: slots_in_use(bed) == 0, 30, "the aborted op's slots are free")
    for worker in launcher.start([SMALL, LARGE]):
        worker.finish()


@pytest.mark.parametrize("forks", [False, True])
def test_a_killed_memif_rank_is_missed_at_once(make_bed, launch, forks):
    """O1: its process has ended, though a child of it may keep the connection open. Its lease would
    outlast this test."""
    bed = make_bed("memif", 3, jobs=[Job(1, 3, options=(("lease", "3600s"), ("deadline", "3600s")))])
    launcher = launch(bed)
    child = bed.run / "child"
    os.mkfifo(child, 0o666)
    fork = [{"do": "fork", "until": str(child)}] if forks else []
    never = wait_forever(bed)
    workers = launcher.start(lambda rank: [SMALL, *fork, never] if rank == 2 else [SMALL, LARGE])
    for worker in workers[:2]:
        worker.wait_event("submitted", 2)
    if forks:
        workers[2].wait_event("forked")
    workers[2].process.signal(signal.SIGKILL)
    for worker in workers[:2]:
        error = worker.fail()
        assert (error["reason"], error["missing_ranks"]) == ("lease-expired", [2]), error
    bed.loop.wait(
        lambda: [port["link"] for port in bed.switch.show("ports")] == ["listening"] * 3, 30, "no client is left"
    )
    for worker in launcher.start([SMALL]):
        worker.finish()
    if forks:
        bed.loop.wait(lambda: has_reader(child), 30, "the child was there all the time, and ends")


def test_a_killed_udp_rank_is_missed_before_its_lease(make_bed, launch):
    """O1: its host sends back the question to it. Its lease would outlast this test."""
    bed = make_bed("veth", 3, jobs=[Job(1, 3, options=(("lease", "3600s"), ("deadline", "3600s")))])
    launcher = launch(bed)
    never = wait_forever(bed)
    workers = launcher.start(lambda rank: [SMALL, never] if rank == 2 else [SMALL, LARGE])
    for worker in workers[:2]:
        worker.wait_event("submitted", 2)
    workers[2].process.signal(signal.SIGKILL)
    for worker in workers[:2]:
        error = worker.fail()
        assert (error["reason"], error["missing_ranks"]) == ("lease-expired", [2]), error
    for worker in launcher.start([SMALL]):
        worker.finish()


def test_killed_amid_a_stream_of_ops(make_bed, launch):
    """The same without any pause: the kill hits ops in flight."""
    bed = make_bed("veth", 3, jobs=[Job(1, 3, options=PATIENT)])
    launcher = launch(bed)
    endless = {"do": "allreduce", "count": 300_000, "dtype": "int32", "repeat": 100_000}
    workers = launcher.start([endless])
    for worker in workers:
        worker.wait_event("progress", 3)
    workers[0].process.signal(signal.SIGKILL)
    for worker in workers[1:]:
        assert worker.fail()["missing_ranks"] == [0]
    for worker in launcher.start([SMALL]):
        worker.finish()


def test_same_job_again_gets_its_own_sums(make_bed, launch):
    """Rule 1: epochs. The second run's data differ, so cached sums of the first would show."""
    bed = make_bed("veth", 2)
    launcher = launch(bed)
    for seed in (1, 2, 3):
        steps = [{"do": "allreduce", "count": 100_000, "dtype": "int32", "seed": seed}]
        for worker in launcher.start(steps):
            worker.finish()


def test_restarted_rank_ends_the_epoch_for_the_others(make_bed, launch):
    """Rule 1: a rank that joins anew was restarted; the survivors are told its id."""
    bed = make_bed("veth", 2)
    launcher = launch(bed)
    never = wait_forever(bed)
    workers = launcher.start(lambda rank: [SMALL, never] if rank == 1 else [SMALL, LARGE])
    workers[0].wait_event("submitted", 2)
    workers[1].process.signal(signal.SIGKILL)
    second = launcher.start_rank(1, 2, [SMALL])
    assert workers[0].fail()["missing_ranks"] == [1]
    launcher.start_rank(0, 2, [SMALL]).finish()
    second.finish()


@pytest.mark.parametrize(
    "odd, words",
    [
        ({"count": 4_000, "dtype": "int32"}, ("5000", "4000")),
        ({"count": 5_000, "dtype": "float32"}, ("int32", "float32")),
    ],
    ids=["counts", "dtypes"],
)
def test_disagreement_is_reported_to_every_worker(make_bed, launch, odd, words):
    bed = make_bed("veth", 3)
    plain = {"do": "allreduce", "count": 5_000, "dtype": "int32"}
    workers = launch(bed).start(lambda rank: [{**plain, **odd} if rank == 1 else plain])
    for worker in workers:
        error = worker.fail()
        assert "mismatch" in error["reason"], error
        assert "rank 1" in error["text"], error
        for word in words:
            assert word in error["text"], error


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_switch_killed_and_restarted_nobody_hangs(make_bed, launch, ports):
    bed = make_bed(ports, 3, jobs=[Job(1, 3, options=PATIENT)])
    launcher = launch(bed)
    endless = {"do": "allreduce", "count": 300_000, "dtype": "int32", "repeat": 100_000}
    workers = launcher.start([endless], op_timeout=10.0)
    for worker in workers:
        worker.wait_event("progress", 3)
    bed.switch.process.signal(signal.SIGKILL)
    bed.switch.process.wait_exit(30)
    bed.switch.start()
    for worker in workers:
        assert worker.fail()["text"]
    for worker in launcher.start([SMALL]):
        worker.finish()


def test_switch_stopped_says_so(make_bed, launch):
    """SIGTERM is graceful: workers learn at once that the switch is going."""
    bed = make_bed("veth", 2)
    never = wait_forever(bed)
    workers = launch(bed).start(lambda rank: [SMALL, never] if rank == 1 else [SMALL, LARGE])
    workers[0].wait_event("submitted", 2)
    bed.switch.process.signal(signal.SIGTERM)
    assert bed.switch.process.wait_exit(30) == 0
    assert "shutdown" in workers[0].fail()["reason"]


def test_absent_rank_is_named_when_joining(make_bed, launch):
    bed = make_bed("veth", 3)
    launcher = launch(bed)
    workers = [launcher.start_rank(rank, 3, [SMALL], join_timeout=3.0) for rank in (0, 2)]
    for worker in workers:
        error = worker.fail()
        assert error["missing_ranks"] == [1], error


def test_wrong_size_and_unknown_job_are_refused(make_bed, launch):
    bed = make_bed("veth", 2)
    launcher = launch(bed)
    wrong_size = launcher.start_rank(0, 5, [SMALL])
    assert "job-size-mismatch" in wrong_size.fail()["reason"]
    unknown_job = launcher.start_rank(0, 2, [SMALL], job=99)
    assert "unknown-job" in unknown_job.fail()["reason"]


def test_rule1_ranks_of_two_runs_do_not_meet(make_bed, launch, loop):
    """A rank that is left of the first run waits; the second one is told of it, and runs when it has gone."""
    bed = make_bed("veth", 3, jobs=[Job(1, 3, options=PATIENT)])
    launcher = launch(bed)
    left_over = launcher.start_rank(2, 3, [SMALL], run="first")
    loop.wait(lambda: any(m["present"] for m in bed.switch.show("members")), 30, "it waits")
    told = "rank 2 waits at 10.77.0.3 UDP port "
    error = launcher.start_rank(0, 3, [SMALL], run="second", join_timeout=2.0).fail()
    assert (error["reason"], error["missing_ranks"]) == ("other-run", [])
    assert told in error["text"]
    second = [launcher.start_rank(rank, 3, [SMALL], run="second") for rank in (0, 1, 2)]
    loop.wait(lambda: any(told in line for line in second[0].process.stderr), 30, "it says so")
    left_over.process.signal(signal.SIGKILL)
    for worker in second:
        worker.finish()


@pytest.mark.parametrize(
    ("ports", "how"), [("veth", "timeout"), ("memif", "SIGKILL"), ("veth", "SIGINT"), ("memif", "SIGTERM")]
)
def test_ranks_that_gave_up_while_joining_leave_no_ghosts(make_bed, launch, ports, how):
    """One rank was forgotten. The next start has all of them, in another order, and meets at once."""
    bed = make_bed(ports, 4, jobs=[Job(1, 4, options=PATIENT)])
    launcher = launch(bed)
    patience = 2.0 if how == "timeout" else 50.0
    first = [launcher.start_rank(rank, 4, [SMALL], join_timeout=patience) for rank in (0, 1, 2)]
    bed.loop.wait(
        lambda: [row["present"] for row in bed.switch.show("members")] == [True] * 3 + [False], 30, "three wait"
    )
    for worker in first:
        if how == "timeout":
            assert worker.fail()["missing_ranks"] == [3]
        else:
            worker.process.signal(getattr(signal, how))
            worker.process.wait_exit(30)
    for worker in [launcher.start_rank(rank, 4, [SMALL]) for rank in (3, 0, 1, 2)]:
        worker.finish()
