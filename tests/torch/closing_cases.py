"""Groups that are closed on one thread while another one is in a call."""

import threading

import torch
import torch.distributed as dist
import tributary.torch
from torch.utils._python_dispatch import TorchDispatchMode
from tributary.torch.binding import Agreement

from cases import error_of


def close_while_joining(rank, size, absent):
    """`absent` never calls; the others close the group once they wait for it."""
    if rank == absent:
        return ""
    began = threading.Event()
    bind = Agreement.bind

    def noted_bind(self):
        if absent == 0:
            began.set()
        found = bind(self)
        began.set()
        return found

    Agreement.bind = noted_bind
    errors = []
    joining = threading.Thread(
        target=lambda: errors.append(error_of(dist.all_reduce, torch.ones(4))), daemon=True)
    joining.start()
    began.wait()
    tributary.torch.close()
    joining.join()
    Agreement.bind = bind
    return errors[0]


close_while_joining.timeout_s = 1800


class ClosesFirst(TorchDispatchMode):
    """Closes the default group, on another thread, before the first thing that PyTorch computes."""

    closed = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if not self.closed:
            self.closed = True
            closing = threading.Thread(target=tributary.torch.close)
            closing.start()
            closing.join()
        return func(*args, **(kwargs or {}))


def close_within_a_call(rank, size):
    """The call has its communicator, and packs data that has gaps, when the group is closed."""
    dist.all_reduce(torch.ones(4))
    gaps = torch.ones(2000)[::2]
    mode = ClosesFirst()
    with mode:
        work = tributary.torch.allreduce_block_scaled(gaps)
    assert mode.closed
    return error_of(work.wait)
