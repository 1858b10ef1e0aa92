"""Cases with several process groups at a time, run on every rank. They return what the test checks."""

from threading import Thread

import torch
import torch.distributed as dist
import tributary.torch


def made(count):
    """Groups of all ranks that have joined their jobs."""
    groups = [dist.new_group() for _ in range(count)]
    for group in groups:
        dist.barrier(group)
        assert tributary.torch.calls(group) == (1, 0), "no job was left"
    return groups


def sums(group, rank, size, count, seed):
    """`count` sums of tensors of several sizes, each of them checked."""
    weight = sum(r + 1 for r in range(size))
    for turn in range(count):
        elements = (1, 100, 3000, 40_000)[turn % 4]
        value = torch.arange(elements, dtype=torch.int64) % 1000 + seed + turn
        tensor = value * (rank + 1)
        dist.all_reduce(tensor, group=group)
        assert torch.equal(tensor, value * weight), f"seed {seed}, turn {turn}"


def all_at_a_time(rank, size, count):
    """A call of each group is in flight before the first is waited for."""
    groups = made(count)
    for turn in range(5):
        tensors = [torch.full((5000,), float(rank + 10 * n + turn)) for n in range(count)]
        works = [dist.all_reduce(tensor, group=group, async_op=True)
                 for tensor, group in zip(tensors, groups, strict=True)]
        for work in works:
            work.wait()
        for n, tensor in enumerate(tensors):
            expected = float(sum(r + 10 * n + turn for r in range(size)))
            assert (tensor == expected).all(), f"turn {turn}, group {n}"
    return [tributary.torch.calls(group) for group in groups]


def from_two_threads(rank, size):
    groups = made(2)
    failures = []

    def run(seed):
        try:
            sums(groups[seed], rank, size, 100, seed)
        except BaseException as error:
            failures.append(f"{type(error).__name__}: {error}")

    threads = [Thread(target=run, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def one_waits_while_the_other_sums(rank, size):
    """The last rank joins a call of the first group after a hundred of the other's."""
    waiting, summing = made(2)
    tensor = torch.full((100_000,), float(rank))
    work = None
    if rank != size - 1:
        work = dist.all_reduce(tensor, group=waiting, async_op=True)
    sums(summing, rank, size, 100, 3)
    # The last rank cannot be further: it needs this one's part of one more sum.
    assert work is None or not work.is_completed()
    sums(summing, rank, size, 1, 4)
    if work is None:
        work = dist.all_reduce(tensor, group=waiting, async_op=True)
    work.wait()
    assert (tensor == float(sum(range(size)))).all()


def until_both_fail(rank, size, running):
    """What each of two groups says in the end."""
    groups = made(2)
    if rank == 2:
        with open(running, "w") as pipe:
            pipe.write("yes")
    texts = []
    for group in groups:
        text = None
        while text is None:
            try:
                dist.all_reduce(torch.ones(1000), group=group)
            except RuntimeError as error:
                text = str(error)
        texts.append(text)
    return texts


def one_more_than_jobs(rank, size, jobs):
    """Where the calls of each of jobs + 1 groups go."""
    groups = [dist.new_group() for _ in range(jobs + 1)]
    where = []
    for group in groups:
        dist.barrier(group)
        where.append({(1, 0): "switch", (0, 1): "gloo"}[tributary.torch.calls(group)])
        sums(group, rank, size, 4, 0)
    return where
