"""C4: sums and states of a task under names, over fake jobs: who puts what, and refusals."""

import pytest
from fake_jobs import error
from task_status_test import events, folder  # noqa: F401
from task_bed import DATA, SUM_JOB, WORKERS, bed, descend, distribute, everyone, main  # noqa: F401


def wanted(bed, task, rounds):
    prefix = f"/job/{SUM_JOB}/run={task}/gradient"
    names = {f"{prefix}/v={n}" for n in range(1, rounds + 1)}
    return names | {f"{prefix}.state/v={n}" for n in range(1, rounds + 1)}


def last_round(task, rank):
    descend(task, rank)
    return task.last, task.task


def test_c4_rank_0_puts_each_sum_and_each_state(bed):
    putters = set()
    bed.jobs.before_put = lambda job, rank, name: putters.add((job, rank))
    first = main(bed, publish="gradient")
    found = everyone(bed.start(last_round))
    rounds = first.result().rounds
    last, task = found[0]
    assert set(bed.jobs.named) == wanted(bed, task, rounds) and len({one[1] for one in found}) == 1
    assert putters == {(SUM_JOB, 0)}
    kept = bed.jobs.named[f"/job/{SUM_JOB}/run={task}/gradient/v={rounds}"]
    assert kept.tobytes() == last.sum.tobytes()


@pytest.mark.parametrize("rank", range(WORKERS))
def test_c4_a_killed_worker_changes_no_name(bed, rank):
    bed.kill(SUM_JOB, rank, "allreduce", after=3)
    first = main(bed, publish="gradient")
    workers = bed.start(last_round)
    workers[rank].join()
    workers[rank] = bed.start_one(last_round, rank)
    task = everyone(workers)[0][1]
    assert set(bed.jobs.named) == wanted(bed, task, first.result().rounds)


def test_c4_without_publish_nothing_is_put(bed):
    first = main(bed)
    everyone(bed.start(descend))
    first.result()
    assert not bed.jobs.named


def test_c4_a_refused_name_is_told_once_and_does_not_stop_the_rounds(bed, folder):
    def refuse(job, rank, name):
        raise error("no memory for names", "names-off")

    bed.jobs.before_put = refuse
    first = main(bed, publish="gradient")
    with pytest.warns(RuntimeWarning) as warned:
        states = everyone(bed.start(descend))
        assert states[0].tobytes() == first.result().array.tobytes()
    assert [str(one.message) for one in warned] == ["round 1 is not published: no memory for names"]
    assert sum(one.startswith("could not publish ") for one in events(folder, 1)) == 1


@pytest.mark.parametrize("bad", ["a/b", "..", "1a", "a b", "x" * 65, "\xe4", 7])
def test_c4_bad_names(bed, bad):
    with pytest.raises(ValueError, match="publish is .*; allowed: up to 64 letters"):
        distribute(bed.main(), DATA, publish=bad)


def test_c4_arrays_by_worker_are_no_sums(bed):
    with pytest.raises(ValueError, match="publish names a sum; allowed: keep 'sum' or 'both'"):
        distribute(bed.main(), DATA, keep="worker", criterion={"most_rounds": 1}, publish="gradient")


def test_c4_a_member_without_a_task_has_no_identity(bed):
    assert bed.main().task == "" and bed.worker(0).task == ""
