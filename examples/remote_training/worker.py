#!/usr/bin/env -S OPENBLAS_NUM_THREADS=1 /usr/bin/python3
"""A worker: gets data and description, adds its share of each gradient, delivers the model.

    worker.py --task-job 1 --sum-job 2 --rank 0 --workers 4 --address udp://10.77.0.201

--rank is that of the sum job; in the task job it is one more, since main has rank 0 there. A worker
that was killed can be started again: it goes on with the round that the others are at.
"""

import argparse
import sys

import numpy as np

import tributary
from model import Share


def train(task, rank, workers):
    """All rounds; the model."""
    data, description = task.receive()
    share = Share(data, description, rank, workers)
    weights = np.zeros(share.weights) if task.state is None else task.state.copy()
    print(f"task of {len(data)} bytes", flush=True)
    if task.last is not None:
        print(f"goes on after round {task.last.number}", flush=True)
    while not task.final:
        task.submit(share.gradient(weights), state=weights)
        done = task.next_round()
        if done.final:
            break  # the gradient is that of these weights
        weights -= description["rate"] * done.sum
    return weights


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task-job", type=int, default=1)
    parser.add_argument("--sum-job", type=int, default=2)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--address", required=True)
    options = parser.parse_args()
    task_job = {"job": options.task_job, "rank": options.rank + 1, "size": options.workers + 1,
                "address": options.address}
    sum_job = {"job": options.sum_job, "rank": options.rank, "size": options.workers,
               "address": options.address}
    try:
        with tributary.Task("worker", job=task_job, sums=sum_job) as task:
            weights = train(task, options.rank, options.workers)
            print(f"final: {task.last.why} after round {task.last.number}", flush=True)
            task.deliver(weights)
    except tributary.Error as error:
        sys.exit(f"worker {options.rank}: {error}")


if __name__ == "__main__":
    main()
