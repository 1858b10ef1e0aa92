"""What ranks do whose callbacks start ops themselves, and wait for them."""

from hashlib import sha256
from pathlib import Path

import torch
import torch.distributed as dist
import tributary.torch
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.nn.parallel import DistributedDataParallel
from tributary.torch import hooks

DEPTH = 3
STEPS = 12
# A callback that drops the last reference to a Gloo group ends the process: its thread joins itself.
KEPT = []


def sum_again(depth, group):
    """A callback that sums the result once more, and so on, `depth` deep."""
    def callback(future):
        tensor = future.value()[0]
        if depth == 0:
            return [tensor]
        return start(tensor.clone(), depth - 1, group).wait()
    return callback


def start(tensor, depth, group=None):
    work = dist.all_reduce(tensor, group=group, async_op=True)
    return work.get_future().then(sum_again(depth, group))


def total(size):
    return size * (size + 1) / 2


def callbacks_that_wait(rank, size):
    for _ in range(20):
        (result,) = start(torch.tensor([rank + 1.0]), DEPTH).wait()
        assert result.item() == total(size) * size ** DEPTH
    # Those of one future run in their order.
    order = []
    future = dist.all_reduce(torch.ones(1), async_op=True).get_future()
    last = [future.then(lambda _, place=place: order.append(place)) for place in range(10)][-1]
    last.wait()
    assert order == list(range(10)), order
    assert tributary.torch.calls()[1] == 0


def callbacks_of_two_groups(rank, size):
    """Groups of all ranks with jobs of their own; both callbacks run at once."""
    other = dist.new_group()
    for _ in range(20):
        futures = [start(torch.tensor([rank + 1.0]), DEPTH, group) for group in (None, other)]
        for future in futures:
            assert future.wait()[0].item() == total(size) * size ** DEPTH
    assert tributary.torch.calls(other)[1] == 0
    tributary.torch.close(other)


class Counter(Joinable):
    """Sums ones with a callback that sums again; ranks that have joined bring zeros."""

    def __init__(self, size):
        super().__init__()
        self.size, self.sums = size, []

    def __call__(self):
        Join.notify_join_context(self)
        self.sums.append(start(torch.ones(1), 1).wait()[0].item())

    def join_hook(self, **_):
        class Hook(JoinHook):
            def main_hook(self):
                start(torch.zeros(1), 1).wait()
        return Hook()

    @property
    def join_device(self):
        return torch.device("cpu")

    @property
    def join_process_group(self):
        return dist.group.WORLD


def callbacks_within_join(rank, size):
    counter = Counter(size)
    with Join([counter]):
        for _ in range(rank + 1):
            counter()
    # In round n, the ranks from n on are still there.
    assert counter.sums == [float((size - n) * size) for n in range(rank + 1)], counter.sums


def a_callback_that_waits_in_vain(rank, size):
    """The last rank takes no part in the second op."""
    future = dist.all_reduce(torch.ones(1), async_op=True).get_future()
    if rank == size - 1:
        future.wait()
        return "not asked"
    try:
        future.then(lambda done: start(done.value()[0].clone(), 0).wait()).wait()
    except Exception as error:
        return str(error)
    raise AssertionError("it did not fail")


a_callback_that_waits_in_vain.timeout_s = 3


def no_thread_is_left(rank, size):
    """Of the group before, whose callbacks have had threads."""
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    assert "tributary-torch" not in names, names


def trained(rank, group, hook=None, state=None):
    """(losses on this rank, digest of the parameters) of twelve steps under DDP."""
    torch.manual_seed(5)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 4)), process_group=group)
    if hook is not None:
        model.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    losses = []
    for _ in range(STEPS):
        inputs = torch.randn(16, 32, generator=generator)
        loss = torch.nn.functional.cross_entropy(model(inputs), inputs[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    bits = sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
    return torch.tensor(losses), bits.hexdigest()


def losses_with_powersgd(rank, group):
    state = powersgd.PowerSGDState(group, matrix_approximation_rank=2, start_powerSGD_iter=2)
    return trained(rank, group, powersgd.powerSGD_hook, state)[0]


def gloo_group():
    group = dist.new_group(backend="gloo")
    KEPT.append(group)
    return group


def power_sgd(rank, size):
    """PyTorch's own hook waits for ops in its callbacks; losses are those of Gloo."""
    ours = losses_with_powersgd(rank, dist.group.WORLD)
    assert tributary.torch.calls()[0] > 3 * 10, "sums of three kinds in ten steps"
    gloo = losses_with_powersgd(rank, gloo_group())
    assert torch.allclose(ours, gloo, rtol=1e-4), (ours, gloo)


# Losses may differ by so much from those of Gloo without a hook: bfloat16 has 8 bits of mantissa.
HOOK_BOUNDS = {"bf16_hook": 5e-3, "block_scaled_hook": 1e-5}


def a_hook_trains(rank, size, name):
    """Digests of the parameters after two runs with one of tributary.torch's hooks."""
    hook = getattr(hooks, name)
    losses, first = trained(rank, None, hook)
    to_switch, to_gloo = tributary.torch.calls()
    assert to_switch >= STEPS and to_gloo == 0, (to_switch, to_gloo)
    without, _ = trained(rank, gloo_group())
    assert torch.allclose(losses, without, rtol=HOOK_BOUNDS[name]), (losses, without)
    return first, trained(rank, None, hook)[1]
