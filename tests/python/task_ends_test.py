"""C3: a worker that ends before main has the result: main and the others are told its rank and words."""

import sys
import threading

import numpy as np
import pytest
import tributary
from fake_jobs import Killed, Member
from tributary._task import pieces
from task_bed import STATED, SUM_JOB, TASK_JOB, WORKERS, bed, descend, distribute, everyone, main, same  # noqa: F401
from task_status_test import events, folder  # noqa: F401

END = 3  # round


def before_the_task(task, rank):
    return rank


def after_receiving(task, rank):
    task.receive()
    return rank


def between_rounds(task, rank):
    task.receive()
    for _ in range(END):
        task.submit(np.full(3, rank + 1.0))
        task.next_round()
    return rank


def with_a_round_begun(task, rank):
    between_rounds(task, rank)
    task.submit(np.full(3, rank + 1.0))
    return rank


def in_place_of_the_result(task, rank):
    task.receive()
    while not task.final:
        task.submit(np.zeros(3))
        task.next_round()
    return rank


def to_the_end(task, rank):
    task.receive()
    while not task.final:
        task.submit(np.zeros(3) if rank is None else np.full(3, rank + 1.0))
        task.next_round()
    task.deliver(np.zeros(3))


def fail(task, rank):
    raise KeyError("no such sample")


def leave(task, rank):
    """The end of the `with` block, without a result."""


def exit_process(task, rank):
    sys.exit(4)


LEFT = "it left before main had the result"


@pytest.mark.parametrize("end, said", [(fail, "KeyError: 'no such sample'"), (exit_process, "SystemExit: 4"),
                                       (leave, LEFT)])
@pytest.mark.parametrize("begin", [before_the_task, after_receiving, between_rounds, with_a_round_begun])
@pytest.mark.parametrize("rank", [0, 2])
def test_c3_main_and_the_others_are_told_who_ended(bed, folder, rank, begin, end, said):
    if (begin, end) == (before_the_task, leave):
        return  # it has no task that it could leave
    def one(task, number):
        begin(task, number)
        end(task, number)

    first = main(bed)
    members = [bed.start_one(one if number == rank else to_the_end, number) for number in range(WORKERS)]
    told = first.raised(tributary.WorkerFailed)
    assert told.failures == {rank + 1: said} and str(told) == f"rank {rank + 1} ended: {said}"
    for number, member in enumerate(members):
        if number != rank:
            other = member.raised(tributary.WorkerFailed)
            assert other.failures == {rank: said} and str(other) == f"rank {rank} of the sum job ended: {said}"
    if end is fail:
        members[rank].raised(KeyError)
        assert events(folder, rank + 1)[-1] == f"ends: {said}"


@pytest.mark.parametrize("end, said", [(fail, "KeyError: 'no such sample'"), (leave, LEFT)])
def test_c3_a_worker_that_ends_with_the_last_round_is_told(bed, end, said):
    """The others offer the result, or wait for main with it."""
    def one(task, number):
        if number == 1:
            in_place_of_the_result(task, number)
            end(task, number)
        else:
            to_the_end(task, None)

    first = main(bed)
    members = bed.start(one)
    assert first.raised(tributary.WorkerFailed).failures == {2: said}
    assert members[0].raised(tributary.WorkerFailed).failures == {1: said}
    members[2].raised(tributary.WorkerFailed)


def test_c3_what_all_workers_see_main_is_told_by_all(bed):
    def step(task, rank):
        task.receive()
        task.submit(np.full(3, np.nan))
        task.next_round()

    first = main(bed)
    members = bed.start(step)
    for member in members:
        member.raised(tributary.NormError)
    told = first.raised(tributary.WorkerFailed)
    assert sorted(told.failures) == [1, 2, 3]
    assert str(told).startswith("ranks 1, 2 and 3 ended: NormError: round 1: the norm of the sum is nan")


