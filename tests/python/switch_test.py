"""The Python module with a real switch: four processes over memif."""

import gc
import os
import signal
import threading

import numpy as np
import pytest
import tributary

from conftest import JOB, WORKERS

SEED = 7


def operand(rank, count, dtype):
    """Whole numbers: float32 sums of them are exact in any order."""
    return np.random.default_rng([SEED, rank]).integers(-(2**20), 2**20, count).astype(dtype)


def expected(count, dtype):
    return sum(operand(rank, count, dtype) for rank in range(WORKERS)).astype(dtype)


# Sizes around a chunk of 8,192 bytes, and none of them a multiple of what vectors like.
SIZES = [0, 1, 2, 3, 7, 2047, 2048, 2049, 100_003]


def sums(comm, _pipe):
    for dtype in (np.int32, np.float32):
        for count in SIZES:
            array = operand(comm.rank, count, dtype)
            request = comm.allreduce(array)
            assert request.wait() is array and request.done()
            np.testing.assert_array_equal(array, expected(count, dtype), f"{dtype} {count}")
            request.wait()  # again is allowed
    stats = comm.stats()
    assert stats["ops"] == 2 * len(SIZES)
    assert stats["drops"] == 0
    return stats


def test_sums_are_exact_at_every_size(everywhere):
    assert all(stats["result_bytes"] > 0 for stats in everywhere(sums))


def shapes(comm, _pipe):
    zero_dimensional = np.array(comm.rank, np.int32)
    cube = np.full((3, 5, 7), comm.rank + 1, np.float32)
    inside = np.zeros((4, 100), np.int32)
    comm.allreduce(zero_dimensional, op="sum").wait()
    comm.allreduce(cube, "sum").wait()
    comm.allreduce(inside[2]).wait()  # a view: contiguous
    assert zero_dimensional == 6 and (cube == 10).all() and (inside == 0).all()


def test_any_shape(everywhere):
    everywhere(shapes)


def allocated(comm, _pipe):
    cube = comm.allocate((3, np.int64(5), 7))
    assert cube.dtype == np.float32 and cube.shape == (3, 5, 7) and not cube.any()
    cube += comm.rank + 1
    comm.allreduce(cube).wait()
    assert (cube == 10).all()
    count = comm.allocate(9, np.int32)
    count[:] = comm.rank
    request = comm.allreduce(count)
    del count  # the operation keeps it
    assert (request.wait() == 6).all()
    assert comm.allocate((), "uint16").shape == () and comm.allocate([0]).size == 0
    for shape, dtype, error in [((2, -1), "int32", ValueError), ((2**62, 4), "int32", ValueError),
                                (2**60, "int8", MemoryError), ("3", "int32", TypeError),
                                (2.5, "int32", TypeError), (3, "complex64", TypeError),
                                (3, object, TypeError), (3, ">i4", TypeError), (3, "no", TypeError)]:
        with pytest.raises(error):
            comm.allocate(shape, dtype)
    comm.close()
    cube += 1  # outlives the communicator
    with pytest.raises(tributary.Error, match="closed"):
        comm.allocate(3)


def test_a3_allocated_arrays_are_arrays(everywhere):
    everywhere(allocated)


