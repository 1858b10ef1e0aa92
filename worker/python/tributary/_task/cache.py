"""A task's data in the switches' caches: a worker that comes back gets it from there, by name.

Rank 0 of the sum job puts each piece, once the worker has the task. A worker that was restarted asks
for what it lacks before the others give it (meeting.py): what it got by name they need not send, and
what it did not get, for whatever reason, they send as ever. So nothing here ends a task.
"""

import warnings

import numpy as np

from .._native import Error
from . import pieces

# A busy switch must not hold the other workers for long.
_LIMIT_S = 10.0


def _name_of(comm, task, index):
    """No tensor that a task publishes has a name of two parts."""
    return f"/job/{comm.job}/run={task[:12]}/task/data/v={index + 1}"


def keep(comm, task, manifest, source, status):
    """Puts all pieces of `source`. The first refusal is a warning, and the rest is left out."""
    count = pieces.count_of(manifest.length, manifest.piece_bytes)
    for index in range(count):
        start = index * manifest.piece_bytes
        size = pieces.length_of(index, manifest.length, manifest.piece_bytes)
        piece = pieces.pack(index, source.read(start, size))
        try:
            comm.put(_name_of(comm, task, index), piece, timeout=_LIMIT_S)
        except Error as error:
            status.event(f"put {index} of {count} pieces by name: {error}")
            warnings.warn(f"the switches have {index} of {count} pieces of the task: {error}",
                          RuntimeWarning, stacklevel=2)
            return
    status.event(f"put {count} pieces by name")


def fetch(comm, task, manifest, sink, status):
    """Asks for the pieces that `sink` lacks, in order, until one does not come."""
    begin, count = sink.held, sink.pieces
    why = ""
    for index in range(begin, count):
        try:
            found = comm.get(_name_of(comm, task, index), timeout=_LIMIT_S)
        except (Error, ValueError) as error:  # the latter: bytes that are no array
            why = f": {error}"
            break
        size = pieces.HEAD.size + pieces.length_of(index, manifest.length, manifest.piece_bytes)
        if not isinstance(found, np.ndarray) or found.dtype != np.uint8 or found.shape != (size,):
            why = f": the value of piece {index} is none of this task"
            break
        sink.take(index, found)
        if sink.held != index + 1:
            why = f": piece {index} is damaged"
            break
    status.event(f"got {sink.held - begin} of {count - begin} pieces by name{why}")
