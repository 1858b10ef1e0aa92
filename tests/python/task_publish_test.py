"""C4: sums and states of a task under names, over fake jobs: who puts what, and refusals."""

import numpy as np
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


def differently(task, rank):
    """descend() with other arrays from round 3 on."""
    task.receive()
    state = np.zeros(5)
    while not task.final:
        task.submit(state - (rank + np.arange(5.0)), state=state)
        done = task.next_round()
        state = state - (0.25 if done.number < 3 else 0.2) * done.sum
    task.deliver(state)
    return task.task


def test_c4_the_same_task_again_gives_names_only_as_far_as_it_is_the_same(bed, folder):
    """Nothing of the second run is put behind its first other array: its readers would get a mix."""
    quiet = main(bed, publish="gradient")
    everyone(bed.start(descend))
    rounds = quiet.result().rounds
    kept = {name: array.tobytes() for name, array in bed.jobs.named.items()}
    asked = []
    bed.jobs.before_put = lambda job, rank, name: asked.append(name)
    again = main(bed, publish="gradient")
    with pytest.warns(RuntimeWarning) as warned:
        task = everyone(bed.start(differently))[0]
    assert again.result().rounds > rounds
    assert {name: array.tobytes() for name, array in bed.jobs.named.items()} == kept
    # The state of round 4 is the first that differs: round 3's sum is of an equal state.
    assert asked[-1] == f"/job/{SUM_JOB}/run={task}/gradient.state/v=4"
    (one,) = warned
    assert "round 4 is not published: put of " in str(one.message)
    assert "an earlier run of this task gave them" in str(one.message)
    assert "allowed: other metadata" in str(one.message)


@pytest.mark.parametrize("change", [{"data": DATA[1:]}, {"metadata": {"rate": 0.25, "run": 2}}])
def test_c4_another_task_has_names_of_its_own(bed, change):
    """Main is started again with other data, or with the number of the run."""
    def rounds(task, rank):
        _, metadata = task.receive()
        while not task.final:
            task.submit(np.full(3, rank + float(metadata.get("run", 1))))
            task.next_round()
        task.deliver(np.zeros(3))
        return task.task

    stated = {"publish": "gradient", "criterion": {"most_rounds": 2}}
    first = main(bed, **stated)
    before = everyone(bed.start(rounds))[0]
    first.result()
    second = main(bed, **{"data": DATA, **stated, **change})
    after = everyone(bed.start(rounds))[0]
    second.result()
    assert before != after
    assert {name.split("/")[3] for name in bed.jobs.named} == {f"run={before}", f"run={after}"}
    assert len(bed.jobs.named) == 4


@pytest.mark.parametrize("bad", ["a/b", "..", "1a", "a b", "x" * 65, "\xe4", 7])
def test_c4_bad_names(bed, bad):
    with pytest.raises(ValueError, match="publish is .*; allowed: up to 64 letters"):
        distribute(bed.main(), DATA, publish=bad)


def test_c4_arrays_by_worker_are_no_sums(bed):
    with pytest.raises(ValueError, match="publish names a sum; allowed: keep 'sum' or 'both'"):
        distribute(bed.main(), DATA, keep="worker", criterion={"most_rounds": 1}, publish="gradient")


def test_c4_a_member_without_a_task_has_no_identity(bed):
    assert bed.main().task == "" and bed.worker(0).task == ""