def lists(comm, _pipe):
    """A1: arrays of a list are one operation, wherever they lie."""
    whole = np.zeros((3, 100), np.float32)
    whole += comm.rank
    alone = np.full(5, comm.rank, np.float32)
    apart = [whole[2], alone, whole[0]]
    request = comm.allreduce(apart)
    with pytest.raises(ValueError, match="overlaps the list of an op in flight"):
        comm.allreduce(alone)
    done = request.wait()
    assert [a is b for a, b in zip(done, apart)] == [True] * 3
    assert (alone == 6).all() and (whole[0] == 6).all() and (whole[1] == comm.rank).all()
    comm.broadcast((whole[1], alone) if comm.rank != 2 else np.arange(105, dtype=np.float32), 2).wait()
    if comm.rank != 2:
        assert whole[1].tolist() == list(range(100)) and alone.tolist() == list(range(100, 105))
    comm.allreduce([]).wait()
    assert comm.stats()["ops"] == 3
    with pytest.raises(TypeError, match="array 1 of the list: int32 after arrays of float32"):
        comm.allreduce([alone, np.zeros(1, np.int32)])
    with pytest.raises(TypeError, match="array 0 of the list: a numpy.ndarray is needed, not int"):
        comm.allreduce([1])
    with pytest.raises(ValueError, match="two arrays of the list overlap"):
        comm.allreduce([alone[:3], alone[2:]])


def test_lists_of_arrays_are_one_operation(everywhere):
    everywhere(lists)


def overflows(comm, _pipe):
    largest = np.array([2**31 - 1], np.int32)
    with pytest.raises(tributary.OverflowError, match="chunk 0: the sum of int32 left the range"):
        comm.allreduce(largest).wait()
    small = np.array([comm.rank], np.int32)
    comm.allreduce(small).wait()  # the job goes on
    assert small[0] == 6


def test_an_int32_sum_that_overflows_is_an_error(everywhere):
    everywhere(overflows)


def retried(comm, _pipe):
    """O10: under this exponent every seventh number overflows in the sum, or before."""
    element = np.arange(3000, dtype=np.float64)
    element[::7] *= 2.0**20
    whole = (element + comm.rank).astype(np.float32)
    exact = sum((element + rank).astype(np.float32).astype(np.float64) for rank in range(WORKERS))
    comm.allreduce(whole, encoding="block-scaled", scale_exponent=0).wait()
    np.testing.assert_allclose(whole, exact, rtol=4 * 2.0**-24, atol=0)
    assert comm.stats()["float_retries"] > 0
    return whole.tobytes()


def test_fixed_point_that_overflows_becomes_floats(everywhere):
    assert len(set(everywhere(retried))) == 1, "the same bits on every rank"


def limited_waits(comm, pipe):
    """The operation goes on when a wait has ended; rank 0 calls when all others have waited."""
    array = np.ones(3, np.float32)
    if comm.rank == 0:
        pipe.send(("returned", "ready"))
        assert pipe.recv() == "call"
        assert comm.allreduce(array).wait(timeout=60) is array
    else:
        request = comm.allreduce(array)
        for limit in (0, 0.01):
            with pytest.raises(TimeoutError, match="not done after .* s; it goes on"):
                request.wait(limit)
        for bad in (-1, float("nan"), 1e9):
            with pytest.raises(ValueError, match="timeout is .*; it is in seconds, 0 to 1e6"):
                request.wait(bad)
            with pytest.raises(ValueError, match="timeout is .*; it is in seconds, 0 to 1e6"):
                comm.barrier(bad)
        pipe.send(("returned", "waited"))
        assert pipe.recv() == "call"
        request.wait(None)
        request.wait(0)  # done
    assert (array == WORKERS).all()
    if comm.rank == 0:
        pipe.send(("returned", "ready"))
        assert pipe.recv() == "call"
        comm.barrier(timeout=60)
    else:
        with pytest.raises(TimeoutError, match="the barrier is not done after 0.01 s; it goes on"):
            comm.barrier(0.01)
        pipe.send(("returned", "waited"))
        assert pipe.recv() == "call"


def test_a_wait_may_have_a_limit(start):
    workers = start(limited_waits)
    for _ in ("of an array", "of a barrier"):
        for worker in workers:
            assert worker.result() in ("ready", "waited")
        for worker in workers:
            worker.pipe.send("call")
    for worker in workers:
        assert worker.result() is None


