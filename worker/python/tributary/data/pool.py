"""The pool as one process sees it: records by id, into buffers of the caller's or of its own."""

import numpy

from . import _pool

_ALIGNMENT = 64


class Batch:
    """Records in one buffer. Indexing gives views, which keep the buffer alive.

    ids: which records, in order. data: the buffer, a NumPy array of uint8. epoch, position: where
    the sampler stands behind them, of batches by amount.
    """

    def __init__(self, ids, data, offsets, lengths, epoch=None, position=None):
        self.ids = ids
        self.data = data
        self.epoch = epoch
        self.position = position
        self._offsets = offsets
        self._lengths = lengths

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        start = self._offsets[index]
        return self.data[start : start + self._lengths[index]]


class Pool:
    """Opens a pool by its file; nodes are connected at the first load.

    config: path of the pool's YAML file. Raises RuntimeError for a bad one, or without a manifest.
    Any thread may load; after a fork each process has connections of its own.
    """

    def __init__(self, config):
        self.config = str(config)
        self._loader = _pool.Loader(self.config)
        self._sampler = None

    def __len__(self):
        return self._loader.records()

    def __getstate__(self):
        return {"config": self.config}

    def __setstate__(self, state):
        self.__init__(state["config"])

    @property
    def is_tar(self):
        """True where records are WebDataset samples."""
        return self._loader.is_tar()

    def length(self, record):
        """Bytes of a record. Raises IndexError for an unknown id."""
        return self._loader.length(record)

    def get_batch(self, ids, out=None):
        """Loads records; returns a Batch.

        out: contiguous buffer of uint8 that gets them one after the other, each at a multiple of 64
        bytes; None makes one. Raises IndexError for an unknown id, ValueError for a buffer that is
        too small, LoadError (with `ids`) for records that can be read from nowhere.
        """
        ids = [int(record) for record in ids]
        lengths = [self._loader.length(record) for record in ids]
        offsets, end = [], 0
        for length in lengths:
            offsets.append(end)
            end += (length + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
        if out is None:
            out = numpy.empty(max(end, 1), numpy.uint8)
            self._loader.register_buffer(out)
            try:
                self._loader.get_batch(ids, out, offsets)
            finally:
                self._loader.unregister_buffer(out)
        else:
            self._loader.get_batch(ids, out, offsets)
        return Batch(ids, numpy.frombuffer(out, numpy.uint8), offsets, lengths)

    def get_into(self, record, out):
        """Loads one record into a contiguous, writable buffer; returns its length."""
        self._loader.get_batch([int(record)], out, [0])
        return self._loader.length(record)

    def register_buffer(self, buffer):
        """Makes a buffer known to RDMA devices; it must live until unregister_buffer()."""
        self._loader.register_buffer(buffer)

    def unregister_buffer(self, buffer):
        self._loader.unregister_buffer(buffer)

    def load(self, amount=None, target=None):
        """This process's next records in sampler order (see start_epochs()); None at an epoch's end.

        amount: a number of records, or text such as "64 MiB"; default: `load.amount` of the pool's
        file. target: "host"; default: `load.target`. Raises ValueError for an amount of 0 or beyond
        the epoch.
        """
        target = self._loader.target() if target is None else target
        if target != "host":
            raise NotImplementedError(f"target '{target}': only 'host' is possible in this build")
        if self._sampler is None:
            self.start_epochs()
        number, is_bytes = self._loader.amount() if amount is None else _amount(amount)
        ids = self._sampler.next(self._loader, number, is_bytes)
        if not ids:
            return None
        batch = self.get_batch(ids)
        batch.epoch, batch.position = self._sampler.epoch(), self._sampler.position()
        return batch

    def start_epochs(self, seed=0, rank=0, ranks=1, shuffle=True):
        """Says which records load() brings: this rank's, in an order that the seed decides."""
        self._sampler = _pool.Sampler(len(self), seed, rank, ranks, shuffle)

    def stats(self):
        """Counters of this process, as a dict: hits, misses, pool_bytes, store_bytes, corrupt, ..."""
        return self._loader.counters()

    def nodes(self):
        """Nodes of the pool, as dicts: name, up, transport, problem."""
        return self._loader.nodes()


def _amount(amount):
    return (amount, False) if isinstance(amount, int) else _pool.parse_amount(amount)
