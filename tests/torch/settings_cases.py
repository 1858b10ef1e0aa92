"""Cases about what the ranks of a group agree on first: its job, and the job's epoch."""

import torch
import torch.distributed as dist
from tributary.torch.binding import Agreement


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