def many_in_flight(comm, _pipe):
    arrays = [operand(comm.rank, 1000 + i, np.int32) for i in range(50)]
    requests = [comm.allreduce(a) for a in arrays]
    for request in reversed(requests):
        request.wait()
    for i, array in enumerate(arrays):
        np.testing.assert_array_equal(array, expected(1000 + i, np.int32))


def test_many_operations_in_flight(everywhere):
    everywhere(many_in_flight)


def dropped(comm, _pipe):
    """Neither array nor request is kept by the caller; the library must not write freed memory."""
    for _ in range(20):
        comm.allreduce(np.ones(50_000, np.float32))
        gc.collect()
    comm.barrier()
    return comm.stats()["ops"]


def test_arrays_live_until_their_operation_is_done(everywhere):
    assert everywhere(dropped) == [21] * WORKERS


def refused(comm, _pipe):
    read_only = np.zeros(4, np.int32)
    read_only.flags.writeable = False
    swapped = np.zeros(4, np.dtype(np.int32).newbyteorder())
    for array, kind, text in [
        ([1, 2], TypeError, "array 0 of the list: a numpy.ndarray is needed, not int"),
        (None, TypeError, "not NoneType"),
        (np.zeros(4, np.complex64), TypeError, "arrays of complex64 are not supported; int8 to"),
        (np.zeros(4, np.uint16), TypeError, "uint16 with dtype='bfloat16'"),
        (swapped, TypeError, "native byte order"),
        (np.zeros((4, 4), np.float32)[:, 1], ValueError, "not C-contiguous"),
        (np.zeros((4, 4), np.float32).T, ValueError, "ascontiguousarray"),
        (read_only, ValueError, "read-only"),
    ]:
        with pytest.raises(kind, match=text):
            comm.allreduce(array)
    with pytest.raises(ValueError, match="op 'avg' is unknown; allowed are sum, mean, prod"):
        comm.allreduce(np.zeros(4, np.int32), op="avg")
    with pytest.raises(ValueError, match="mean of integers"):
        comm.allreduce(np.zeros(4, np.int32), op="mean")
    with pytest.raises(ValueError, match="root 4 of 4 ranks"):
        comm.broadcast(np.zeros(4), root=4)
    with pytest.raises(ValueError, match="'float8'; allowed are None"):
        comm.allreduce(np.zeros(4, np.uint16), dtype="float8")
    with pytest.raises(TypeError, match="needs an array of uint16, not float32"):
        comm.allreduce(np.zeros(4, np.float32), dtype="bfloat16")
    with pytest.raises(ValueError, match="block-scaled; allreduce of float32 with sum can"):
        comm.allreduce(np.zeros(4), encoding="block-scaled")
    with pytest.raises(ValueError, match="scale exponent 500; allowed are -200 to 127"):
        comm.allreduce(np.zeros(4, np.float32), encoding="block-scaled", scale_exponent=500)
    with pytest.raises(ValueError, match="is for the encoding block-scaled only"):
        comm.allreduce(np.zeros(4, np.float32), scale_exponent=0)
    with pytest.raises(ValueError, match="15 elements over 4 ranks; the parts must be equal"):
        comm.reduce_scatter(np.zeros(15))
    with pytest.raises(ValueError, match="has 4 elements of float32; 16 of float32"):
        comm.all_gather(np.zeros(4, np.float32), np.zeros(4, np.float32))
    # None of these counted: ranks still agree on what comes next.
    comm.barrier()


def test_unsuitable_arrays_are_refused_before_anything_is_sent(everywhere):
    everywhere(refused)


