"""Training data from the memory pool.

    from tributary.data import Pool, PoolDataset, PoolLoader
    pool = Pool("pool.yaml")
    for batch in PoolLoader(PoolDataset(pool), batch=256, seed=1, rank=0, ranks=1):
        ...                                   # a list of NumPy views of one buffer, no copies

PoolDataset also works in torch.utils.data.DataLoader as it is. Records come from the nodes' memory,
and from the store where the pool has none; every byte was checked.
"""

from ._pool import LoadError
from .dataset import PoolDataset
from .loader import PoolLoader
from .pool import Batch, Pool

__all__ = ["Batch", "LoadError", "Pool", "PoolDataset", "PoolLoader"]
