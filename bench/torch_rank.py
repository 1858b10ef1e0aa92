"""A rank of suite `torch`: the same call on two process groups, the switch's and Gloo's.

Rank 0 prints a JSON line for each size, the bytes of the whole data: seconds of each round on both
groups, the slowest rank's, and whether every element of every rank's results was right.
"""

import argparse
import json
import sys
import time

import torch
import torch.distributed as dist
import tributary.torch  # noqa: F401  (registers the backend)

ROOT = 0


def operand(rank, count, salt=0):
    """Small whole numbers: float32 sums of them are exact in any order."""
    return ((torch.arange(count) * 31 + rank * 17 + salt) % 64).float()


class Allreduce:
    def __init__(self, count):
        self.source = operand(dist.get_rank(), count)
        self.expected = sum(operand(other, count) for other in range(dist.get_world_size()))
        self.tensor = torch.empty(count)

    def reset(self):
        self.tensor.copy_(self.source)

    def call(self, group):
        dist.all_reduce(self.tensor, group=group)

    def right(self):
        return torch.equal(self.tensor, self.expected)


class Reduce(Allreduce):
    def call(self, group):
        dist.reduce(self.tensor, ROOT, group=group)

    def right(self):
        return dist.get_rank() != ROOT or super().right()


class Broadcast(Allreduce):
    def __init__(self, count):
        super().__init__(count)
        self.expected = operand(ROOT, count)

    def call(self, group):
        dist.broadcast(self.tensor, ROOT, group=group)


class AllGather:
    def __init__(self, count):
        ranks = dist.get_world_size()
        self.source = operand(dist.get_rank(), count // ranks)
        self.parts = list(torch.empty(count).chunk(ranks))
        self.expected = [operand(other, count // ranks) for other in range(ranks)]

    def reset(self):
        for part in self.parts:
            part.zero_()

    def call(self, group):
        dist.all_gather(self.parts, self.source, group=group)

    def right(self):
        return all(map(torch.equal, self.parts, self.expected))


class Barrier:
    def __init__(self, count):
        pass

    def reset(self):
        pass

    def call(self, group):
        dist.barrier(group)

    def right(self):
        return True


COLLECTIVES = {"allreduce": Allreduce, "reduce": Reduce, "broadcast": Broadcast,
               "all_gather": AllGather, "barrier": Barrier}


def seconds(group, work, iterations):
    """(mean time of a call, whether all were right); what readies its data is not counted."""
    total, right = 0.0, True
    for _ in range(iterations):
        work.reset()
        dist.barrier()  # Gloo's, for both
        begin = time.perf_counter()
        work.call(group)
        total += time.perf_counter() - begin
        right = right and work.right()
    return total / iterations, right


def measure(groups, work, rounds, iterations):
    times = {name: [] for name in groups}
    right = True
    for turn in range(rounds + 1):
        for name in sorted(groups, reverse=turn % 2 == 1):
            mean, good = seconds(groups[name], work, iterations)
            slowest = torch.tensor([mean, 0.0 if good else 1.0])
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            right = right and slowest[1].item() == 0
            if turn > 0:  # the first one warms up
                times[name].append(slowest[0].item())
    return times, right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collective", choices=COLLECTIVES, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    groups = {"gloo": dist.group.WORLD, "switch": dist.new_group(backend="tributary")}
    for size in options.sizes:
        iterations = max(2, min(20, (2 << 20) // max(size, 1)))
        work = COLLECTIVES[options.collective](size // 4)
        times, right = measure(groups, work, options.rounds, iterations)
        if dist.get_rank() == 0:
            print(json.dumps({"size": size, "right": right, **times}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
