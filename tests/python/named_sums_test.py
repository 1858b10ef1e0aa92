"""C4: sums that get a name as they are made, with a real switch."""

import numpy as np
import pytest
import tributary


def named(comm, _pipe):
    array = np.arange(10_000, dtype=np.float32) * (comm.rank + 1)
    request = comm.allreduce(array, name="grad/v=1")
    assert request.wait(timeout=60) is array
    kept = array.copy()
    array += 1
    request.wait()  # it puts nothing again: another value would be refused
    array[...] = kept
    comm.barrier()  # the put has been done where rank 0 has left the wait
    got = comm.get("grad/v=1")
    assert got.tobytes() == array.tobytes() and got.dtype == array.dtype
    whole = f"/job/{comm.job}/run={comm.run}/grad/v=1"
    assert comm.get(whole).tobytes() == array.tobytes()
    return array.tobytes()


def test_c4_every_rank_gets_the_sum_by_its_name(everywhere):
    assert len(set(everywhere(named))) == 1


def taken(comm, _pipe):
    comm.allreduce(np.ones(3, np.int32), name="grad/v=1").wait()
    second = np.full(3, 2, np.int32)
    request = comm.allreduce(second, name="grad/v=1")
    if comm.rank != 0:
        request.wait()
        return None
    with pytest.raises(tributary.Error) as caught:
        request.wait()
    assert second.tolist() == [8, 8, 8]  # the sum is there all the same
    return caught.value.reason


def test_c4_a_name_that_has_another_sum_is_told_to_rank_0(everywhere):
    assert everywhere(taken) == ["name-taken", None, None, None]


def bad(comm, _pipe):
    for name in ("grad", "grad/v=1/worker=0", "grad/v=1/seg=0", "../v=1", "/job/99/grad/v=1"):
        with pytest.raises(ValueError, match="allowed"):
            comm.allreduce(np.zeros(3), name=name)
    with pytest.raises(ValueError, match="a sum of a list of arrays gets no name; allowed: one array"):
        comm.allreduce([np.zeros(3)], name="grad/v=1")
    assert comm.stats()["ops"] == 0


def test_c4_bad_names_are_refused_before_anything_is_sent(everywhere):
    everywhere(bad)
