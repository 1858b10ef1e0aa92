"""How ranks agree through a store, and how close() ends that; no process group."""

import threading
from datetime import timedelta

import pytest
import torch.distributed as dist
from tributary.torch.binding import Agreement, ListedJobs


class NotingStore(dist.Store):
    """A store without keys; `asked` is set once a rank looks for one."""

    def __init__(self):
        super().__init__()
        self.asked = threading.Event()

    def compare_set(self, key, expected, desired):
        self.asked.set()
        return expected.encode()

    def wait(self, keys, timeout):
        self.asked.set()
        threading.Event().wait(timeout.total_seconds())

    def set(self, key, value):
        pass


def agreement(store, timeout):
    return Agreement(store, 1, 2, timeout, ListedJobs([(1, None)], "udp://10.77.0.254", {}, "g"), "g")


@pytest.mark.parametrize("call", [lambda a: a.bind(), lambda a: a.joined(7)])
def test_cancel_ends_what_waits_for_rank_0(call):
    store = NotingStore()
    waiting = agreement(store, timedelta(minutes=30))
    errors = []

    def run():
        try:
            call(waiting)
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    store.asked.wait()
    waiting.cancel()
    thread.join(30)
    assert errors and "group g was destroyed while rank 1 waited for " in errors[0]


def test_a_rank_that_waits_in_vain_names_what_for():
    with pytest.raises(RuntimeError, match="rank 1 of group g has waited 0.05 s for rank 0 to choose"):
        agreement(NotingStore(), timedelta(milliseconds=50)).bind()


def test_a_rank_in_another_epoch_than_rank_0_says_so():
    store = dist.HashStore()
    store.set("tributary/epoch/0", "7")
    agreement(store, timedelta(minutes=1)).joined(7)
    with pytest.raises(RuntimeError, match="rank 1 of group g joined epoch 8 of its job, and rank 0 epoch 7"):
        agreement(store, timedelta(minutes=1)).joined(8)
