"""Map-style data set over a pool, for torch.utils.data.DataLoader and PoolLoader."""

from . import _pool


class PoolDataset:
    """Records of a pool by index.

    transform: called with each record, a NumPy view of uint8, or with each sample, a dict of views
    by extension and "__key__", where the data set consists of WebDataset's tar files. torch.as_tensor
    of a view shares its memory.
    """

    def __init__(self, pool, transform=None):
        self.pool = pool
        self.transform = transform

    def __len__(self):
        return len(self.pool)

    def __getitem__(self, index):
        return self.__getitems__([index])[0]

    def __getitems__(self, indices):
        """All of a batch in one pass; DataLoader calls it where it is there."""
        count = len(self.pool)
        ids = [i + count if i < 0 else i for i in map(int, indices)]
        return self.of_batch(self.pool.get_batch(ids))

    def of_batch(self, batch):
        """The data set's form of a Batch: a list."""
        items = [_sample(record) for record in batch] if self.pool.is_tar else list(batch)
        return items if self.transform is None else [self.transform(item) for item in items]


def _sample(record):
    sample = {}
    for key, extension, start, length in _pool.members(record):
        sample["__key__"] = key
        sample[extension] = record[start : start + length]
    return sample
