"""What ranks do: each function runs on all of them, in a process group of its own."""

import os
from collections import Counter

import torch
import torch.distributed as dist
import tributary.torch

SEED = 11
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
# Around a chunk of 8,192 bytes, and nothing that vectors like.
SIZES = [0, 1, 3, 2047, 2048, 2049, 50_003]


def operand(rank, count, dtype):
    """Small whole numbers: sums of them are exact in every type and order."""
    generator = torch.Generator().manual_seed(SEED * 1000 + rank)
    return torch.randint(0, 4, (count,), generator=generator).to(dtype)


def operands(size, count, dtype):
    return torch.stack([operand(rank, count, dtype) for rank in range(size)])


def served():
    return tributary.torch.calls()


REFERENCES = {
    "SUM": lambda all: all.sum(0),
    "PRODUCT": lambda all: all.prod(0),
    "MIN": lambda all: all.amin(0),
    "MAX": lambda all: all.amax(0),
    "AVG": lambda all: all.sum(0) / all.shape[0],
}


def all_reduce_types(rank, size):
    """T14: every type and reduction that the switch has, through the switch."""
    expected_calls = 0
    for dtype in FLOATS + INTEGERS:
        for name, reference in REFERENCES.items():
            if name == "AVG" and dtype in INTEGERS:
                continue
            tensor = operand(rank, 1000, dtype)
            dist.all_reduce(tensor, getattr(dist.ReduceOp, name))
            wide = torch.float64 if dtype in FLOATS else torch.int64
            expected = reference(operands(size, 1000, wide)).to(dtype)
            assert torch.equal(tensor, expected), f"{dtype} {name}"
            expected_calls += 1
    for dtype in INTEGERS:
        for name, combine in (("BAND", torch.bitwise_and), ("BOR", torch.bitwise_or),
                              ("BXOR", torch.bitwise_xor)):
            tensor = operand(rank, 1000, dtype)
            expected = operand(0, 1000, dtype)
            for other in range(1, size):
                expected = combine(expected, operand(other, 1000, dtype))
            dist.all_reduce(tensor, getattr(dist.ReduceOp, name))
            assert torch.equal(tensor, expected), f"{dtype} {name}"
            expected_calls += 1
    assert served() == (expected_calls, 0)


def all_reduce_bool(rank, size):
    mine = torch.tensor([rank == 0, rank == 1, False, True])
    any_of, all_of = mine.clone(), mine.clone()
    dist.all_reduce(any_of, dist.ReduceOp.SUM)
    dist.all_reduce(all_of, dist.ReduceOp.PRODUCT)
    assert any_of.tolist() == [True, True, False, True]
    assert all_of.tolist() == [False, False, False, True]


def all_reduce_sizes(rank, size):
    for count in SIZES:
        tensor = operand(rank, count, torch.float32)
        dist.all_reduce(tensor)
        assert torch.equal(tensor, operands(size, count, torch.float32).sum(0)), count
    assert served() == (len(SIZES), 0)


def half_sums_are_wide(rank, size):
    """T14: partial sums of 16-bit floats are float32: 1 + 2^-9 * 3 is not lost in bfloat16 steps."""
    tensor = torch.tensor([1.0 if rank == 0 else 2.0**-9], dtype=torch.bfloat16)
    dist.all_reduce(tensor)
    exact = torch.tensor([1.0 + (size - 1) * 2.0**-9]).to(torch.bfloat16)
    assert torch.equal(tensor, exact)


def strided_tensors(rank, size):
    whole = torch.zeros(40, 6)
    whole[:, 2] = operand(rank, 40, torch.float32)
    dist.all_reduce(whole[:, 2])
    assert torch.equal(whole[:, 2], operands(size, 40, torch.float32).sum(0))
    assert whole.sum() == whole[:, 2].sum(), "nothing beside it is touched"
    turned = operand(rank, 12, torch.float32).reshape(3, 4).t()
    dist.broadcast(turned, 1)
    assert torch.equal(turned, operand(1, 12, torch.float32).reshape(3, 4).t())
    scalar = torch.tensor(float(rank))
    dist.all_reduce(scalar)
    assert scalar.item() == sum(range(size))


