"""The way of the final result from the workers to main, and the result itself.

Each result is an array with a head (arrays.py). Where all workers have the same one, the lowest
rank sends it; where the task keeps arrays by worker, each sends its own. Main checks the digest,
keeps what it got, and only then acknowledges; workers hold the result until it does.
"""

from dataclasses import dataclass
from typing import Optional

import numpy as np

from . import arrays, transfer
from .errors import TaskError
from .records import Answer, exchange, refusal, text_of


@dataclass(frozen=True)
class TaskResult:
    """A task's result at main.

    array: what the workers delivered, read-only; where each delivers its own, that of the lowest
    rank. arrays: of all workers in the order of their ranks; one where they deliver the same.
    rounds: rounds done. norm: of the last sum, or None. converged, why: as in Round."""

    array: np.ndarray
    arrays: tuple
    rounds: int
    norm: Optional[float]
    converged: bool
    why: str


def encode(array, progress, norm):
    """A worker's result as bytes, the same on all workers that have the same one."""
    head = {"rounds": progress.completed, "norm": norm, "converged": progress.converged,
            "why": progress.why}
    return arrays.encode(head, {"result": array})


def decode(blobs):
    """The TaskResult in them; TaskError if one is damaged."""
    try:
        parts = [arrays.decode(blob) for blob in blobs]
        found = tuple(named["result"] for _, named in parts)
        head = parts[0][0]
        return TaskResult(found[0], found, int(head["rounds"]), head["norm"], bool(head["converged"]),
                          str(head["why"]))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise TaskError(f"the result is damaged: {error}") from None


def senders(hellos, main):
    """Ranks that send a result; TaskError, on every rank, if workers that should agree do not."""
    workers = [rank for rank in range(len(hellos)) if rank != main]
    if hellos[workers[0]].each:
        return workers
    found = {}
    for rank in workers:
        found.setdefault(hellos[rank].result, []).append(rank)
    if len(found) > 1:
        groups = " and ".join(f"{name[:12]} at {text_of(ranks)}" for name, ranks in found.items())
        raise TaskError(f"the workers deliver different results: {groups}")
    return workers[:1]


def give(comm, main, ranks, blob):
    """A worker's part: sends `blob` if it is one of `ranks`; returns when main has all of them."""
    for rank in ranks:
        transfer.small(comm, rank, blob if rank == comm.rank else None, wanted=False)
    answers = exchange(comm, Answer(good=True))
    if answers[main].refuse:
        raise TaskError(f"main could not keep the result: {answers[main].refuse}")


def take(comm, ranks, keep):
    """Main's part: the TaskResult. keep(blobs): makes them outlive main, before it acknowledges."""
    blobs = [transfer.small(comm, rank) for rank in ranks]
    refuse = None
    try:
        result = decode(blobs)
        keep(blobs)
    except (OSError, TaskError) as error:
        refuse = error
    exchange(comm, Answer(refuse=refusal(refuse), good=refuse is None))
    if refuse is not None:
        raise refuse
    return result
