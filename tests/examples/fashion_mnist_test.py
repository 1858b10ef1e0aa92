"""examples/fashion_mnist: the loader refuses bad files, the gradient is right, shards cover all."""

import gzip
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/fashion_mnist"
sys.path.insert(0, str(EXAMPLE))

import data  # noqa: E402  (needs the path above)
import late  # noqa: E402
import model  # noqa: E402
import pooled  # noqa: E402
import training  # noqa: E402


def write_idx(path, magic, shape, payload):
    with gzip.open(path, "wb") as file:
        file.write(struct.pack(f">{1 + len(shape)}I", magic, *shape) + payload)


def write_split(directory, split, images, labels):
    write_idx(
        directory / f"{split}-images-idx3-ubyte.gz", 0x803, images.shape, images.tobytes()
    )
    write_idx(
        directory / f"{split}-labels-idx1-ubyte.gz", 0x801, labels.shape, labels.tobytes()
    )


@pytest.fixture
def small(tmp_path):
    """A data set of 103 training and 20 test images, written as idx files."""
    generator = np.random.default_rng(3)
    for split, count in (("train", 103), ("t10k", 20)):
        images = generator.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        write_split(tmp_path, split, images, (np.arange(count) % 10).astype(np.uint8))
    return tmp_path


@pytest.mark.parametrize(
    "magic, shape, payload, words",
    [
        (0x801, (2, 28, 28), b"", "magic"),
        (0x803, (2, 28, 28), bytes(3), "announces 1568 elements, file holds 3"),
        (0x803, (1, 28, 28), bytes(785), "announces 784"),
    ],
)
def test_bad_idx_files_are_refused_by_name(tmp_path, magic, shape, payload, words):
    path = tmp_path / "x.gz"
    write_idx(path, magic, shape, payload)
    with pytest.raises(data.DataError, match=words) as caught:
        data.read_idx(path, dimensions=3)
    assert "x.gz" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not gzip", gzip.compress(bytes(500))[:20]])
def test_unreadable_files_are_refused(tmp_path, content):
    (tmp_path / "x.gz").write_bytes(content)
    with pytest.raises(data.DataError):
        data.read_idx(tmp_path / "x.gz", dimensions=1)


def test_missing_data_set_names_the_package(tmp_path):
    with pytest.raises(data.DataError, match="dataset-fashion-mnist"):
        data.load("train", tmp_path)


def test_labels_out_of_range_and_odd_counts_are_refused(tmp_path):
    images = np.zeros((2, 28, 28), np.uint8)
    write_split(tmp_path, "train", images, np.array([0, 10], np.uint8))
    with pytest.raises(data.DataError, match="labels"):
        data.load("train", tmp_path)
    write_split(tmp_path, "train", images, np.array([0], np.uint8))
    with pytest.raises(data.DataError, match="2 train images, but 1 labels"):
        data.load("train", tmp_path)


@pytest.mark.parametrize("size", [1, 3, 4, 7])
def test_shards_cover_every_image_once_in_as_many_steps_on_every_rank(size):
    images = np.arange(103, dtype=np.float32).reshape(-1, 1)
    labels = np.arange(103)
    shards = [data.Shard(images, labels, rank, size, 5, seed=1) for rank in range(size)]
    assert len({shard.steps for shard in shards}) == 1
    seen = [batch[1] for shard in shards for batch in shard.epoch(2)]
    assert sorted(np.concatenate(seen)) == list(range(103))
    assert len(seen) == size * shards[0].steps


def test_gradient_agrees_with_differences():
    generator = np.random.default_rng(1)
    images = generator.standard_normal((6, data.PIXELS), dtype=np.float32)
    labels = generator.integers(0, 10, 6)
    net = model.Model(hidden=5, seed=2)
    gradient, scratch = np.empty_like(net.parameters), np.empty_like(net.parameters)
    net.gradient(images, labels, gradient)
    for index in generator.integers(len(gradient) - 65, len(gradient), 20):
        before, step = net.parameters[index], np.float32(1e-2)
        net.parameters[index] = before + step
        above = net.gradient(images, labels, scratch)
        net.parameters[index] = before - step
        below = net.gradient(images, labels, scratch)
        net.parameters[index] = before
        assert gradient[index] == pytest.approx((above - below) / (2 * step), abs=2e-2)


def test_two_runs_are_bit_identical_and_shards_matter(small):
    def run(**changes):
        settings = training.Settings(
            epochs=1, batch=8, hidden=4, directory=str(small), **changes
        )
        return training.train(settings, lambda i, l: training.LocalSum(settings, i, l))

    first = run(workers=3)
    assert first["sha256"] == run(workers=3)["sha256"]
    assert first["sha256"] != run(workers=2)["sha256"]
    assert first["steps"] == 5 and first["images"] == 103
    assert len(first["step_seconds"]) == 5
    short = run(workers=3, steps=3, images=90)
    assert short["steps"] == 3 and short["images"] == 90
    settings = training.Settings(epochs=3, batch=8, hidden=4, directory=str(small), steps=7)
    longer = training.train(settings, lambda i, l: training.LocalSum(settings, i, l))
    assert longer["steps"] == 7, "an epoch has 4"


class PoolOfFiles:
    """A pool's records, as pooled.py asks for them."""

    def __init__(self, images, labels):
        raw = pooled.records_of(images, labels)
        self.records = np.frombuffer(raw, np.uint8).reshape(len(labels), pooled.RECORD_BYTES)
        self.asked = []

    def __len__(self):
        return len(self.records)

    def get_batch(self, ids):
        self.asked.append(list(ids))
        return [self.records[i] for i in ids]


def test_l2_rows_of_a_pool_are_those_of_files_and_loaded_once_when_asked_for(small):
    images, labels = data.load("train", small)
    pool = PoolOfFiles(data.read_idx(small / "train-images-idx3-ubyte.gz", 3),
                       data.read_idx(small / "train-labels-idx1-ubyte.gz", 1))
    ours = data.Shard(*pooled.arrays(pool), 1, 3, 8, seed=2)
    theirs = data.Shard(images, labels, 1, 3, 8, seed=2)
    pool.asked.clear()
    assert ours.steps == theirs.steps
    for got, expected in zip(ours.epoch(0), theirs.epoch(0)):
        assert [array.tobytes() for array in got] == [array.tobytes() for array in expected]
        assert [array.dtype for array in got] == [array.dtype for array in expected]
    assert sorted(i for asked in pool.asked for i in asked) == list(range(1, 103, 3))
    pool.records = np.full_like(pool.records, 10)
    with pytest.raises(data.DataError, match="labels"):
        pooled.arrays(pool)


def test_late_on_purpose_as_the_file_says_at_each_op(tmp_path):
    path = tmp_path / "delay"
    delay = late.OpDelay(path)
    assert delay.next() == 0, "no file"
    path.write_text("200ms every 3\n")
    assert [delay.next() for _ in range(6)] == [0, 0, 0.2, 0, 0, 0.2]
    path.write_text("5us")
    assert delay.next() == pytest.approx(5e-6)
    path.write_text("off")
    assert delay.next() == 0
    path.write_text("1us every 1000000")
    assert delay.next() == 0, "the most that the testbed can say"
    for bad in ("soon", "1ms every", "1ms every 0", "1ms every 1000001", "3601s", "-1s", "1h",
                "9" * 500):
        path.write_text(bad)
        with pytest.raises(late.LateError, match="allowed: off, or a time"):
            delay.next()
    assert late.OpDelay().next() == 0