def broadcast_and_reduce(rank, size):
    for root in range(size):
        tensor = operand(rank, 3000, torch.int64)
        dist.broadcast(tensor, root)
        assert torch.equal(tensor, operand(root, 3000, torch.int64))
        tensor = operand(rank, 3000, torch.float32)
        dist.reduce(tensor, root)
        if rank == root:
            assert torch.equal(tensor, operands(size, 3000, torch.float32).sum(0))
    assert served() == (2 * size, 0)


def gather_and_scatter(rank, size):
    for count in (0, 5, 3001):
        everything = operands(size, count, torch.float32)
        apart = [torch.empty(count) for _ in range(size)]
        dist.all_gather(apart, operand(rank, count, torch.float32))
        assert torch.equal(torch.stack(apart), everything)
        together = torch.empty(size * count)
        dist.all_gather_into_tensor(together, operand(rank, count, torch.float32))
        assert torch.equal(together, everything.flatten())
        part = torch.empty(count)
        parts = [operand(rank * size + to, count, torch.float32) for to in range(size)]
        dist.reduce_scatter(part, parts)
        expected = sum(operand(r * size + rank, count, torch.float32) for r in range(size))
        assert torch.equal(part, torch.as_tensor(expected).expand(count))
        part = torch.empty(count)
        dist.reduce_scatter_tensor(part, torch.cat(parts), op=dist.ReduceOp.AVG)
        assert torch.equal(part, torch.as_tensor(expected / size).expand(count))
    assert served() == (12, 0)


def coalesced(rank, size):
    tensors = [operand(rank, count, torch.float32).reshape(1, -1) for count in (7, 0, 4001)]
    dist.all_reduce_coalesced(tensors)
    for tensor, count in zip(tensors, (7, 0, 4001)):
        assert torch.equal(tensor[0], operands(size, count, torch.float32).sum(0))
    assert served() == (1, 0), "one operation"


