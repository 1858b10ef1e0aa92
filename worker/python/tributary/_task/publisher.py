"""A task's sums and states under names, for readers outside of the job and for the curious.

Rank 0 of the sum job puts them: all ranks hold the same bits. The names have an identity of the run,
which the workers agree on when they get the task and keep for as long as one of them lives
(meeting.run_of()). So no two runs share a name, and a worker that is restarted goes on with the names.
A round that was done again, since rank 0 died before the others had its sum, may have another sum, in
another order of addition: then nothing more is put.
"""

import warnings

from .._native import Error

# A put that meets a busy switch must not hold a round for long.
_LIMIT_S = 10.0


class Publisher:
    """tensor: the name that the manifest states, "" for none. Not thread-safe."""

    def __init__(self, tensor, run, status):
        self._tensor, self._run, self._status = tensor, run, status
        self._told = set()
        self._taken = False  # a name has another array

    @property
    def wanted(self):
        """Whether the task states a name, and it has this run's arrays alone."""
        return bool(self._tensor) and not self._taken

    def put(self, comm, suffix, number, array):
        """Puts an array of round `number`, where this member is to.

        A refusal is a warning, once for each reason, and never the task's end."""
        if comm.rank != 0 or self._taken:
            return
        name = f"/job/{comm.job}/run={self._run}/{self._tensor}{suffix}/v={number}"
        try:
            comm.put(name, array, timeout=_LIMIT_S)
        except Error as error:
            reason = getattr(error, "reason", None)
            if reason == "name-taken":
                self._taken = True
                error = (f"{error}: it has the array of the same round before that was done again; later "
                         "rounds are not published either")
            if reason not in self._told:
                self._told.add(reason)
                self._status.event(f"could not publish {name}: {error}")
                warnings.warn(f"round {number} is not published: {error}", RuntimeWarning, stacklevel=2)
