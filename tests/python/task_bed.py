"""Members of a task as threads over jobs that threads act (fake_jobs.py), for tests of C3."""

import numpy as np
import pytest
import tributary
from fake_jobs import Jobs, Killed, Member
from tributary._task import jobs as task_jobs

TASK_JOB, SUM_JOB = 3, 4
WORKERS = 3
DATA = bytes(range(256)) * 20
STATED = {"most_rounds": 100, "norm_below": 1e-3}


class Bed:
    """A task's members, as threads; main has rank 0 of the task job."""

    def __init__(self, jobs):
        self.jobs = jobs

    def main(self, **options):
        return tributary.Task("main", job={"job": TASK_JOB, "rank": 0, "size": WORKERS + 1}, **options)

    def worker(self, rank, **options):
        task = {"job": TASK_JOB, "rank": rank + 1, "size": WORKERS + 1}
        sums = {"job": SUM_JOB, "rank": rank, "size": WORKERS}
        return tributary.Task("worker", job=task, sums=sums, **options)

    def start(self, function, **options):
        """function(task, rank) on every worker."""
        return [self.start_one(function, rank, **options) for rank in range(WORKERS)]

    def start_one(self, function, rank, **options):
        def run():
            with self.worker(rank, **options) as task:
                return function(task, rank)

        return Member(run)

    def kill(self, job, rank, kind, after):
        """That rank dies instead of its op number `after` of that kind; once."""
        left = [after]

        def before(*op):
            if op[:3] == (job, rank, kind):
                left[0] -= 1
                if left[0] == -1:
                    raise Killed

        self.jobs.before_op = before


@pytest.fixture
def bed(monkeypatch):
    jobs = Jobs()
    monkeypatch.setattr(tributary, "init", jobs.init)
    monkeypatch.setattr(task_jobs, "LINGER_S", 0.5)
    monkeypatch.setattr(task_jobs, "PAUSE_S", 0.001)
    monkeypatch.setattr("tributary._task.worker.SLICE_S", 1.0)
    return Bed(jobs)


def distribute(task, data=DATA, **changes):
    stated = {"criterion": STATED, "metadata": {"rate": 0.25}, "piece_bytes": 500, **changes}
    task.distribute(data, **stated)
    return task


def main(bed, data=DATA, state=None, **changes):
    """Main from its begin to its end, in a thread."""
    def run():
        with bed.main(state=state) as task:
            return distribute(task, data, **changes).result()

    return Member(run)


def descend(task, rank):
    """Each worker pulls the state towards a target of its own; the sum of the pulls vanishes."""
    data, metadata = task.receive()
    assert bytes(data) == DATA
    state = np.zeros(5) if task.state is None else task.state.copy()
    while not task.final:
        given, before = state.copy(), state - (rank + np.arange(5.0))
        array = before.copy()
        task.submit(array, state=given)
        given.fill(np.nan)  # it was copied
        state -= metadata["rate"] * task.next_round().sum
        assert array.tobytes() == before.tobytes()  # it is no sum now
    task.deliver(state)
    return state


def same(states, result):
    assert all(state.tobytes() == result.array.tobytes() for state in states)
    np.testing.assert_allclose(result.array, 1 + np.arange(5.0), atol=1e-3)


def everyone(members):
    return [member.result() for member in members]