def overlapping(comm, _pipe):
    rank, part = comm.rank, 600

    def mine():
        return operand(rank, WORKERS * part, np.int32)

    total = expected(WORKERS * part, np.int32)[rank * part : (rank + 1) * part]
    for output in (slice(0, part), slice(rank * part, (rank + 1) * part)):
        array = mine()
        got = comm.reduce_scatter(array, array[output]).wait()
        np.testing.assert_array_equal(got, total)
    gathered = np.zeros(WORKERS * part, np.int32)
    gathered[rank * part : (rank + 1) * part] = rank
    comm.all_gather(gathered[rank * part : (rank + 1) * part], gathered).wait()
    np.testing.assert_array_equal(gathered, np.repeat(np.arange(WORKERS, dtype=np.int32), part))

    with pytest.raises(ValueError, match="reduce_scatter: data and output overlap; allowed: they"):
        comm.reduce_scatter(gathered, gathered[1 : part + 1])
    with pytest.raises(ValueError, match="all_gather: data and output overlap; allowed: they"):
        comm.all_gather(gathered[1 : part + 1], gathered)
    if rank == 0:  # the others' data is not there: it stays in flight
        first = comm.allreduce(gathered)
        with pytest.raises(ValueError, match="its data overlaps the data of an op in flight"):
            comm.allreduce(gathered[:1])
        _pipe.send("refused")
        first.wait()
    else:
        assert _pipe.recv() == "go"
        comm.allreduce(gathered).wait()


def test_in_place_works_and_other_overlaps_are_refused(start):
    workers = start(overlapping)
    assert workers[0].receive() == "refused"
    for worker in workers[1:]:
        worker.pipe.send("go")
    for worker in workers:
        worker.result()


def attributes(comm, _pipe):
    assert comm.size == WORKERS and not comm.closed
    comm.barrier()
    epoch = comm.epoch
    comm.close()
    comm.close()
    assert comm.closed
    for use in (comm.barrier, comm.stats, lambda: comm.epoch):
        with pytest.raises(tributary.Error, match="closed"):
            use()
    return comm.rank, epoch


def test_closing_and_joining_again_is_a_new_epoch(everywhere):
    first = everywhere(attributes)
    assert [rank for rank, _ in first] == list(range(WORKERS))
    second = everywhere(attributes)
    assert len({e for _, e in first}) == len({e for _, e in second}) == 1
    assert first[0][1] != second[0][1]


def until_it_fails(comm, pipe, silent_rank):
    comm.barrier()
    pipe.send("joined")
    if comm.rank == silent_rank:
        pipe.recv()  # never comes
    with pytest.raises(tributary.Error) as caught:
        comm.allreduce(np.ones(100_000, np.float32)).wait()
    return caught.value.reason, caught.value.missing_ranks, str(caught.value)


def test_killed_peer_is_named(start):
    """The others learn by the lapsed lease, or by the link, which rank is gone."""
    workers = start(until_it_fails, 2)
    for worker in workers:
        assert worker.receive() == "joined"
    workers[2].process.kill()
    for rank in (0, 1, 3):
        reason, missing, text = workers[rank].result()
        assert reason is not None and missing == [2], text
        assert "2" in text and f"job {JOB}" in text


def test_the_next_job_runs_after_a_death(start, everywhere):
    workers = start(until_it_fails, 0)
    for worker in workers:
        assert worker.receive() == "joined"
    workers[0].process.kill()
    for worker in workers[1:]:
        worker.result()
    for worker in workers:
        worker.finish()
    everywhere(sums)


def mismatch(comm, _pipe):
    with pytest.raises(tributary.Error) as caught:
        comm.allreduce(np.zeros(11 if comm.rank == 1 else 10, np.int32)).wait()
    return caught.value.reason, str(caught.value)


def test_different_sizes_are_an_error_on_every_rank(everywhere):
    for reason, text in everywhere(mismatch):
        assert reason == "op-mismatch"
        assert "10" in text and "11" in text


