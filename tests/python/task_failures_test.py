"""C3: tasks over fake jobs: damage, and members that are killed and restarted."""

import numpy as np
import pytest
import tributary
from fake_jobs import Killed, Member, error
from task_bed import (
    DATA,
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
from tributary._task import pieces


def pieces_of_main(bed, killed_at=None):
    """A list that grows by the index of each piece of DATA that main sends."""
    sent = []

    def before(job, rank, kind, root, array):
        if (job, rank, kind, root) == (TASK_JOB, 0, "broadcast", 0) and array.size in (516, 136):
            sent.append(pieces.HEAD.unpack_from(array)[0])
            if sent == list(range(killed_at + 1 if killed_at is not None else -1)):
                raise Killed

    bed.jobs.before_op = before
    return sent


def test_c3_damaged_pieces_are_sent_again(bed):
    """Each worker gets another piece damaged, once; the first of these is where main goes on."""
    left, sent = {(TASK_JOB, rank): 3 + rank for rank in range(1, WORKERS + 1)}, pieces_of_main(bed)

    def damage(job, rank, array):
        if (job, rank) in left and array.size > 300:
            left[job, rank] -= 1
            if left[job, rank] == 0:
                array[200] ^= 4

    bed.jobs.damage = damage
    first = main(bed)
    same(everyone(bed.start(descend)), first.result())
    assert all(number <= 0 for number in left.values())
    assert sent == [*range(11), *range(sent[11], 11)] and sent[11] > 0


def test_c3_damage_without_end_is_an_error_everywhere(bed):
    def damage(job, rank, array):
        if (job, rank) == (TASK_JOB, 2) and array.size == 516:
            array[20] ^= 4

    bed.jobs.damage = damage
    members = [main(bed), *bed.start(descend)]
    for member in members:
        text = str(member.raised(tributary.DigestMismatch))
        assert "rank 2 got data with another digest than rank 0 stated, 3 times" in text


def test_c3_a_result_is_sent_until_its_digest_is_right(bed):
    left = [2]

    def damage(job, rank, array):
        if (job, rank) == (TASK_JOB, 0) and array.size > 100 and left[0]:
            left[0] -= 1
            array[-1] ^= 1

    bed.jobs.damage = damage
    first = main(bed)
    same(everyone(bed.start(descend)), first.result())
    assert left == [0]


# ---- ends and restarts


def test_c3_main_killed_while_it_distributes(bed):
    """Its successor goes on where the first one was: pieces that all workers have do not go again."""
    sent = pieces_of_main(bed, killed_at=7)
    first = main(bed)
    members = bed.start(descend)
    first.raised(Killed)
    del sent[:]
    second = main(bed)
    same(everyone(members), second.result())
    assert 0 < sent[0] <= 7 and sent == list(range(sent[0], 11))


def test_c3_another_task_after_main_was_killed(bed):
    """What the workers have of the first one is of no use, and does no harm."""
    bed.kill(TASK_JOB, 0, "broadcast", after=8)
    first = main(bed, bytes(5120))
    members = bed.start(descend)
    first.raised(Killed)
    second = main(bed)
    same(everyone(members), second.result())


@pytest.mark.parametrize("kept", [False, True])
def test_c3_main_killed_while_the_rounds_go_on(bed, kept, tmp_path):
    """Main gives the task and is gone; its successor takes the result, with and without a folder."""
    folder = tmp_path / "state" if kept else None
    with bed.main(state=folder) as task:
        first = Member(distribute, task)
        members = bed.start(descend)
        first.result()
    if kept:
        with bed.main(state=folder) as other, pytest.raises(tributary.TaskError, match="is of task"):
            distribute(other, DATA[1:])
    second = main(bed, state=folder)  # distributes again: with a folder it knows better
    same(everyone(members), second.result())
    if kept:  # a third one has it from the folder: no worker is there any more
        again = main(bed, state=folder).result()
        assert again.array.tobytes() == second.result().array.tobytes() and again.why == "norm"


def test_c3_a_successor_with_other_data_is_told(bed):
    with bed.main() as task:
        first = Member(distribute, task)
        members = bed.start(descend)
        first.result()
    with pytest.raises(tributary.TaskError, match="workers hold the result of task .*, and this is"):
        main(bed, DATA[1:]).result()
    third = Member(lambda: bed.main().result())
    same(everyone(members), third.result())


def test_c3_main_killed_while_it_takes_the_result(bed):
    with bed.main() as task:
        first = Member(distribute, task)
        members = bed.start(descend)
        first.result()
    bed.kill(TASK_JOB, 0, "broadcast", after=1)
    Member(lambda: bed.main().result()).raised(Killed)
    third = Member(lambda: bed.main().result())
    same(everyone(members), third.result())


@pytest.mark.parametrize("rank", range(WORKERS))
@pytest.mark.parametrize("job, kind, after", [
    (TASK_JOB, "broadcast", 4),  # while it receives
    (TASK_JOB, "all_gather", 2),  # with all of the task, before main knows
    (SUM_JOB, "allreduce", 0),
    (SUM_JOB, "allreduce", 3),
    (SUM_JOB, "all_gather", 1),  # before it delivers
])
def test_c3_a_worker_is_killed_and_restarted(bed, rank, job, kind, after):
    """It gets the task and the state from the others, and the outcome is that of a quiet run."""
    quiet = main(bed)
    states = everyone(bed.start(descend))
    quiet = quiet.result()
    bed.kill(job, rank + (job == TASK_JOB), kind, after)
    first = main(bed)
    members = bed.start(descend)
    members[rank].raised(Killed)
    members[rank] = bed.start_one(descend, rank)
    states = everyone(members)
    same(states, first.result())
    assert first.result().array.tobytes() == quiet.array.tobytes()
    assert first.result().rounds == quiet.rounds


def test_c3_a_worker_that_is_restarted_is_given_no_result_of_another(bed):
    """keep="worker": each delivers its own. Rank 1 dies when the others have theirs."""
    states = []

    def step(task, rank):
        task.receive()
        if not task.final:
            task.submit(np.full(3, rank, np.int32))
            task.next_round()
        states.append((rank, task.state))
        task.deliver(np.full(2, rank, np.int32))

    bed.kill(SUM_JOB, 1, "all_gather", 2)
    first = main(bed, criterion={"most_rounds": 1}, keep="worker")
    members = bed.start(step)
    members[1].raised(Killed)
    members[1] = bed.start_one(step, 1)
    everyone(members)
    assert [one.tolist() for one in first.result().arrays] == [[0, 0], [1, 1], [2, 2]]
    assert sorted(rank for rank, _ in states) == [0, 1, 1, 2] and all(state is None for _, state in states)


@pytest.mark.parametrize("reason, text, calls", [
    ("unknown-job", "the switch has no such job", 1),
    ("sender-mismatch", "rank 0 is already here, from 10.0.0.1 UDP port 7", 1),
    ("sender-mismatch", "the rank is bound to another port or address", 3),  # its lease will lapse
])
def test_c3_a_job_that_refuses_is_asked_again_only_where_that_helps(bed, monkeypatch, reason, text, calls):
    asked = []

    def refuse(**options):
        asked.append(options["job"])
        assert options["fail_if_taken"]
        if len(asked) == 3:
            raise tributary.WrongRole("enough")
        raise error(text, reason)

    monkeypatch.setattr(tributary, "init", refuse)
    with pytest.raises(tributary.Error, match="enough" if calls == 3 else text):
        bed.main().result()
    assert asked == [TASK_JOB] * calls


def test_c3_workers_that_disagree_about_their_arrays_fail_and_do_not_loop(bed):
    def step(task, rank):
        task.receive()
        task.submit(np.zeros(rank + 1))
        task.next_round()

    main(bed)
    for member in bed.start(step):
        assert member.raised(tributary.Error).reason in ("op-mismatch", "rank-left")
