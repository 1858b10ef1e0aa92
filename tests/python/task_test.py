"""C3: tasks over fake jobs: who does what, and bad input."""

import numpy as np
import pytest
import tributary
from fake_jobs import Member
from task_bed import (
    DATA,
    STATED,
    SUM_JOB,
    TASK_JOB,
    WORKERS,
    bed,  # noqa: F401  (a fixture)
    descend,
    distribute,
    everyone,
    main,
    same,
)
from tributary._task import meeting


def test_c3_a_task_goes_out_and_its_result_comes_back(bed):
    first = main(bed)
    states = everyone(bed.start(descend))
    result = first.result()
    same(states, result)
    assert result.converged and result.why == "norm" and 0 < result.norm < 1e-3
    assert len(result.arrays) == 1 and 1 < result.rounds < 100


@pytest.mark.parametrize("length", [0, 1, 499, 500, 501])
def test_c3_any_length(bed, length, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA[:length])

    def take(task, rank):
        into = None if rank == 0 else tmp_path / f"worker{rank}"
        data, metadata = task.receive(into=into)
        assert metadata is None and task.final
        task.deliver(np.array([rank]))
        return bytes(data) if into is None else into.read_bytes()

    first = main(bed, path, criterion={"most_rounds": 0}, keep="worker", metadata=None)
    assert everyone(bed.start(take)) == [DATA[:length]] * WORKERS
    assert [one.tolist() for one in first.result().arrays] == [[0], [1], [2]]


@pytest.mark.parametrize("keep", ["worker", "both"])
def test_c3_workers_keep_arrays_by_worker(bed, keep):
    def step(task, rank):
        task.receive()
        for number in (1, 2):
            task.submit(np.full((2, 2), rank + number, np.int32))
            done = task.next_round()
        task.deliver(np.full(rank + 1 if keep == "worker" else 1, rank if keep == "worker" else 7))
        return done

    first = main(bed, criterion={"most_rounds": 2}, keep=keep)
    for done in everyone(bed.start(step)):
        assert done.final and done.converged and done.norm is None
        assert done.parts.tolist() == [[[r + 2] * 2] * 2 for r in range(WORKERS)]
        assert done.sum is None if keep == "worker" else done.sum.tolist() == [[9, 9], [9, 9]]
    wanted = [[0], [1, 1], [2, 2, 2]] if keep == "worker" else [[7]]
    assert [one.tolist() for one in first.result().arrays] == wanted


# ---- bad input


def test_c3_two_mains(bed):
    def serve(role, rank):
        task = {"job": TASK_JOB, "rank": rank, "size": 3}
        sums = {"job": SUM_JOB, "rank": 0, "size": 1} if role == "worker" else None
        with tributary.Task(role, job=task, sums=sums) as member:
            member.receive() if role == "worker" else member.result()

    for member in [Member(serve, "main", 0), Member(serve, "worker", 1), Member(serve, "main", 2)]:
        with pytest.raises(tributary.MainConflict, match="ranks 0 and 2 of the task job all say"):
            member.result()


def test_c3_no_main(bed):
    alone = {"rank": 0, "size": 1}
    with tributary.Task("worker", job={"job": TASK_JOB, **alone}, sums={"job": SUM_JOB, **alone}) as task:
        with pytest.raises(tributary.MainConflict, match="none of the 1 ranks of the task job is main"):
            task.receive()


def test_c3_jobs_that_do_not_fit(bed):
    """Two workers, whose sum jobs have one each."""
    def receive(rank):
        task = {"job": TASK_JOB, "rank": rank + 1, "size": 3}
        tributary.Task("worker", job=task, sums={"job": 10 + rank, "rank": 0, "size": 1}).receive()

    first = Member(lambda: distribute(tributary.Task("main", job={"job": TASK_JOB, "rank": 0, "size": 3})))
    for member in [Member(receive, 0), Member(receive, 1)]:
        text = str(member.raised(tributary.TaskError))
        assert "the task job has 3 ranks, and the sum job has 1; allowed: one more" in text
    del first  # it waits for workers that fit


def test_c3_main_in_the_sum_job(bed):
    """Its options are those of a worker, by mistake."""
    main_there = Member(lambda: tributary.Task("main", job={"job": SUM_JOB, "rank": 0, "size": 2}).result())
    job = {"job": TASK_JOB, "rank": 0, "size": 2}
    worker = tributary.Task("worker", job=job, sums={"job": SUM_JOB, "rank": 1, "size": 2})
    with pytest.raises(tributary.MainConflict, match="rank 0 of the sum job is main"):
        worker.receive()
    main_there.raised(tributary.TaskError)


def test_c3_calls_of_the_other_role(bed):
    for name, call in (("receive", lambda t: t.receive()), ("submit", lambda t: t.submit(np.zeros(1))),
                       ("next_round", lambda t: t.next_round()), ("final", lambda t: t.final),
                       ("deliver", lambda t: t.deliver(np.zeros(1)))):
        with pytest.raises(tributary.WrongRole, match=f"{name} is of role worker, and this member is main"):
            call(bed.main())
    for call in (lambda t: t.distribute(b"", criterion=STATED), lambda t: t.result()):
        with pytest.raises(tributary.WrongRole, match="is of role main"):
            call(bed.worker(0))


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"role": "boss"}, "role is 'boss'; allowed: 'main', 'worker'"),
        ({"role": "worker"}, "sums is the workers' job"),
        ({"role": "main", "sums": {}}, "sums is the workers' job"),
        ({"role": "worker", "sums": {}, "state": "x"}, "state is main's"),
        ({"role": "worker", "job": {"address": "memif:///s?id=1"}, "sums": {"address": "memif:///s?id=1"}},
         "job and sums have one memif port, memif:///s?id=1, which takes one connection"),
        ({"role": "main", "patience": 0}, "patience is 0; it is in seconds"),
        ({"role": "worker", "sums": {}, "memory_bytes": -1}, "memory_bytes is -1"),
    ],
)
def test_c3_bad_arguments_are_named(arguments, text):
    with pytest.raises(ValueError) as caught:
        tributary.Task(**{"job": {}, **arguments})
    assert text in str(caught.value)


