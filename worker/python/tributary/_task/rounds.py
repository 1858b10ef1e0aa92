"""A worker's rounds without their retries: what is submitted, summed, decided and kept.

    submit() ─▶ begun, array kept ─▶ start(): ops ─▶ finish(): Round ─▶ completed
                     ▲                    │
                     └──── interrupt() ◀──┘  an epoch has ended: the same array again

A copy of the last round and the state of the one that has begun are kept, for workers that lost
the former's result or were restarted.
"""

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from . import arrays
from .criterion import Progress
from .errors import TaskError


@dataclass(frozen=True)
class Round:
    """The outcome of one round, the same on every worker, to the last bit.

    number: from 1. sum: the workers' arrays, summed in the network; None where the task keeps them
    by worker. parts: the workers' arrays, of shape (workers, *shape), by rank; None where the task
    keeps sums alone. Both are read-only. norm: of the sum, float64; None where the task asks for
    none. missing: ranks that a degraded sum lacks; such a round never converges.
    final: no round follows. converged: the criterion holds, or the task only counts rounds.
    why: "norm", "relative-change" or "rounds" if final, else ""."""

    number: int
    sum: Any
    parts: Any
    norm: Optional[float]
    missing: tuple
    final: bool
    converged: bool
    why: str


class Rounds:
    """One task's rounds on one worker. Not thread-safe."""

    def __init__(self, manifest):
        self._keep = manifest.keep
        self.progress = Progress(manifest.criterion)
        self.last = None
        self.state = None
        self.array = None
        self._total = self._sum = self._parts = None

    @property
    def begun(self):
        """The round that this worker has submitted an array for; 0 if it waits for none."""
        return 0 if self.array is None else self.progress.completed + 1

    @property
    def started(self):
        """Whether the ops of that round run."""
        return self._sum is not None or self._parts is not None

    def submit(self, array, state):
        """Begins a round; see Task.submit()."""
        if self.progress.final:
            raise TaskError(f"the task is final since round {self.progress.completed} "
                            f"({self.progress.why}): deliver() is next")
        if self.array is not None:
            raise TaskError(f"round {self.begun} has not ended: next_round() is next")
        arrays.check(array, "array")
        if not array.flags.c_contiguous:
            raise ValueError("array is not C-contiguous; allowed: numpy.ascontiguousarray() of it")
        if state is not None:
            arrays.check(state, "state")
            state = np.array(state, order="C")
        self.array, self.state = array, state

    def withdraw(self):
        """Undoes submit()."""
        self.array = None
        self.interrupt()

    def start(self, comm):
        """Starts the ops of the round that has begun."""
        if self._keep != "sum":
            self._parts = comm.all_gather(self.array)
        if self._keep != "worker":
            self._total = np.array(self.array, order="C")
            self._sum = comm.allreduce(self._total)

    def interrupt(self):
        """The ops came to nothing."""
        self._total = self._sum = self._parts = None

    def finish(self):
        """Waits for the ops; counts and returns the Round. NormError, on every worker, for NaN."""
        parts = None if self._parts is None else self._parts.wait()
        total, missing = None, ()
        if self._sum is not None:
            total = self._sum.wait()
            missing = tuple(self._sum.missing)
        self.withdraw()
        norm = self.progress.add(total, bool(missing))
        self._close_round(total, parts, norm, missing)
        return self.last

    def _close_round(self, total, parts, norm, missing):
        for array in (total, parts):
            if array is not None:
                array.flags.writeable = False
        done = self.progress
        self.last = Round(done.completed, total, parts, norm, missing, done.final, done.converged, done.why)

    def encode(self, state):
        """The last round and `state`, with which the next one begins, for adopt()."""
        last = self.last
        head = {"progress": self.progress.to_json(), "norm": last.norm, "missing": list(last.missing)}
        named = {"sum": last.sum, "parts": last.parts, "state": state}
        return arrays.encode(head, {name: one for name, one in named.items() if one is not None})

    def adopt(self, blob):
        """Takes over another worker's last round, and its state; TaskError if they are damaged."""
        try:
            head, found = arrays.decode(blob)
            progress = Progress.of_json(self.progress.criterion, head.get("progress"))
            missing = tuple(int(rank) for rank in head["missing"])
            norm = None if head["norm"] is None else float(head["norm"])
        except (KeyError, TypeError, ValueError) as error:
            raise TaskError(f"another worker's round is damaged: {error}") from None
        self.withdraw()
        self.progress, self.state = progress, found.get("state")
        self._close_round(found.get("sum"), found.get("parts"), norm, missing)