def interrupted(comm, pipe):
    comm.barrier()
    if comm.rank == 0:
        request = comm.allreduce(np.ones(10, np.int32))
        main = threading.main_thread().ident
        # It can run only once wait() has released the GIL.
        interrupt = threading.Thread(target=lambda: signal.pthread_kill(main, signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            interrupt.start()
            request.wait()
        interrupt.join()
        assert not request.done()
        pipe.send("interrupted")
        assert (request.wait() == WORKERS).all()  # the operation itself went on
    else:
        assert pipe.recv() == "go"
        comm.allreduce(np.ones(10, np.int32)).wait()


def test_ctrl_c_interrupts_a_wait_but_not_the_operation(start):
    workers = start(interrupted)
    assert workers[0].receive() == "interrupted"
    for worker in workers[1:]:
        worker.pipe.send("go")
    for worker in workers:
        worker.result()


def many(comm, pipe):
    comm.barrier()
    if comm.rank != 0:
        pipe.recv()
    handles = [comm.allreduce(np.ones(1, np.int32)) for _ in range(5000)]
    pipe.send("started")
    for handle in handles:
        assert handle.wait()[0] == comm.size


def test_a_call_never_waits_for_other_ranks(start):
    """However many operations are in flight."""
    workers = start(many)
    assert workers[0].receive() == "started"
    for worker in workers[1:]:
        worker.pipe.send("go")
    for worker in workers[1:]:
        assert worker.receive() == "started"
    for worker in workers:
        worker.result()


def test_a_port_that_the_switch_does_not_have_is_final(switch):
    address = f"memif://{switch.socket}?id=99&switch=10.77.0.254"
    with pytest.raises(tributary.Error, match=r"ID not found.* \(tried for [1-9]\d{3} ms\)"):
        tributary.init(job=JOB, rank=0, size=WORKERS, address=address, join_timeout=600)


def joined(comm, pipe):
    pipe.send("joined")
    pipe.recv()
    comm.barrier()


def test_a_second_process_of_a_rank_is_told_so(start, switch):
    """Communicators of one process share its link: the second one is this process."""
    workers = start(joined)
    for worker in workers:
        assert worker.receive() == "joined"
    with pytest.raises(tributary.Error, match=r"Already connected.* \(tried for [1-9]\d{3} ms"):
        tributary.init(job=JOB, rank=0, size=WORKERS, address=switch.address(0), join_timeout=600)
    for worker in workers:
        worker.pipe.send("go")
    for worker in workers:
        worker.result()


def idle(comm, _pipe):
    comm.allreduce(np.ones(1000, np.float32)).wait()
    before = os.times()
    threading.Event().wait(1.0)
    after = os.times()
    return (after.user + after.system) - (before.user + before.system)


def test_idle_worker_burns_no_cpu(everywhere):
    assert max(everywhere(idle)) < 0.1  # seconds of CPU in one second


def through_a_restart(comm, pipe):
    comm.barrier()
    pipe.send("joined")
    with pytest.raises(tributary.Error) as caught:
        while True:
            comm.allreduce(np.ones(200_000, np.float32)).wait()
    return str(caught.value)


def test_killed_switch_is_an_error_and_the_next_one_serves(switch, start, everywhere):
    workers = start(through_a_restart)
    for worker in workers:
        assert worker.receive() == "joined"
    switch.kill()
    switch.start()
    for worker in workers:
        assert worker.result()
    for worker in workers:
        worker.finish()
    everywhere(sums)


def test_rank_in_use_and_missing_ranks(switch):
    """Two of four never come: the error names them."""
    with pytest.raises(tributary.Error) as caught:
        tributary.init(
            job=JOB, rank=1, size=WORKERS, address=switch.address(1), join_timeout=0.5
        )
    assert caught.value.missing_ranks == [0, 2, 3]


def test_wrong_job_and_size_are_refused(switch):
    for changes, reason in [({"job": JOB + 1}, "unknown-job"), ({"size": 3}, "job-size-mismatch")]:
        arguments = {"job": JOB, "rank": 0, "size": WORKERS, "address": switch.address(0)}
        with pytest.raises(tributary.Error) as caught:
            tributary.init(**{**arguments, **changes})
        assert caught.value.reason == reason
