"""A rank of suite `torch`: the same all_reduce on two process groups, the switch's and Gloo's.

Rank 0 prints a JSON line for each size: seconds of each round on both groups, the slowest rank's,
and whether every element of every rank's results was right.
"""

import argparse
import json
import sys
import time

import torch
import torch.distributed as dist
import tributary.torch  # noqa: F401  (registers the backend)


def operand(rank, count, salt):
    """Small whole numbers: float32 sums of them are exact in any order."""
    return ((torch.arange(count) * 31 + rank * 17 + salt) % 64).float()


def seconds(group, tensor, expected, source, iterations):
    """(mean time of a sum, whether all were right); the copy before each sum is not counted."""
    total, right = 0.0, True
    for _ in range(iterations):
        tensor.copy_(source)
        dist.barrier()  # Gloo's, for both
        begin = time.perf_counter()
        dist.all_reduce(tensor, group=group)
        total += time.perf_counter() - begin
        right = right and torch.equal(tensor, expected)
    return total / iterations, right


def measure(groups, size, rounds, iterations):
    rank, ranks, count = dist.get_rank(), dist.get_world_size(), size // 4
    source = operand(rank, count, 0)
    expected = sum(operand(other, count, 0) for other in range(ranks))
    tensor = torch.empty(count)
    times = {name: [] for name in groups}
    right = True
    for turn in range(rounds + 1):
        for name in sorted(groups, reverse=turn % 2 == 1):
            mean, good = seconds(groups[name], tensor, expected, source, iterations)
            slowest = torch.tensor([mean, 0.0 if good else 1.0])
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            right = right and slowest[1].item() == 0
            if turn > 0:  # the first one warms up
                times[name].append(slowest[0].item())
    return times, right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    groups = {"gloo": dist.group.WORLD, "switch": dist.new_group(backend="tributary")}
    for size in options.sizes:
        iterations = max(2, min(20, (2 << 20) // size))
        times, right = measure(groups, size, options.rounds, iterations)
        if dist.get_rank() == 0:
            print(json.dumps({"size": size, "right": right, **times}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
