"""Tasks out, results back: a main server and its workers, over two jobs of the switch."""

from .errors import (
    DigestMismatch,
    MainConflict,
    NormError,
    NotConverged,
    TaskError,
    TaskTooLarge,
    WorkerFailed,
    WrongRole,
)
from .results import TaskResult
from .rounds import Round
from .task import Task

__all__ = [
    "DigestMismatch",
    "MainConflict",
    "NormError",
    "NotConverged",
    "Round",
    "Task",
    "TaskError",
    "TaskResult",
    "TaskTooLarge",
    "WorkerFailed",
    "WrongRole",
]
