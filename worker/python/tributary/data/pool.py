"""The pool as one process sees it: records by id, into buffers of the caller's or of its own."""

import concurrent.futures
import math
import os

import numpy

from . import _pool


class Batch:
    """Records in one buffer. Indexing gives views, which keep the buffer alive.

    ids: which records, in order. data: the buffer, a NumPy array of uint8, or what was given in a
    GPU's memory. epoch, position: where
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
        self._gpus = {}  # by device
        self._background = None  # (process, executor)

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
        bytes, or memory of a GPU with __cuda_array_interface__, such as a tensor of PyTorch; None
        makes one. Raises IndexError for an unknown id, ValueError for a buffer that is too small,
        LoadError (with `ids`) for records that can be read from nowhere, RuntimeError where a GPU
        fails.
        """
        ids = [int(record) for record in ids]
        offsets, lengths, end = self._loader.plan(ids)
        if hasattr(out, "__cuda_array_interface__"):
            self._load_into_gpu(ids, out, offsets)
            return Batch(ids, out, offsets, lengths)
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

    def _load_into_gpu(self, ids, out, offsets):
        address, size = _gpu_memory(out)
        device = str(getattr(out, "device", "gpu"))
        if device not in self._gpus:
            self._gpus[device] = _pool.Gpu(self._loader, address)
        self._gpus[device].get_batch(ids, address, size, offsets)

    def get_batch_async(self, ids, out=None):
        """As get_batch(), in the background, in order; returns a concurrent.futures.Future."""
        if self._background is None or self._background[0] != os.getpid():
            self._background = os.getpid(), concurrent.futures.ThreadPoolExecutor(1)
        return self._background[1].submit(self.get_batch, list(ids), out)

    def get_into(self, record, out):
        """Loads one record into a contiguous, writable buffer, or a GPU's; returns its length."""
        if hasattr(out, "__cuda_array_interface__"):
            self._load_into_gpu([int(record)], out, [0])
        else:
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
        file. target: "host", "gpu:0", ..., whose batches are tensors of PyTorch, or a buffer as
        get_batch() takes; default: `load.target`. Raises ValueError for an amount of 0 or beyond the
        epoch.
        """
        target = self._loader.target() if target is None else target
        if self._sampler is None:
            self.start_epochs()
        number, is_bytes = self._loader.amount() if amount is None else _amount(amount)
        ids = self._sampler.next(self._loader, number, is_bytes)
        if not ids:
            return None
        batch = self.get_batch(ids, self._memory(target, ids))
        batch.epoch, batch.position = self._sampler.epoch(), self._sampler.position()
        return batch

    def _memory(self, target, ids):
        if not isinstance(target, str):
            return target
        if target == "host":
            return None
        kind, _, number = target.partition(":")
        if kind != "gpu" or not number.isdecimal():
            raise ValueError(f"target '{target}'; allowed: host, gpu:N, or a buffer")
        try:
            import torch
        except ImportError:
            raise RuntimeError(f"target '{target}' needs PyTorch, which allocates its memory; "
                               "or give get_batch() memory of your own") from None
        return torch.empty(self._loader.plan(ids)[2], dtype=torch.uint8, device=f"cuda:{number}")

    def start_epochs(self, seed=0, rank=0, ranks=1, shuffle=True, pad=None, drop_last=False):
        """Says which records load() brings: this rank's, in an order that the seed decides.

        pad, drop_last: as PoolLoader has them.
        """
        pad = self._loader.pad() if pad is None else pad
        self._sampler = _pool.Sampler(len(self), seed, rank, ranks, shuffle, pad, drop_last)

    def stats(self):
        """Counters of this process, as a dict: hits, misses, pool_bytes, store_bytes, corrupt, ..."""
        return self._loader.counters()

    def metrics(self):
        """The same, and how long batches took, in Prometheus' text format.

        Where the pool's file has `load.metrics_folder`, a file there has them, too.
        """
        return self._loader.metrics()

    def nodes(self):
        """Nodes of the pool, as dicts: name, up, transport, problem."""
        return self._loader.nodes()


def _gpu_memory(out):
    """(address, bytes) of contiguous memory with __cuda_array_interface__."""
    interface = out.__cuda_array_interface__
    item = int(interface["typestr"][2:])
    expected, strides = item, interface.get("strides")
    for extent, stride in zip(reversed(interface["shape"]), reversed(strides or ())):
        if extent > 1 and stride != expected:
            raise ValueError("the target is not contiguous")
        expected *= extent
    address, read_only = interface["data"]
    if read_only:
        raise ValueError("the target is read-only")
    return address, item * math.prod(interface["shape"])


def _amount(amount):
    return (amount, False) if isinstance(amount, int) else _pool.parse_amount(amount)
