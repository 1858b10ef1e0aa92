"""Cases about what the ranks of a group agree on first: its job, and the job's epoch."""

import torch
import torch.distributed as dist
import tributary.torch
from tributary.torch.binding import Agreement


def a_second_group_without_a_job(rank, size):
    dist.all_reduce(torch.ones(1))
    assert tributary.torch.calls() == (1, 0)
    second = dist.new_group()
    tensor = torch.ones(1)
    dist.all_reduce(tensor, group=second)
    assert tensor.item() == size and tributary.torch.calls(second) == (0, 1)


def join_when_told(rank, size, gates):
    """Knows its job, and waits at its FIFO before it joins."""
    bind = Agreement.bind

    def held_bind(self):
        found = bind(self)
        with open(gates[rank], "rb", buffering=0) as pipe:
            pipe.read(1)
        return found

    Agreement.bind = held_bind
    data = torch.ones(1)
    dist.all_reduce(data)
    assert data.item() == size
