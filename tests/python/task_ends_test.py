"""C3: a worker that ends before main has the result: main and the others are told its rank and words."""

import sys

import numpy as np
import pytest
import tributary
from fake_jobs import Member
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


def test_c3_without_main_the_workers_end(bed, folder, monkeypatch):
    monkeypatch.setattr("tributary._task.worker.TELL_S", 2.0)
    with bed.main() as task:
        first = Member(distribute, task)
        members = [bed.start_one(to_the_end, rank) for rank in (0, 1)]
        members.append(bed.start_one(lambda task, rank: fail(task, between_rounds(task, rank)), 2))
        first.result()
    members[2].raised(KeyError)
    for rank in (0, 1):
        assert members[rank].raised(tributary.WorkerFailed).failures == {2: "KeyError: 'no such sample'"}
        assert any(one.startswith("could not tell main: ") for one in events(folder, rank + 1))


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
