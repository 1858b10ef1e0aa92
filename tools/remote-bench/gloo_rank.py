"""A rank of Gloo, over the loopback: prints, as rank 0, a JSON list of rows with `bytes` and `algbw` (GB/s).

    python3 gloo_rank.py RANK RANKS ITERATIONS STORE BYTES...

STORE is a file that all ranks share. Every element of every sum is checked, outside of the time.
"""
import json
import os
import sys
import time

import torch
import torch.distributed as dist

WARM_UP = 3


def measure(rank, ranks, size, iterations):
    count = size // 4
    mine = ((torch.arange(count) * 31 + rank * 17) % 64).float()
    expected = sum(((torch.arange(count) * 31 + other * 17) % 64).float() for other in range(ranks))
    taken = 0.0
    right = True
    for turn in range(WARM_UP + iterations):
        array = mine.clone()
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(array)
        seconds = time.perf_counter() - begin
        right = right and torch.equal(array, expected)
        if turn >= WARM_UP:
            taken += seconds
    slowest = torch.tensor([taken])
    wrong = torch.tensor([0.0 if right else 1.0])
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    dist.all_reduce(wrong)
    if wrong.item():
        sys.exit("gloo: a sum is wrong")
    return size * iterations / slowest.item() / 1e9


def main():
    rank, ranks, iterations = map(int, sys.argv[1:4])
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + sys.argv[4], rank=rank, world_size=ranks)
    rows = [{"bytes": size, "algbw": measure(rank, ranks, size, iterations)} for size in map(int, sys.argv[5:])]
    if rank == 0:
        print(json.dumps(rows))


main()
