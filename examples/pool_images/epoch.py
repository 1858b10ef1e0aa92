#!/usr/bin/python3
"""Reads an epoch of make_set.py's images out of the pool, in random order, and checks every sample.

    tributary pool fill --manifest --config FOLDER/pool.yaml
    tributary-poold --config FOLDER/pool.yaml --node a &
    tributary-poold --config FOLDER/pool.yaml --node b &
    tributary pool fill --config FOLDER/pool.yaml
    epoch.py FOLDER/pool.yaml [--rank 0 --ranks 1] [--workers N]

Needs the package `tributary` on PYTHONPATH. With --workers the samples come through
torch.utils.data.DataLoader and so many worker processes, without a change to the data set.
"""

import argparse
import sys
import time

import numpy as np

from make_set import CLASSES, SIDE, color
from tributary.data import Pool, PoolDataset, PoolLoader


def decode(sample):
    """(number, class, pixels) of a sample: views of the batch's buffer, no copies."""
    pixels = sample["ppm"][-SIDE * SIDE * 3 :].reshape(SIDE, SIDE, 3)
    return int(sample["__key__"]), int(bytes(sample["cls"])), pixels


def right(number, label, pixels):
    return label == number % CLASSES and bool((pixels == np.frombuffer(color(number), np.uint8)).all())


def batches(dataset, arguments):
    if arguments.workers == 0:
        return PoolLoader(dataset, batch=256, seed=1, rank=arguments.rank, ranks=arguments.ranks)
    from torch.utils.data import DataLoader, DistributedSampler

    sampler = DistributedSampler(dataset, arguments.ranks, arguments.rank, seed=1)
    return DataLoader(dataset, batch_size=256, sampler=sampler, num_workers=arguments.workers,
                      collate_fn=list)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--workers", type=int, default=0)
    arguments = parser.parse_args()
    pool = Pool(arguments.config)
    seen, wrong, started = set(), 0, time.perf_counter()
    for batch in batches(PoolDataset(pool, transform=decode), arguments):
        for number, label, pixels in batch:
            seen.add(number)
            wrong += not right(number, label, pixels)
    seconds = time.perf_counter() - started
    print(f"{len(seen)} samples, {wrong} wrong, {len(seen) / seconds:.0f} a second, "
          f"{pool.stats()['misses']} from the store")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
