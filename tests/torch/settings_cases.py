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


def join_when_told(rank, size, fifos):
    """Knows its job, and waits at its FIFO `gate` before it joins. Writes to the FIFO `joined` once this
    rank is in the job, and rank 0 has told its epoch to the others of its run."""
    gate, joined = fifos[rank]
    bind, join = Agreement.bind, Agreement.joined

    def held_bind(self):
        found = bind(self)
        with open(gate, "rb", buffering=0) as pipe:
            pipe.read(1)
        return found

    def noted_join(self, epoch):
        if rank == 0:
            join(self, epoch)
        with open(joined, "wb") as pipe:
            pipe.write(b"x")
        if rank != 0:
            join(self, epoch)

    Agreement.bind, Agreement.joined = held_bind, noted_join
    dist.all_reduce(torch.ones(1))
