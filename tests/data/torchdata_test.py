"""The test cases of PyTorch's StatefulDataLoader (torchdata) that have map-style data sets, twice: with
a PoolDataset as their data set, and with a PoolLoader in the place of their loader.

TRIBUTARY_TORCHDATA: a checkout of torchdata (github.com/pytorch/data); Debian's python3-torch and
python3-parameterized beside it. Not one of ctest's tests, which fetch nothing:
`TRIBUTARY_BUILD=... TRIBUTARY_TORCHDATA=FOLDER tests/data/torchdata_test.py`.
"""

import os
import sys
import tempfile
import types
import unittest
from pathlib import Path

import torch
import torch.utils.data

from bed import PoolBed, package

package()
from tributary.data import Pool, PoolDataset, PoolLoader  # noqa: E402

# PyTorch's own tests have this module, whose TestCase needs a package that Debian lacks.
sys.modules["torch.testing._internal.common_utils"] = types.SimpleNamespace(
    IS_MACOS=False, TEST_CUDA=False, TestCase=unittest.TestCase)
CHECKOUT = Path(os.environ["TRIBUTARY_TORCHDATA"])
sys.path[:0] = [str(CHECKOUT), str(CHECKOUT / "test/stateful_dataloader")]
import test_state_dict as cases  # noqa: E402

LOADER = cases.StatefulDataLoader
# Cases of map-style data sets, and of those the ones that a loader without state of its workers can have:
# a PoolLoader has a thread, no worker processes, whose number cannot differ and whose start cannot fail.
MAP = ["TestStatefulDataLoaderMap_shard1", "TestSnapshotZero_shard2.test_map",
       "TestSnapshotZero_shard2.test_map_shuffle", "TestSnapshotZero_shard2.test_map_iterrupted_shuffle",
       "TestSnapshotEnd_shard2.test_map", "TestSnapshotEnd_shard2.test_map_shuffle",
       "TestNumWorkersMismatch_shard3", "TestConcurrentDataLoaders_shard3",
       "TestJsonSerDe_shard3.test_json_serde_single_process_map",
       "TestJsonSerDe_shard3.test_json_serde_multi_process_map", "TestInitialState_shard0",
       "TestMultiEpochSDL_shard0", "TestEndOfEpochBehavior_shard0", "TestNotStatefulSamplerSDL_shard0"]
OF_WORKERS = ["TestNumWorkersMismatch_shard3", "TestInitialState_shard0.test_init_error",
              "TestInitialState_shard0.test_iteration_error", "TestInitialState_shard0.test_initial_state",
              "TestInitialState_shard0.test_load_state_after_initial_state_dict"]
bed = None


def item(data):
    number = int(bytes(data))
    return {"id": number, "strcol": f"strcol_{number}", "listcol": [number, number + 1, number + 2]}


class Items(PoolDataset):
    """As the cases' DummyMapDataset, whose records are a pool's. Its `shuffle` is a random index."""

    def __init__(self, size, shuffle, include_generator=True):
        super().__init__(Pool(bed.config), item)
        self.size, self.shuffle, self.include_generator = size, shuffle, include_generator

    def __len__(self):
        return self.size

    def __getitems__(self, indices):
        if self.shuffle:
            indices = [torch.randint(self.size, (1,)).item() for _ in indices]
        return super().__getitems__(indices)

    state_dict = cases.DummyMapDataset.state_dict
    load_state_dict = cases.DummyMapDataset.load_state_dict


class Loader(PoolLoader):
    """A PoolLoader that is made as the cases make their loader. Its order follows from a seed."""

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, num_workers=0, generator=None,
                 **_):
        dataset.shuffle = False  # as the seed decides, not the process' random state
        shuffle = shuffle or isinstance(sampler, torch.utils.data.RandomSampler)
        super().__init__(dataset, batch=batch_size or 1, shuffle=shuffle, prefetch=num_workers)
        self._arguments = (dataset.size, *self._arguments[1:])
        self._sampler = type(self._sampler)(*self._arguments)


def of(names, without=()):
    loader = unittest.defaultTestLoader
    suite = unittest.TestSuite()

    def take(test):
        if isinstance(test, unittest.TestSuite):
            for one in test:
                take(one)
        elif not any(test.id().startswith(f"test_state_dict.{name}") for name in without):
            suite.addTest(test)

    for name in names:
        take(loader.loadTestsFromName(name, cases))
    return suite


def main():
    global bed
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        data.mkdir()
        for number in range(100):
            (data / f"{number:03}").write_text(str(number))
        with PoolBed(folder, f"file://{data}") as made:
            bed = made.ready()
            cases.DummyMapDataset = Items
            good = unittest.TextTestRunner(verbosity=2).run(of(MAP)).wasSuccessful()
            cases.StatefulDataLoader = Loader
            runner = unittest.TextTestRunner(verbosity=2)
            return 0 if runner.run(of(MAP, OF_WORKERS)).wasSuccessful() and good else 1


if __name__ == "__main__":
    sys.exit(main())
