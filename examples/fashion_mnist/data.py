"""Fashion-MNIST from idx files, checked before use, and who trains on what.

The format (https://yann.lecun.com/exdb/mnist): big-endian u32 magic 0x0000TTDD (TT: element
type, 08 is u8; DD: number of dimensions), one u32 per dimension, then the elements.

Sharding: rank r of N owns the images r, r+N, r+2N, ...: every image belongs to one rank. In
each epoch a rank shuffles its own shard with a generator seeded by (seed, epoch, rank), so any
process can compute any rank's batches; the single-process run relies on that.
"""

import gzip
import struct
from pathlib import Path

import numpy as np

DEFAULT_DIRECTORY = Path("/usr/share/datasets/fashion-mnist")
CLASSES = 10
PIXELS = 28 * 28
_UNSIGNED_BYTE = 8


class DataError(Exception):
    """A data file is missing, truncated or not what it should be; the text names it."""


def read_idx(path, dimensions):
    """The u8 array in a gzipped idx file that must have this many dimensions."""
    try:
        with gzip.open(path, "rb") as file:
            raw = file.read()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file (Debian package dataset-fashion-mnist)") from None
    except (OSError, EOFError) as error:
        raise DataError(f"{path}: not a readable gzip file: {error}") from None
    header_bytes = 4 + 4 * dimensions
    if len(raw) < header_bytes:
        raise DataError(f"{path}: {len(raw)} bytes, shorter than the idx header of {header_bytes}")
    magic, *shape = struct.unpack(f">{1 + dimensions}I", raw[:header_bytes])
    expected = _UNSIGNED_BYTE << 8 | dimensions
    if magic != expected:
        raise DataError(f"{path}: magic {magic:#010x}, expected {expected:#010x}")
    elements = 1
    for extent in shape:
        elements *= extent
    if len(raw) - header_bytes != elements:
        raise DataError(
            f"{path}: header announces {elements} elements, file holds {len(raw) - header_bytes}"
        )
    return np.frombuffer(raw, dtype=np.uint8, offset=header_bytes).reshape(shape)


def load(split, directory=DEFAULT_DIRECTORY, most=0):
    """(images, labels) of split "train" or "t10k"; at most so many, or all.

    images: float32 (count, 784) in [-0.5, 0.5]; labels: int64 (count,) in [0, 9].
    """
    directory = Path(directory)
    images = read_idx(directory / f"{split}-images-idx3-ubyte.gz", dimensions=3)
    labels = read_idx(directory / f"{split}-labels-idx1-ubyte.gz", dimensions=1)
    if images.shape[1:] != (28, 28):
        raise DataError(f"{directory}: {split} images are {images.shape[1:]}, expected (28, 28)")
    if len(images) != len(labels):
        raise DataError(f"{directory}: {len(images)} {split} images, but {len(labels)} labels")
    if len(labels) == 0 or labels.max() >= CLASSES:
        raise DataError(f"{directory}: {split} labels are empty or not all in 0..{CLASSES - 1}")
    images, labels = images[: most or None], labels[: most or None]
    pixels = images.reshape(len(images), PIXELS).astype(np.float32) / np.float32(255)
    return pixels - np.float32(0.5), labels.astype(np.int64)


class Shard:
    """One rank's part of the training set, as a sequence of batches per epoch."""

    def __init__(self, images, labels, rank, size, batch, seed):
        if not 0 <= rank < size:
            raise ValueError(f"rank {rank} is outside 0..{size - 1}")
        if batch < 1:
            raise ValueError(f"batch {batch} must be at least 1")
        self._images = images[rank::size]
        self._labels = labels[rank::size]
        self._rank = rank
        self._batch = batch
        self._seed = seed
        # Equal on all ranks though shards may differ by one image: ranks must agree on the
        # number of collective calls.
        largest_shard = -(-len(images) // size)
        self.steps = -(-largest_shard // batch)

    def epoch(self, epoch):
        """Yields (images, labels), `steps` times; the last batch may be short or empty."""
        order = np.random.default_rng((self._seed, epoch, self._rank)).permutation(
            len(self._labels)
        )
        for step in range(self.steps):
            chosen = order[step * self._batch : (step + 1) * self._batch]
            yield self._images[chosen], self._labels[chosen]
