"""A member's way into its jobs: join, try again while there is patience, leave in good order."""

import time

import tributary

from .._native import Error
from .errors import Again, TaskError

# Seconds of one try to join the task job. Workers that wait for main meet in between, so that one
# that was restarted meanwhile finds them.
SLICE_S = 10.0
# Seconds that a member stays for others that may have lost the last result.
LINGER_S = 5.0
# Seconds after which a worker that still tells others why it ends says that it does.
WARN_S = 5.0
_LONGEST_S = 1e6
_MOST_MISMATCHES = 3
# Between two tries, so that a switch that refuses at once is not flooded.
PAUSE_S = 0.1
# A job that refuses this member will go on doing so.
_FINAL = {"unknown-job", "bad-rank", "job-size-mismatch"}


class Patience:
    """Time for something that may fail and be tried again.

    seconds: from now on; None: as long as it takes. status: gets the tries that failed."""

    def __init__(self, seconds, status):
        self._status = status
        self._end = None if seconds is None else time.monotonic() + seconds
        self._last = None
        self._mismatches = 0

    def left(self):
        """Seconds, at least a little more than none."""
        if self._end is None:
            return _LONGEST_S
        return min(max(self._end - time.monotonic(), 0.001), _LONGEST_S)

    def spend(self, error):
        """Notes why a try failed. Raises it if no other try has a chance, or the time is over."""
        if isinstance(error, TaskError) or _is_final(error):
            raise error
        if getattr(error, "reason", None) == "op-mismatch":
            # One may come of members at different points; they meet then. The program's own stays.
            self._mismatches += 1
            if self._mismatches == _MOST_MISMATCHES:
                raise error
        if not isinstance(error, Again):
            self._last = error
        self._status.retry(error)
        if self._end is not None and time.monotonic() >= self._end:
            raise self._last or TaskError(f"the members did not agree in time: {error}")
        time.sleep(PAUSE_S)


def is_told(error):
    """Whether a member that ends by this exception can tell the others: they are there."""
    if isinstance(error, Error) and not isinstance(error, (TaskError, OverflowError)):
        return getattr(error, "reason", None) == "op-mismatch"
    return isinstance(error, (Exception, SystemExit, KeyboardInterrupt))


def _is_final(error):
    reason = getattr(error, "reason", None)
    # The rank may be bound to the address of a process that died, until its lease lapses; but not
    # to a process that answers.
    taken = reason == "sender-mismatch" and "is already here" in str(error)
    return taken or reason in _FINAL


class Job:
    """One of the jobs, as tributary.init() joins it with `options`."""

    def __init__(self, options, op_timeout):
        self._options = {
            "op_timeout": min(op_timeout or _LONGEST_S, _LONGEST_S),
            "fail_if_taken": True,
            **options,
        }
        self._comm = None

    def join(self, timeout):
        """The communicator; joins unless it is there."""
        if self._comm is None:
            self._comm = tributary.init(**{**self._options, "join_timeout": timeout})
        return self._comm

    def leave(self):
        """Leaves at once; open ops of others fail."""
        comm, self._comm = self._comm, None
        if comm is not None:
            comm.close()

    def part(self):
        """Leaves when all others are about to, or after LINGER_S: they may still need this member."""
        if self._comm is None:
            return
        try:
            self._comm.barrier(timeout=LINGER_S)
        except (Error, TimeoutError):
            pass  # another member has left before: it needs nothing more
        self.leave()
