"""Groups that are closed on one thread while another one is in a call."""

import threading

import torch
import torch.distributed as dist
import tributary.torch
from torch.utils._python_dispatch import TorchDispatchMode
from tributary.torch import _backend
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


def make_a_group_while_all_are_closed(rank, size):
    """Another thread is within close_all(), in Python, until this one has made a group."""
    dist.all_reduce(torch.ones(4))
    began, made = threading.Event(), threading.Event()
    wait_for_all = Agreement.wait_for_all

    def noted_wait(self):
        began.set()
        made.wait()
        wait_for_all(self)

    Agreement.wait_for_all = noted_wait
    closing = threading.Thread(target=_backend.close_all, daemon=True)
    closing.start()
    began.wait()
    dist.new_group()
    made.set()
    closing.join()
    Agreement.wait_for_all = wait_for_all


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


def groups_end_after_calls_of_gloo(rank, size):
    """Gloo's threads free the tensors of the last call while the group ends."""
    for _ in range(20):
        group = dist.new_group()
        dist.gather(torch.ones(1), [torch.ones(1) for _ in range(size)] if rank == 0 else None,
                    group=group)
        dist.destroy_process_group(group)
