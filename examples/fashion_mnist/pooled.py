"""Fashion-MNIST out of Tributary's memory pool: arrays whose rows are loaded when they are asked for.

A record is an image of the training set: a byte of its label, then its pixels. Rows come out as
data.load() has them, bit for bit.
"""

import numpy as np

from data import CLASSES, PIXELS, DataError

RECORD_BYTES = 1 + PIXELS


def records_of(images, labels):
    """The bytes of a fixed-size data set, of u8 arrays (count, 28, 28) and (count,)."""
    return np.column_stack([labels, images.reshape(len(labels), PIXELS)]).astype(np.uint8).tobytes()


class _Records:
    """Loads records; those of the last request once more cost nothing, as for images and labels."""

    def __init__(self, pool):
        self._pool = pool
        self._last = None, None

    def rows(self, ids):
        if not np.array_equal(self._last[0], ids):
            batch = self._pool.get_batch(ids)
            rows = [batch[i] for i in range(len(batch))]
            self._last = ids, np.array(rows, np.uint8).reshape(len(rows), RECORD_BYTES)
        return self._last[1]


class PooledRows:
    """What data.Shard needs of an array: length, slices, and rows by an array of their numbers."""

    def __init__(self, records, ids, convert):
        self._records = records
        self._ids = ids
        self._convert = convert

    def __len__(self):
        return len(self._ids)

    def __getitem__(self, key):
        if isinstance(key, slice):
            return PooledRows(self._records, self._ids[key], self._convert)
        return self._convert(self._records.rows(self._ids[key]))


def _images(rows):
    return rows[:, 1:].astype(np.float32) / np.float32(255) - np.float32(0.5)


def _labels(rows):
    return rows[:, 0].astype(np.int64)


def arrays(pool, most=0):
    """(images, labels) of the training set in a pool; at most so many, or all."""
    records, ids = _Records(pool), np.arange(len(pool))[: most or None]
    labels = PooledRows(records, ids, _labels)
    if (labels[np.arange(min(len(ids), 1000))] >= CLASSES).any():
        raise DataError(f"the pool's labels are not all in 0..{CLASSES - 1}")
    return PooledRows(records, ids, _images), labels


def load(config, most=0):
    """The same, of the pool that a file describes."""
    from tributary.data import Pool

    try:
        pool = Pool(config)
    except RuntimeError as error:
        raise DataError(str(error)) from None
    if pool.length(0) != RECORD_BYTES:
        raise DataError(f"{config}: records have {pool.length(0)} bytes, expected {RECORD_BYTES}: a "
                        "label and an image")
    return arrays(pool, most)
