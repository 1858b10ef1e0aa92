"""Communication hooks for DistributedDataParallel: what gradients are while they travel.

    from tributary.torch import hooks
    model.register_comm_hook(None, hooks.bf16_hook)

The state is a process group, or None: the default one. Gradients become the ranks' mean.
"""

import torch
import torch.distributed as dist

from .registration import allreduce_block_scaled


def _size(group):
    return dist.get_world_size(group if group is not None else dist.group.WORLD)


def bf16_hook(group, bucket):
    """Half the bytes: bfloat16 on the wire, float32 in the switch's partial sums."""
    gradients = bucket.buffer()
    small = gradients.to(torch.bfloat16).div_(_size(group))
    work = dist.all_reduce(small, group=group, async_op=True)

    def widen(future):
        future.value()  # raises what the sum did
        return gradients.copy_(small)

    return work.get_future().then(widen)


def block_scaled_hook(group, bucket):
    """The same bits on every run: sums of integers under common exponents, of float32 alone."""
    gradients = bucket.buffer()
    if gradients.dtype != torch.float32:
        raise TypeError(f"block_scaled_hook: gradients are {gradients.dtype}; it is for float32")
    size = _size(group)
    work = allreduce_block_scaled(gradients, group)
    return work.get_future().then(lambda future: future.value()[0].div_(size))
