"""Collectives on NumPy arrays over all ranks of a job, in the network.

    import numpy, tributary
    with tributary.init(job=1, rank=0, size=4, address="udp://10.77.0.254") as comm:
        gradients = numpy.ones(1000, numpy.float32)
        comm.allreduce(gradients).wait()     # now 4.0 everywhere

Every rank calls the same operations in the same order. tributary.torch is a backend of
torch.distributed.
"""

from ._native import (
    Communicator,
    Error,
    OverflowError,
    Request,
    __version__,
    group_jobs,
    groups,
    init,
    task_information,
)

__all__ = [
    "Communicator",
    "Error",
    "OverflowError",
    "Request",
    "group_jobs",
    "groups",
    "init",
    "task_information",
]
for _name in __all__:
    globals()[_name].__module__ = "tributary"
del _name