def test_c3_main_that_comes_while_the_workers_tell(bed):
    """Main was away: its successor hears it, as long as they are there."""
    with bed.main() as task:
        first = Member(distribute, task)
        members = [bed.start_one(to_the_end, rank) for rank in (0, 1)]
        members.append(bed.start_one(lambda task, rank: fail(task, between_rounds(task, rank)), 2))
        first.result()
    told = Member(lambda: bed.main().result()).raised(tributary.WorkerFailed)
    assert told.failures == {3: "KeyError: 'no such sample'"}
    members[0].raised(tributary.WorkerFailed)


def without_main(bed, one, **options):
    """The workers, in the rounds, when main has given the task and is gone; rank 2 ends as one() does."""
    with bed.main() as task:
        first = Member(distribute, task)
        members = [bed.start_one(to_the_end, rank, **options) for rank in (0, 1)]
        members.append(bed.start_one(lambda task, rank: one(task, between_rounds(task, rank)), 2, **options))
        first.result()
    return members


def test_c3_without_main_the_workers_end_when_patience_is_over(bed, folder):
    members = without_main(bed, fail, patience=5.0)
    members[2].raised(KeyError)
    for rank in (0, 1):
        assert members[rank].raised(tributary.WorkerFailed).failures == {2: "KeyError: 'no such sample'"}
        line = events(folder, rank + 1)
        assert any(one.startswith("could not tell main: ") for one in line) and "told main" not in line


def watch_joins(bed, monkeypatch):
    """Lists (job, rank, join_timeout) of joins as they begin, and the communicators that they gave."""
    asked, given = [], []

    def init(**options):
        asked.append((options["job"], options["rank"], options["join_timeout"]))
        comm = bed.jobs.init(**options)
        given.append(comm)
        return comm

    monkeypatch.setattr(tributary, "init", init)
    return asked, given


def test_c3_who_tells_waits_as_long_as_for_a_result(bed, monkeypatch):
    """The others are busy as a worker ends: they are told, and main, whenever they come within patience."""
    busy, ended = threading.Event(), threading.Event()

    def slow(task, rank):
        between_rounds(task, rank)
        assert busy.wait(30)
        to_the_end(task, rank)

    def one(task, rank):
        between_rounds(task, rank)
        del asked[:]
        ended.set()
        fail(task, rank)

    asked, _ = watch_joins(bed, monkeypatch)
    first = main(bed)
    members = [bed.start_one(slow, 0), bed.start_one(one, 1), bed.start_one(to_the_end, 2)]
    assert ended.wait(30)
    busy.set()
    assert list(first.raised(tributary.WorkerFailed).failures) == [2]
    for rank in (0, 2):
        assert list(members[rank].raised(tributary.WorkerFailed).failures) == [1]
    members[1].raised(KeyError)
    told = [limit for job, rank, limit in asked if (job, rank) in ((SUM_JOB, 1), (TASK_JOB, 2))]
    assert len(told) >= 2 and min(told) > 500, asked


def test_c3_main_killed_while_the_workers_tell_it(bed):
    """Its successor hears it."""
    members = without_main(bed, fail)
    bed.kill(TASK_JOB, 0, "all_gather", 0)
    Member(lambda: bed.main().result()).raised(Killed)
    Member(lambda: bed.main().result()).raised(tributary.WorkerFailed)
    for rank in (0, 1):
        members[rank].raised(tributary.WorkerFailed)


def test_c3_an_interrupt_ends_the_telling_and_leaves_both_jobs(bed, monkeypatch):
    def interrupt(job, rank, kind, root, array):
        if ending.is_set() and (job, rank, kind) == (TASK_JOB, 3, "all_gather"):
            raise KeyboardInterrupt

    def one(task, rank):
        ending.set()
        fail(task, rank)

    ending = threading.Event()
    bed.jobs.before_op = interrupt
    _, given = watch_joins(bed, monkeypatch)
    members = without_main(bed, one, patience=5.0)
    heir = Member(lambda: bed.main().result(timeout=5.0))
    members[2].raised(KeyboardInterrupt)
    assert all(comm._closed for comm in given if (comm.job, comm.rank) in ((SUM_JOB, 2), (TASK_JOB, 3)))
    for rank in (0, 1):
        assert list(members[rank].raised(tributary.WorkerFailed).failures) == [2]
    heir.raised(tributary.Error)


