"""C3, C4: a task's data in the switches' caches, over fake jobs: who puts, who gets, what is sent again."""

import numpy as np
import pytest
from fake_jobs import Killed, error
from task_bed import DATA, SUM_JOB, bed, descend, distribute, everyone, main, same  # noqa: F401
from tributary._task.pieces import HEAD
from task_status_test import events, folder  # noqa: F401

PIECES = 11
SIZES = (500, 120)  # of a piece, and of the last one; nothing else that is sent has these
VICTIM = 1


class Watch:
    """Which pieces go to all workers in the sum job; and the victim's death in its third round."""

    def __init__(self, bed):
        self.sent, self._rounds = 0, 0
        bed.jobs.before_op = self

    def __call__(self, job, rank, kind, root, array):
        if job != SUM_JOB:
            return
        if kind == "broadcast" and rank == root and array.size - HEAD.size in SIZES:
            self.sent += 1
        if kind == "allreduce" and rank == VICTIM:
            self._rounds += 1
            if self._rounds == 3:
                raise Killed


def killed_and_restarted(bed, **options):
    """The states of all workers, and how many pieces were sent to all of them again."""
    watch = Watch(bed)
    first = main(bed, **options)
    workers = bed.start(descend)
    workers[VICTIM].join()
    workers[VICTIM] = bed.start_one(descend, VICTIM)
    same(everyone(workers), first.result())
    return watch.sent


def names(bed):
    return sorted(int(name.rsplit("=", 1)[1]) for name in bed.jobs.named if "/task/data/" in name)


def test_c3_without_a_cache_all_pieces_go_to_all_workers_again(bed):
    assert killed_and_restarted(bed) == PIECES
    assert not bed.jobs.named


def test_c4_a_restarted_worker_gets_the_task_by_name(bed, folder):
    putters = set()
    bed.jobs.before_put = lambda job, rank, name: putters.add((job, rank))
    assert killed_and_restarted(bed, cache=True) == 0
    assert names(bed) == list(range(1, PIECES + 1)) and putters == {(SUM_JOB, 0)}
    assert f"put {PIECES} pieces by name" in events(folder, 1)
    assert f"got {PIECES} of {PIECES} pieces by name" in events(folder, VICTIM + 1)


@pytest.mark.parametrize("reason", ["name-unknown", "names-busy"])
def test_c4_what_no_cache_has_goes_to_all_workers(bed, folder, reason):
    def refuse(job, rank, name):
        if name.endswith("/v=8"):
            raise error(f"get of {name}", reason)

    bed.jobs.before_get = refuse
    assert killed_and_restarted(bed, cache=True) == PIECES - 7
    assert any(one.startswith(f"got 7 of {PIECES} pieces by name: get of ") for one in events(folder, VICTIM + 1))


@pytest.mark.parametrize("value", [np.zeros(516, np.uint8), np.zeros(2, np.uint8), np.zeros(516), np.zeros((2, 258), np.uint8)],
                         ids=["zeros", "short", "float64", "two-dimensional"])
def test_c4_a_value_that_is_none_of_the_task_is_not_taken(bed, value):
    def damage(job, rank, name):
        if name.endswith("/v=3"):
            bed.jobs.named[name] = value

    bed.jobs.before_get = damage
    assert killed_and_restarted(bed, cache=True) == PIECES - 2


def test_c4_bytes_that_are_no_array_are_not_taken(bed, folder):
    def damage(job, rank, name):
        if name.endswith("/v=3"):
            raise ValueError("magic string is not correct")

    bed.jobs.before_get = damage
    assert killed_and_restarted(bed, cache=True) == PIECES - 2
    assert f"got 2 of {PIECES} pieces by name: magic string is not correct" in events(folder, VICTIM + 1)


def test_c4_a_refused_put_is_a_warning_and_the_task_goes_on(bed, folder):
    def refuse(job, rank, name):
        if name.endswith("/v=5"):
            raise error("no memory for names", "names-full")

    bed.jobs.before_put = refuse
    with pytest.warns(RuntimeWarning, match=f"the switches have 4 of {PIECES} pieces of the task"):
        assert killed_and_restarted(bed, cache=True) == PIECES - 4
    assert f"put 4 of {PIECES} pieces by name: no memory for names" in events(folder, 1)


def test_c4_the_cache_is_on_or_off(bed):
    with pytest.raises(ValueError, match="cache is 'yes'; allowed: True, False"):
        distribute(bed.main(), DATA, cache="yes")