def many_in_flight(rank, size):
    tensors = [operand(rank, 100 * i, torch.int32) for i in range(40)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    futures = [work.get_future() for work in works[::2]]
    for future in futures:
        future.wait()
    for work in reversed(works):
        work.wait()
        assert work.is_completed() and work.is_success()
    for i, tensor in enumerate(tensors):
        assert torch.equal(tensor, operands(size, 100 * i, torch.int32).sum(0).to(torch.int32))
    tensor = operand(rank, 999, torch.float32)
    doubled = dist.all_reduce(tensor, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    assert torch.equal(doubled.wait(), 2 * operands(size, 999, torch.float32).sum(0))


def profiled(rank, size):
    """PyTorch's profiler shows the backend's calls under its name, and those of Gloo under Gloo's."""
    with torch.autograd.profiler.profile() as profile:
        works = [dist.all_reduce(torch.ones(4), async_op=True) for _ in range(2)]
        for work in works:
            work.wait()
        dist.reduce(torch.ones(4), 0)
        dist.broadcast(torch.ones(4), 0)
        dist.all_gather([torch.empty(4) for _ in range(size)], torch.ones(4))
        dist.reduce_scatter_tensor(torch.empty(1), torch.ones(size))
        dist.barrier()
        dist.gather(torch.ones(1), [torch.empty(1) for _ in range(size)] if rank == 0 else None)
    names = Counter(event.name for event in profile.function_events)
    shown = {name: count for name, count in names.items() if name.startswith(("tributary:", "gloo:"))}
    assert shown == {"tributary:all_reduce": 2, "tributary:reduce": 1, "tributary:broadcast": 1,
                     "tributary:all_gather": 1, "tributary:reduce_scatter": 1,
                     "tributary:barrier": 1, "gloo:gather": 1}, shown


def dropped_works(rank, size):
    """A work that nobody waits for still fills its strided tensor."""
    whole = torch.ones(3000, 2)
    dist.all_reduce(whole[:, 0], async_op=True)
    for _ in range(3):
        dist.barrier()
    last = torch.ones(1)
    dist.all_reduce(last[:], async_op=True).get_future().wait()
    assert last.item() == size


def gloo_has_the_rest(rank, size):
    """Point to point, gather, scatter, and what is below a threshold."""
    tensor = torch.full((4,), float(rank))
    if rank == 0:
        dist.send(tensor + 1, 1)
    elif rank == 1:
        dist.recv(tensor, 0)
        assert tensor.tolist() == [1.0] * 4
    gathered = [torch.empty(4) for _ in range(size)] if rank == 0 else None
    dist.gather(torch.full((4,), float(rank)), gathered)
    out = torch.empty(1)
    dist.scatter(out, [torch.tensor([float(r)]) for r in range(size)] if rank == 0 else None)
    assert out.item() == rank
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in range(size)]


def outside_thresholds(rank, size):
    tensor = operand(rank, 250, torch.float32)  # 1,000 bytes
    dist.all_reduce(tensor)
    assert torch.equal(tensor, operands(size, 250, torch.float32).sum(0))
    assert served() == (0, 1)
    tensor = operand(rank, 500, torch.float32)
    dist.all_reduce(tensor)
    assert torch.equal(tensor, operands(size, 500, torch.float32).sum(0))
    assert served() == (1, 1)
    tensor = operand(rank, 1001, torch.float32)
    dist.all_reduce(tensor)
    assert torch.equal(tensor, operands(size, 1001, torch.float32).sum(0))
    assert served() == (1, 2)
    bfloat = operand(rank, 2, torch.bfloat16)  # Gloo does not have it
    dist.all_reduce(bfloat)
    assert served() == (2, 2)


def groups(rank, size):
    """Each group has a job of its own; the third group of a size finds none, and goes on."""
    halves = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    third = dist.new_group([1, 2])
    everyone = dist.new_group()
    more = dist.new_group()
    mine = halves[rank // 2]
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor)
    dist.all_reduce(tensor, group=mine)
    assert tensor.item() == 2 * sum(range(size))
    assert tributary.torch.calls(mine) == (1, 0)
    if rank in (1, 2):
        tensor = torch.tensor([float(rank)])
        dist.all_reduce(tensor, group=third)
        assert tensor.item() == 3
        assert tributary.torch.calls(third) == (0, 1), "no job was left"
    dist.all_reduce(torch.ones(1), group=everyone)
    assert tributary.torch.calls(everyone) == (1, 0)
    dist.all_reduce(torch.ones(1), group=more)
    assert tributary.torch.calls(more) == (0, 1)
    tributary.torch.close(everyone)
    assert "has been destroyed" in error_of(dist.all_reduce, torch.ones(1), group=everyone)
    dist.barrier()  # rank 0 has released its job
    again = dist.new_group()
    tensor = torch.ones(1)
    dist.all_reduce(tensor, group=again)
    assert tensor.item() == size and tributary.torch.calls(again) == (1, 0)


def error_of(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("it did not fail")


def mixed_types(rank, size):
    return error_of(dist.all_reduce_coalesced, [torch.ones(1), torch.ones(1, dtype=torch.int32)])


def integer_mean(rank, size):
    return error_of(dist.all_reduce, torch.ones(1, dtype=torch.int32), dist.ReduceOp.AVG)


def on_a_device(rank, size):
    """PyTorch itself keeps it from c10d where no backend is for the device."""
    return error_of(tributary.torch.allreduce_block_scaled, torch.empty(4, device="meta"))


def overflow(rank, size):
    text = error_of(dist.all_reduce, torch.tensor([2**31 - 1], dtype=torch.int32))
    tensor = torch.ones(1, dtype=torch.int32)
    dist.all_reduce(tensor)  # the group goes on
    assert tensor.item() == size
    return text


def after_rank_0(rank, fifo, call):
    """What call() returns. Rank 1 makes it when rank 0 has its result, which says so by a FIFO."""
    dist.barrier()  # all have joined, and are done with the FIFO
    if rank == 1:
        with open(fifo) as pipe:
            pipe.read()
    result = call()
    if rank == 0:
        with open(fifo, "w") as pipe:
            pipe.write("done")
    return result


def late_rank(rank, size, fifo):
    return after_rank_0(rank, fifo, lambda: error_of(dist.all_reduce, torch.ones(1000)))


def sums_that_lack_a_rank(rank, size, fifo):
    """Rank 1 of two is late in each sum: the others' part of it counts for all."""
    weight = 3 * rank + 1  # rank 1's own data is no right result
    for dtype in FLOATS:
        own = torch.arange(1000) % 50 + 1
        tensor = own.to(dtype) * weight
        after_rank_0(rank, fifo, lambda: dist.all_reduce(tensor))
        assert torch.equal(tensor, own.to(dtype) * 2), dtype
    # A strided tensor, whose result is copied back by a future's thread.
    wide = torch.full((1000, 2), float(weight))
    after_rank_0(rank, fifo, lambda: dist.all_reduce(wide[:, 0], async_op=True).get_future().wait())
    assert torch.equal(wide, torch.tensor([[2.0, weight]]).expand(1000, 2))
    # DDP divides before it sums: that's the mean of those inside.
    divided = torch.full((1000,), 6.0 * weight) / size
    after_rank_0(rank, fifo, lambda: dist.all_reduce(divided))
    assert torch.equal(divided, torch.full((1000,), 6.0))
    part = torch.zeros(500)
    whole = torch.full((1000,), float(weight))
    after_rank_0(rank, fifo, lambda: dist.reduce_scatter_tensor(part, whole))
    assert torch.equal(part, torch.full((500,), 2.0))
    for root in range(size):
        tensor = torch.full((1000,), float(weight))
        after_rank_0(rank, fifo, lambda: dist.reduce(tensor, root))
        assert torch.equal(tensor, torch.full((1000,), 2.0 if rank == root else weight)), root
    tensor = torch.full((1000,), float(weight))
    dist.all_reduce(tensor)
    assert torch.equal(tensor, torch.full((1000,), 5.0)), "both are in time"


def results_that_no_count_mends(rank, size, fifo):
    """The errors of calls that are no sum of floats; the group goes on."""
    texts = []
    for dtype, op in ((torch.int32, "SUM"), (torch.float32, "MAX"), (torch.float32, "AVG")):
        tensor = torch.ones(1000, dtype=dtype)
        texts.append(after_rank_0(rank, fifo, lambda: error_of(
            dist.all_reduce, tensor, getattr(dist.ReduceOp, op))))
    return texts


def roots_that_are_no_ranks(rank, size):
    return [error_of(call, torch.ones(1), root) for call in (dist.reduce, dist.broadcast)
            for root in (-1, size)]


def a_result_too_early(rank, size):
    """Rank 0 asks for it before the others have called."""
    dist.barrier()  # all have joined
    store = dist.distributed_c10d._get_default_store()
    early = None
    if rank == 0:
        work = dist.all_reduce(torch.ones(1), async_op=True)
        early = error_of(work.result)
        store.set("asked", "yes")
    else:
        store.wait(["asked"])
        work = dist.all_reduce(torch.ones(1), async_op=True)
    work.wait()
    assert work.result()[0].item() == size
    return early


def different_shapes(rank, size):
    first = error_of(dist.all_reduce, torch.ones(1000 if rank == 1 else 2000))
    second = error_of(dist.all_reduce, torch.ones(1000))
    return first, second


def different_types(rank, size):
    return error_of(dist.all_reduce, torch.ones(
        1000, dtype=torch.int32 if rank == 2 else torch.float32))


def different_reductions(rank, size):
    return error_of(dist.all_reduce, torch.ones(1000),
                    dist.ReduceOp.MAX if rank == 0 else dist.ReduceOp.SUM)


def a_future_with_an_error(rank, size):
    work = dist.all_reduce(torch.ones(1000 if rank == 1 else 2000), async_op=True)
    return error_of(work.get_future().wait)


def one_never_calls(rank, size):
    if rank == 3:
        return ""
    return error_of(dist.all_reduce, torch.ones(10))


def forked(rank, size):
    dist.all_reduce(torch.ones(1))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, error_of(dist.all_reduce, torch.ones(1)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    dist.all_reduce(torch.ones(1))  # the parent goes on
    return text


def wait_that_is_too_short(rank, size):
    """The work goes on after its wait has ended."""
    from datetime import timedelta

    text = ""
    tensor = torch.ones(1)
    dist.barrier()
    if rank != 0:
        work = dist.all_reduce(tensor, async_op=True)
        text = error_of(work.wait, timedelta(milliseconds=20))
        dist.send(torch.ones(1), 0)
        work.wait()
    else:
        for other in range(1, size):
            dist.recv(torch.ones(1), other)
        dist.all_reduce(tensor)
    assert tensor.item() == size
    return text


def sums_once(rank, size):
    tensor = torch.ones(100)
    dist.all_reduce(tensor)
    return tensor[0].item()


def sums_for_ever(rank, size, running):
    """Rank 2 opens the pipe `running` when all have begun."""
    dist.all_reduce(torch.ones(100_000))
    if rank == 2:
        with open(running, "w"):
            pass
    while True:
        dist.all_reduce(torch.ones(100_000))


one_never_calls.timeout_s = 2
