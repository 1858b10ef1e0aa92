"""Collectives on NumPy arrays over all ranks of a job, in the network.

    import numpy, tributary
    with tributary.init(job=1, rank=0, size=4, address="udp://10.77.0.254") as comm:
        gradients = numpy.ones(1000, numpy.float32)
        comm.allreduce(gradients).wait()     # now 4.0 everywhere

Every rank calls the same operations in the same order. Task gives a main server's data to workers and
takes their result back. tributary.torch is a backend of torch.distributed.
"""

import operator as _operator
import os as _os

from ._native import (
    Communicator,
    Error,
    OverflowError,
    Request,
    __version__,
    group_jobs,
    groups,
    task_information,
)
from ._native import _ManagedJob, _OpenJob
from ._native import init as _init
from ._task import (
    DigestMismatch,
    MainConflict,
    NormError,
    NotConverged,
    Round,
    Task,
    TaskError,
    TaskResult,
    TaskTooLarge,
    WorkerFailed,
    WrongRole,
)


def _integers(options, names):
    """The options, with those names as Python's own integers: NumPy's count as well."""
    given = {name: _operator.index(options[name]) for name in names if options.get(name) is not None}
    return {**options, **given}


_OPENED = ("units", "nodes", "window", "chunk_bytes")


def _take_opened(options):
    """Puts what is said about a job that ranks open into one option."""
    by = options.pop("open", None)
    figures = [options.pop(name, None) for name in _OPENED]
    if by is None:
        if any(figure is not None for figure in figures):
            raise ValueError(f"{', '.join(_OPENED)} are of a job that ranks open; allowed: open as well")
        return
    if not by:
        raise ValueError('open is ""; allowed: inline, control, wait')
    options["opened"] = _OpenJob(by, *figures)


def init(*, manager=None, request=None, worker=None, **options):
    integers = ("rank", "size", "loss_group", *_OPENED) + ("job",) * (manager is None)
    options = _integers(options, integers)
    if manager is not None and options.get("open") is not None:
        raise ValueError("a manager says which jobs there are; allowed: without open")
    _take_opened(options)
    if options.get("address_bits") is not None:
        options["address_bits"] = tuple(map(_operator.index, options["address_bits"]))
    if manager is None:
        if request is not None or worker is not None:
            raise ValueError("request and worker are a manager's; allowed: manager as well")
        return _init(**options)
    if "size" in options or "address" in options:
        raise ValueError("the manager says size and address; allowed: without them")
    name, file = options.pop("job", None) or "", _os.fspath(request or "")
    return _init(job=0, managed=_ManagedJob(manager, name, file, worker or ""), **options)


init.__doc__ = (_init.__doc__ or "") + """
With manager, a cluster's manager says where the rank joins:

manager: "unix:PATH" or "HOST:PORT" of tributary-managerd. job is then the job's name, rank, size
    and address are the manager's to say. One that cannot be reached is tried for join_timeout.
request: a file with the job's request; any rank may submit it, the others find the job there.
worker: this one's name in the topology, by default the host's; rank says it, too."""

__all__ = [
    "Communicator",
    "DigestMismatch",
    "Error",
    "MainConflict",
    "NormError",
    "NotConverged",
    "OverflowError",
    "Request",
    "Round",
    "Task",
    "TaskError",
    "TaskResult",
    "TaskTooLarge",
    "WorkerFailed",
    "WrongRole",
    "group_jobs",
    "groups",
    "init",
    "task_information",
]
for _name in __all__:
    globals()[_name].__module__ = "tributary"
del _name