def test_c3_bad_tasks_are_named_before_a_job_is_joined(bed):
    with pytest.raises(ValueError, match="metadata: the manifest has"):
        distribute(bed.main(), metadata="x" * (64 << 10))
    with pytest.raises(ValueError, match="most_rounds is missing"):
        distribute(bed.main(), criterion={"norm_below": 1.0})


def test_c3_calls_out_of_order(bed):
    def step(task, rank):
        with pytest.raises(tributary.TaskError, match="no task: receive"):
            task.submit(np.zeros(1))
        task.receive()
        with pytest.raises(tributary.TaskError, match="no array has been submitted"):
            task.next_round()
        with pytest.raises(tributary.TaskError, match="round 0 of at most 100 was not final"):
            task.deliver(np.zeros(1))
        with pytest.raises(TypeError, match="array is a list"):
            task.submit([1.0])
        with pytest.raises(ValueError, match="not C-contiguous"):
            task.submit(np.zeros((4, 4))[:, 1])
        task.submit(np.zeros(1))
        with pytest.raises(tributary.TaskError, match="round 1 has not ended"):
            task.submit(np.zeros(1))
        assert task.next_round().final
        with pytest.raises(tributary.TaskError, match="final since round 1 .norm"):
            task.submit(np.zeros(1))
        task.deliver(np.zeros(1))

    first = main(bed)
    everyone(bed.start(step))
    first.result()


def test_c3_a_task_larger_than_a_workers_memory(bed):
    first = main(bed)
    members = [bed.start_one(descend, rank, memory_bytes=5119 if rank == 1 else 5120)
               for rank in range(WORKERS)]
    said = members[1].raised(tributary.TaskTooLarge)
    assert "has 5120 bytes, and a worker takes 5119 into memory" in str(said)
    for member in (first, members[0], members[2]):
        assert "rank 2 refused: the task has 5120 bytes" in str(member.raised(tributary.TaskError))


def test_c3_a_worker_that_cannot_write_is_named(bed):
    def receive(task, rank):
        task.receive(into="/nowhere/" + "é\n" * 400 if rank == 1 else None)

    first = main(bed)
    members = bed.start(receive)
    members[1].raised(OSError)
    for member in (first, members[0], members[2]):
        assert "rank 2 refused: [Errno" in str(member.raised(tributary.TaskError))


def test_c3_a_worker_without_memory_is_named(bed, monkeypatch):
    marked = 1 << 29
    sink_of = meeting.Inbox.sink_of

    def refuse(inbox, *arguments):
        if inbox._memory_bytes == marked:
            raise MemoryError
        return sink_of(inbox, *arguments)

    monkeypatch.setattr(meeting.Inbox, "sink_of", refuse)
    first = main(bed)
    members = [bed.start_one(descend, rank, memory_bytes=marked << (rank != 1)) for rank in range(WORKERS)]
    members[1].raised(tributary.TaskTooLarge)
    for member in (first, members[0], members[2]):
        assert "rank 2 refused: no memory for the task's 5120 bytes" in str(member.raised(tributary.TaskError))


def test_c3_a_criterion_that_never_holds(bed):
    stated = {"most_rounds": 2, "norm_below": 1e-30}
    first = main(bed, criterion=stated)
    states = everyone(bed.start(descend))
    said = first.raised(tributary.NotConverged)
    assert "did not hold in 2 rounds" in str(said) and not said.result.converged
    assert said.result.array.tobytes() == states[0].tobytes()


def test_c3_nan_ends_the_rounds_on_every_worker(bed):
    def step(task, rank):
        task.receive()
        task.submit(np.array([1.0, np.nan if rank == 1 else 2.0]))
        task.next_round()

    main(bed)
    for member in bed.start(step):
        assert "1 of 2 elements are NaN, the first is element 1" in str(member.raised(tributary.NormError))


def test_c3_results_that_differ_are_named_everywhere(bed):
    def step(task, rank):
        task.receive()
        task.submit(np.zeros(1))
        task.next_round()
        task.deliver(np.array([rank // 2]))

    members = [main(bed), *bed.start(step)]
    for member in members:
        text = str(member.raised(tributary.TaskError))
        assert "different results" in text and "at ranks 1 and 2" in text and "at rank 3" in text


def test_c3_a_result_before_the_task(bed):
    early = Member(lambda: bed.main().result())
    members = bed.start(descend)
    with pytest.raises(tributary.TaskError, match="distribute.. comes before result"):
        early.result()
    first = main(bed)  # the workers have waited
    same(everyone(members), first.result())


def test_c3_a_degraded_round_goes_on(bed):
    bed.jobs.missing = lambda job, number: (2,) if number == 1 else ()

    def step(task, rank):
        task.receive()
        task.submit(np.full(3, float(rank == 2)))  # without rank 2 the sum is 0
        first = task.next_round()
        task.submit(np.zeros(3))
        task.next_round()
        task.deliver(np.zeros(1))
        return first

    first = main(bed)
    for done in everyone(bed.start(step)):
        assert done.missing == (2,) and done.norm == 0 and not done.final
    assert first.result().rounds == 2
