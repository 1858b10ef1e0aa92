"""Errors of tasks; each is a tributary.Error, with reason None."""

from .._native import Error


class TaskError(Error):
    """A task cannot go on; the text says why, and names the ranks concerned.

    Every member raises the same kind of error where all of them can see the cause. The subclasses
    have names of their own for causes that a program may want to tell apart. Bad arguments are
    ValueError and TypeError."""

    main_sees = True  # in a meeting with main: it raises the same, and need not be told


class WrongRole(TaskError):
    """A call that the other role has: main distributes and takes the result, workers submit."""


class MainConflict(TaskError):
    """Two members of the task job say that they are main, or none does; the text has their ranks."""


class TaskTooLarge(TaskError):
    """The task is larger than a worker takes into memory, and the worker has given no file for it."""


class DigestMismatch(TaskError):
    """Data arrived with another SHA-256 digest than its sender stated, as often as it was sent."""


class NormError(TaskError):
    """The norm of a round's sum is not a finite number; the text has the round and the element."""


class NotConverged(TaskError):
    """The rounds that the task allows are over, and its criterion never held.

    result: the TaskResult that the workers delivered all the same."""

    result = None

    def __init__(self, text="", result=None):
        super().__init__(text)
        self.result = result


class WorkerFailed(TaskError):
    """A worker has ended with an error, or left, before main had the result; the text has its words.

    failures: rank to text; at main ranks of the task job, on the other workers of the sum job."""

    def __init__(self, text="", failures=None):
        super().__init__(text)
        self.failures = dict(failures or {})


class Again(Exception):
    """This meeting came to nothing: its members leave, and meet again."""
