"""Epochs over a PoolDataset: shuffled, sharded by rank, loaded ahead, and resumable anywhere."""

import collections
import concurrent.futures

from . import _pool


class PoolLoader:
    """Iterates over one epoch's batches; each iteration begins the next epoch.

    dataset: a PoolDataset. batch: records in each, or text such as "64 MiB". seed: of the order; the
    same on every rank. rank, ranks: this process, and how many share the records. prefetch: batches
    loaded ahead by a thread. state_dict() is where the consumer stands, not the prefetch: training
    that goes on from it repeats and misses nothing.

    Ranks have equally many records, as with PyTorch's DistributedSampler: where the number is not a
    multiple of `ranks`, the epoch's first records come again (pad=True), or its last are left out
    (drop_last=True). pad=False: each record comes once, so some ranks have one more, and maybe a
    batch more, than others; default: `load.pad` of the pool's file.
    """

    def __init__(self, dataset, batch=None, seed=0, rank=0, ranks=1, shuffle=True, prefetch=2,
                 pad=None, drop_last=False):
        if prefetch < 0:
            raise ValueError(f"prefetch {prefetch}; allowed: 0 or more")
        self.dataset = dataset
        native = dataset.pool._loader
        if batch is None:
            self._amount = native.amount()
        else:
            self._amount = (batch, False) if isinstance(batch, int) else _pool.parse_amount(batch)
        self._prefetch = prefetch
        pad = native.pad() if pad is None else pad
        self._arguments = (len(dataset.pool), seed, rank, ranks, shuffle, pad, drop_last)
        self._sampler = _pool.Sampler(*self._arguments)
        self._epoch = 0
        self._position = 0

    def __len__(self):
        """Batches of an epoch. Raises TypeError where `batch` is an amount of bytes."""
        number, is_bytes = self._amount
        if is_bytes:
            raise TypeError("batches of so many bytes have no number before they are made")
        return -(-self._sampler.share() // number)

    def state_dict(self):
        return {"epoch": self._epoch, "position": self._position, "order": list(self._arguments)}

    def load_state_dict(self, state):
        order = list(state["order"])
        if len(order) == 5:  # of an earlier build, which had neither pad nor drop_last
            order += [False, False]
        if list(self._arguments) != order:
            raise ValueError(
                f"a state of (records, seed, rank, ranks, shuffle, pad, drop_last) {order}; this loader "
                f"has {list(self._arguments)}"
            )
        self._sampler.seek(state["epoch"], state["position"])
        self._epoch, self._position = state["epoch"], state["position"]

    def __iter__(self):
        # Where the consumer stands, also if an iteration was left early.
        self._sampler.seek(self._epoch, self._position)
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            ahead = collections.deque()
            ended = False
            while True:
                while not ended and len(ahead) <= self._prefetch:
                    ids = self._sampler.next(self.dataset.pool._loader, *self._amount)
                    ended = not ids
                    if ids:
                        ahead.append((thread.submit(self._load, ids), self._sampler.position()))
                if not ahead:
                    break
                loaded, position = ahead.popleft()
                items = loaded.result()
                self._position = position
                yield items
        self._epoch, self._position = self._epoch + 1, 0

    def _load(self, ids):
        return self.dataset.of_batch(self.dataset.pool.get_batch(ids))