def test_c3_who_still_tells_says_so(bed, monkeypatch):
    """A program that ends by an exception shows nothing of it until the others are told."""
    said, busy = [], threading.Event()

    def warn(text, *_, **__):
        said.append(text)
        busy.set()

    def slow(task, rank):
        between_rounds(task, rank)
        assert busy.wait(30)
        to_the_end(task, rank)

    monkeypatch.setattr("tributary._task.worker.WARN_S", 0.01)
    monkeypatch.setattr("tributary._task.worker.warnings.warn", warn)
    first = main(bed)
    bed.start_one(lambda task, rank: fail(task, between_rounds(task, rank)), 0)
    members = [bed.start_one(slow, rank) for rank in (1, 2)]
    first.raised(tributary.WorkerFailed)
    for member in members:
        member.raised(tributary.WorkerFailed)
    assert said[0] == ("a worker of a task tells the others why it ends, for up to 600 s: KeyError: 'no such "
                       "sample'; Ctrl-C ends that at once")


def test_c3_who_gave_the_others_up_leaves_at_once(bed, monkeypatch):
    """close() after an error of the job itself: the others did not come for as long as `patience`."""
    def one(rank):
        task = bed.worker(rank, patience=5.0)
        task.receive()
        task.submit(np.zeros(3))
        if rank:
            task._member.leave()  # as by kill -9
            return
        with pytest.raises(tributary.Error, match="waiting for ranks"):
            task.next_round()
        del asked[:]
        task.close()
        assert not asked

    asked, _ = watch_joins(bed, monkeypatch)
    main(bed)
    everyone([Member(one, rank) for rank in range(WORKERS)])


def test_c3_a_full_disk_in_mid_transfer_is_told(bed, monkeypatch, tmp_path):
    """Main has not refused, nor heard of a refusal."""
    keep = pieces.Sink._keep

    def fill(sink, start, payload):
        if start >= 1500 and sink.value == tmp_path / "2":
            raise OSError(28, "No space left on device")
        keep(sink, start, payload)

    def one(task, rank):
        task.receive(into=tmp_path / f"{rank}")

    monkeypatch.setattr(pieces.Sink, "_keep", fill)
    first = main(bed)
    members = bed.start(one)
    members[2].raised(OSError)
    assert list(first.raised(tributary.WorkerFailed).failures) == [3]
    for rank in (0, 1):
        assert list(members[rank].raised(tributary.WorkerFailed).failures) == [2]


def test_c3_main_is_told_of_jobs_that_do_not_match(bed):
    """Only the workers know how many ranks the sum job has."""
    def one(rank):
        task = {"job": TASK_JOB, "rank": rank + 1, "size": WORKERS + 1}
        with tributary.Task("worker", job=task, sums={"job": SUM_JOB, "rank": 0, "size": 1}) as member:
            member.receive()

    first = main(bed)
    members = [Member(one, rank) for rank in range(WORKERS)]
    said = "TaskError: the task job has 4 ranks, and the sum job has 1; allowed: one more in the task job, main"
    assert set(first.raised(tributary.WorkerFailed).failures.values()) == {said}
    for member in members:
        member.raised(tributary.TaskError)


@pytest.mark.parametrize("text, length", [("é\n", 300), ("\udcff", 300), ("\U0001f600", 100)])
def test_c3_a_long_text_fits_a_record(bed, text, length):
    def one(task, rank):
        task.receive()
        if rank == 1:
            raise ValueError(text * 5000)
        to_the_end(task, rank)

    first = main(bed)
    bed.start(one)
    (said,) = first.raised(tributary.WorkerFailed).failures.values()
    assert length <= len(said) <= 300 and said.startswith("ValueError: " + text.replace("\udcff", "?"))


def test_c3_who_ends_after_the_result_is_no_failure(bed):
    def one(task, rank):
        descend(task, rank)
        if rank == 1:
            raise ValueError("after all")

    first = main(bed)
    members = bed.start(one)
    assert first.result().why == "norm"
    members[1].raised(ValueError)
    for rank in (0, 2):
        members[rank].result()
