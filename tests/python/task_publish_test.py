"""C4: sums and states of a task under names, over fake jobs: who puts what, and refusals."""

import numpy as np
import pytest
from fake_jobs import Killed, Member, error
from task_status_test import events, folder  # noqa: F401
from task_bed import DATA, SUM_JOB, TASK_JOB, WORKERS, bed, descend, distribute, everyone, main  # noqa: F401


def wanted(bed, run, rounds):
    prefix = f"/job/{SUM_JOB}/run={run}/gradient"
    names = {f"{prefix}/v={n}" for n in range(1, rounds + 1)}
    return names | {f"{prefix}.state/v={n}" for n in range(1, rounds + 1)}


def last_round(task, rank):
    descend(task, rank)
    return task.last, task.run


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


def run_of(name):
    return name.split("/")[3]


def test_c4_the_same_task_again_has_names_of_its_own(bed, recwarn):
    """However long names live, and whoever was restarted: no reader gets arrays of two runs."""
    found = []
    for rate in (0.25, 0.2):
        def other(task, rank, rate=rate):
            task.receive()
            state = np.zeros(5)
            while not task.final:
                task.submit(state - (rank + np.arange(5.0)), state=state)
                state = state - rate * task.next_round().sum
            task.deliver(state)
            return task.task, task.run

        with bed.main() as first:
            taken = Member(lambda task: (distribute(task, publish="gradient"), task.run, task.result()), first)
            seen = set(everyone(bed.start(other)))
            _, known, result = taken.result()
        ((task, run),) = seen
        assert known == run == first.run and task == first.task
        found.append((task, run, wanted(bed, run, result.rounds)))
    assert found[0][0] == found[1][0] and found[0][1] != found[1][1]
    assert set(bed.jobs.named) == found[0][2] | found[1][2] and not found[0][2] & found[1][2]
    assert not recwarn.list


@pytest.mark.parametrize("job, kind, after", [
    (SUM_JOB, "all_gather", 0),  # before any has the task
    (TASK_JOB, "broadcast", 4),  # while it comes
    (TASK_JOB, "all_gather", 2),  # with all of it, before main knows
    (SUM_JOB, "allreduce", 2),
])
@pytest.mark.parametrize("rank", range(WORKERS))
def test_c4_a_restarted_worker_is_in_the_run_of_the_others(bed, rank, job, kind, after):
    bed.kill(job, rank + (job == TASK_JOB), kind, after)
    first = main(bed, publish="gradient")
    workers = bed.start(last_round)
    workers[rank].raised(Killed)
    workers[rank] = bed.start_one(last_round, rank)
    runs = {run for _, run in everyone(workers)}
    rounds = first.result().rounds
    assert len(runs) == 1 and set(bed.jobs.named) == wanted(bed, *runs, rounds)


def test_c4_a_main_knows_the_run_of_an_earlier_one(bed, tmp_path):
    """From its folder, or from the workers."""
    with bed.main(state=tmp_path) as task:
        first = Member(distribute, task)
        workers = bed.start(last_round)
        first.result()
    with bed.main(state=tmp_path) as heir, bed.main() as other:
        assert heir.run == task.run and other.run == ""
        taken = Member(other.result)
        (run,) = {run for _, run in everyone(workers)}
        taken.result()
        assert other.run == heir.run == run


def test_c4_nothing_is_put_behind_a_name_that_has_another_array(bed):
    """A round that was done again had another sum: its readers would get a mix."""
    def refuse(job, rank, name):
        asked.append(name)
        if name.endswith("gradient/v=3"):
            raise error("put of it", "name-taken")

    asked = []
    bed.jobs.before_put = refuse
    first = main(bed, publish="gradient")
    with pytest.warns(RuntimeWarning) as warned:
        everyone(bed.start(descend))
        first.result()
    (one,) = warned
    assert str(one.message).startswith("round 3 is not published: put of it: it has the array of the same round")
    assert len(asked) == 6 and asked[-1].endswith("gradient/v=3")


@pytest.mark.parametrize("change", [{"data": DATA[1:]}, {"metadata": {"rate": 0.25, "run": 2}}])
def test_c4_another_task_has_names_of_its_own(bed, change):
    """Main is started again with other data, or with the number of the run."""
    def rounds(task, rank):
        _, metadata = task.receive()
        while not task.final:
            task.submit(np.full(3, rank + float(metadata.get("run", 1))))
            task.next_round()
        task.deliver(np.zeros(3))
        return task.run

    stated = {"publish": "gradient", "criterion": {"most_rounds": 2}}
    first = main(bed, **stated)
    before = everyone(bed.start(rounds))[0]
    first.result()
    second = main(bed, **{"data": DATA, **stated, **change})
    after = everyone(bed.start(rounds))[0]
    second.result()
    assert before != after
    assert {run_of(name) for name in bed.jobs.named} == {f"run={before}", f"run={after}"}
    assert len(bed.jobs.named) == 4


@pytest.mark.parametrize("bad", ["a/b", "..", "1a", "a b", "x" * 65, "\xe4", 7])
def test_c4_bad_names(bed, bad):
    with pytest.raises(ValueError, match="publish is .*; allowed: up to 64 letters"):
        distribute(bed.main(), DATA, publish=bad)


def test_c4_arrays_by_worker_are_no_sums(bed):
    with pytest.raises(ValueError, match="publish names a sum; allowed: keep 'sum' or 'both'"):
        distribute(bed.main(), DATA, keep="worker", criterion={"most_rounds": 1}, publish="gradient")


def test_c4_a_member_without_a_task_has_no_identity(bed):
    assert all(member.task == member.run == "" for member in (bed.main(), bed.worker(0)))
