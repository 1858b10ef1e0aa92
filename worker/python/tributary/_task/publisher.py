"""A task's sums and states under names, for readers outside of the job and for the curious.

Rank 0 of the sum job puts them: all ranks hold the same bits. The names have the task's identity as
their run, so a restarted job goes on with them, and putting the same round again changes nothing.
Where a name has another array, of an earlier run of the same task, nothing more is put, as long as
this process lives. Names that have expired tell nothing, nor does a rank 0 that was restarted behind
the earlier run's last round know: where readers must never find two runs, each has metadata of its own.
"""

import warnings

from .._native import Error

# A put that meets a busy switch must not hold a round for long.
_LIMIT_S = 10.0


class Publisher:
    """tensor: the name that the manifest states, "" for none. Not thread-safe."""

    def __init__(self, tensor, task, status):
        self._tensor, self._run, self._status = tensor, task[:12], status
        self._told = set()
        self._taken = False  # an earlier run of this task has the names

    @property
    def wanted(self):
        """Whether the task states a name, and it is this run's to give."""
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
                error = (f"{error}: an earlier run of this task gave them, and readers get its arrays until "
                         "they expire; later rounds are not published either; allowed: other metadata, such as "
                         "the number of the run, which makes other names")
            if reason not in self._told:
                self._told.add(reason)
                self._status.event(f"could not publish {name}: {error}")
                warnings.warn(f"round {number} is not published: {error}", RuntimeWarning, stacklevel=2)
