"""tributary.data beyond plain loads: background loads, GPU targets, fsspec; and other programs' word
on the stores that the tests stand in for.

The GPU is host memory behind a library with the names of NVIDIA's driver (tests/pool/fake_cuda.cc):
what runs on a GPU's machine is the same code and another library.
"""

import importlib.util
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import numpy
import pytest

from bed import BUILD, PoolBed, package, program
from stores import KEY, SECRET, S3, WebHdfs

FOLDER = package()
from tributary.data import LoadError, Pool, PoolDataset, PoolLoader  # noqa: E402

RECORDS = 60


def record(number):
    return bytes([number]) * (number * 41 + 1)


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(RECORDS):
        (folder / f"{number:06}").write_bytes(record(number))
    return folder


@pytest.fixture
def bed(tmp_path, files):
    with PoolBed(tmp_path, f"file://{files}") as made:
        yield made.ready()


def test_l2_loads_in_the_background_end_with_their_batches(bed):
    pool = Pool(bed.config)
    pending = [pool.get_batch_async(range(first, first + 10)) for first in range(0, RECORDS, 10)]
    for first, future in zip(range(0, RECORDS, 10), pending):
        batch = future.result(timeout=60)
        assert [bytes(data) for data in batch] == [record(first + i) for i in range(10)]
    with pytest.raises(IndexError):
        pool.get_batch_async([RECORDS]).result(timeout=60)


def test_a_buffer_is_registered_while_another_thread_loads(tmp_path, files):
    store = WebHdfs(files)
    with PoolBed(tmp_path, store.url) as bed:
        bed.command("fill", "--manifest")
        pool = Pool(bed.config)
        asked = threading.Event()
        faults = iter(["hang"])

        def fault(_):
            asked.set()
            return next(faults, None)

        store.fault = fault
        loaded, registering = [], threading.Event()
        buffer = numpy.zeros(100, numpy.uint8)

        def register():
            registering.set()
            pool.register_buffer(buffer)  # waits for the load, and must let Python run meanwhile

        threads = [threading.Thread(target=lambda: loaded.append(bytes(pool.get_batch([5])[0]))),
                   threading.Thread(target=register)]
        threads[0].start()
        assert asked.wait(60)
        threads[1].start()
        assert registering.wait(60)
        store.released.set()
        for thread in threads:
            thread.join()
        assert loaded == [record(5)], "the store, which is Python, could answer"
        pool.unregister_buffer(buffer)
    store.close()


def test_an_epochs_length_is_known_where_batches_count_records(bed):
    dataset = PoolDataset(Pool(bed.config))
    loader = PoolLoader(dataset, batch=7, rank=1, ranks=2)
    assert len(loader) == len(list(loader)) == 5
    with pytest.raises(TypeError):
        len(PoolLoader(dataset, batch="1 MiB"))


def batches_of(dataset, ranks, **options):
    return [list(PoolLoader(dataset, rank=rank, ranks=ranks, shuffle=False, **options))
            for rank in range(ranks)]


def test_ranks_make_equally_many_steps(bed):
    dataset = PoolDataset(Pool(bed.config), transform=lambda data: int(data[0]))
    padded = batches_of(dataset, 8, batch=1)
    assert [len(batches) for batches in padded] == [8] * 8, "60 records, 64 steps"
    assert sorted(sum(sum(padded, []), [])) == sorted([*range(RECORDS), 0, 1, 2, 3])
    dropped = batches_of(dataset, 8, batch=1, drop_last=True)
    assert [len(batches) for batches in dropped] == [7] * 8
    assert sorted(sum(sum(dropped, []), [])) == list(range(56))
    once = batches_of(dataset, 8, batch=8, pad=False)
    assert [len(batches[0]) for batches in once] == [8] * 4 + [7] * 4
    assert sorted(sum(sum(once, []), [])) == list(range(RECORDS))
    assert batches_of(dataset, 61, batch=1, pad=False)[60] == [], "a rank without records"
    bed.config.write_text(bed.config.read_text() + "  load: {pad: false}\n")
    dataset = PoolDataset(Pool(bed.config), transform=lambda data: int(data[0]))
    assert batches_of(dataset, 8, batch=8) == once
    loads = Pool(bed.config)
    loads.start_epochs(rank=60, ranks=61)
    assert loads.load(1) is None


def test_states_of_builds_that_did_not_pad_are_states_without_padding(bed):
    loader = PoolLoader(PoolDataset(Pool(bed.config)), batch=7, pad=False)
    loader.load_state_dict({"epoch": 2, "position": 7, "order": [RECORDS, 0, 0, 1, True]})
    assert loader.state_dict()["position"] == 7


def test_ranks_share_an_epoch_and_a_state_goes_on_where_it_was_taken(bed):
    pool = Pool(bed.config)

    def loader(rank):
        return PoolLoader(PoolDataset(pool, transform=lambda data: int(data[0])), batch=4, seed=5,
                          rank=rank, ranks=3, prefetch=3)

    shares = [[number for batch in loader(rank) for number in batch] for rank in range(3)]
    assert sorted(sum(shares, [])) == list(range(RECORDS))
    first, seen = loader(1), []
    for batch in first:
        seen += batch
        if len(seen) == 8:
            state = first.state_dict()
            break
    second = loader(1)
    second.load_state_dict(state)
    assert seen + [number for batch in second for number in batch] == shares[1]
    with pytest.raises(ValueError, match="this loader has"):
        loader(2).load_state_dict(state)


# The cases of PyTorch's StatefulDataLoader: a state is taken at every place of an epoch, before the
# first and behind the last batch too, kept as JSON or pickled, and loaded into a new loader.
@pytest.mark.parametrize("prefetch", [0, 3])
@pytest.mark.parametrize("keep", [lambda state: json.loads(json.dumps(state)),
                                  lambda state: pickle.loads(pickle.dumps(state))], ids=["json", "pickle"])
def test_states_of_every_place_go_on_as_if_nothing_had_been(bed, prefetch, keep):
    dataset = PoolDataset(Pool(bed.config), transform=lambda data: int(data[0]))

    def loader():
        return PoolLoader(dataset, batch=7, seed=3, prefetch=prefetch)

    one = loader()
    epochs = [list(one) for _ in range(3)]
    assert all(sorted(sum(epoch, [])) == list(range(RECORDS)) for epoch in epochs)
    assert len({str(epoch) for epoch in epochs}) == 3, "each epoch has its order"
    for done in (0, 1, 5, len(epochs[1])):
        first = loader()
        state = keep(first.state_dict()) if done == 0 else None
        assert list(first) == epochs[0]
        for number, batch in enumerate(first, 1):
            assert batch == epochs[1][number - 1]
            if number == done:
                state = keep(first.state_dict())
        assert list(first) == epochs[2], "taking a state disturbs nothing"
        second = loader()
        second.load_state_dict(state)
        assert keep(second.state_dict()) == state
        rest = epochs if done == 0 else [epochs[1][done:], epochs[2]]
        assert [list(second) for _ in rest] == rest


def test_a_state_may_be_loaded_again_and_into_a_loader_that_was_used(bed):
    dataset = PoolDataset(Pool(bed.config), transform=lambda data: int(data[0]))
    first, other = (PoolLoader(dataset, batch=10, seed=3) for _ in range(2))
    both = list(zip(first, other, strict=True))
    assert [pair[0] for pair in both] == [pair[1] for pair in both], "loaders are apart"
    states = [other.state_dict()]
    for batch in other:
        states.append(other.state_dict())
    later = list(other)
    for _ in range(2):
        other.load_state_dict(states[2])
        assert len(list(other)) == len(both) - 2 and list(other) == later
    with pytest.raises(KeyError):
        other.load_state_dict({"epoch": 1})
    assert list(other) != later, "a state that is none changes nothing"


def test_a_state_does_not_count_what_was_loaded_ahead(bed):
    dataset = PoolDataset(Pool(bed.config), transform=lambda data: int(data[0]))
    loader = PoolLoader(dataset, batch=5, seed=1, prefetch=8)
    iterator = iter(loader)
    assert loader.state_dict()["position"] == 0
    for number in range(1, 4):
        next(iterator)
        assert loader.state_dict()["position"] == 5 * number


def test_a_c_program_reads_the_records_that_python_would(bed):
    for rank in range(3):
        pool, expected = Pool(bed.config), []
        pool.start_epochs(seed=1, rank=rank, ranks=3)
        while (batch := pool.load(7)) is not None:
            expected += batch.ids
        done = subprocess.run([program("pool_epoch"), bed.config, "7", str(rank), "3"],
                              capture_output=True, text=True, timeout=60, check=False)
        data = [record(number) for number in expected]
        assert done.stdout == (f"20 records in 3 loads, {sum(map(len, data))} bytes, "
                               f"their sum is {sum(map(sum, data))}\n"), done.stderr
    done = subprocess.run([program("pool_epoch"), bed.config], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and "256 records is beyond the epoch" in done.stderr


def listed_metrics():
    """name → (type, labels), of the handbook."""
    page = (Path(__file__).resolve().parents[2] / "docs/operating/pool-metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(tributary_pool_loader_\w+)` \| (\w+) \| ([\w, ]+) \|", page, re.M)
    return {name: (kind, set(labels.split(", "))) for name, kind, labels in rows}


LOADS = """
import sys
sys.path[:0] = {path!r}
import bed
bed.package()
from tributary.data import Pool
pool = Pool({config!r})
pool.get_batch(range({records}))
"""


def test_processes_that_load_keep_metrics_for_node_exporter(tmp_path, bed):
    folder = tmp_path / "textfile"
    folder.mkdir()
    config = tmp_path / "loaders.yaml"
    config.write_text(bed.config.read_text() + f"  load: {{metrics_folder: {folder}}}\n")
    pool = Pool(config)
    pool.get_batch(range(10))
    bed.command("evict")
    script = LOADS.format(path=[str(Path(__file__).parent)], config=str(config), records=3)
    subprocess.run([sys.executable, "-B", "-c", script], timeout=100, check=True)
    texts = [file.read_text() for file in sorted(folder.glob("*.prom"))]
    for number, (text, source, records) in enumerate(zip(texts, ("pool", "store"), (10, 3), strict=True)):
        assert (f'records_total{{pool="test",process="{number}",source="{source}"}} {records}\n') in text
    data = sum(len(record(number)) for number in range(3))
    assert f'bytes_total{{pool="test",process="1",source="store"}} {data}\n' in texts[1]
    for text in (*texts, pool.metrics()):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0 and not done.stderr + done.stdout, done.stderr + done.stdout
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", texts[0], re.M))
    labels = {name: set(re.findall(r"(\w+)=", " ".join(re.findall(rf"^{name}(?:_sum)?{{(.*)}}", texts[0], re.M))))
              for name in kinds}
    assert {name: (kind, labels[name]) for name, kind in kinds.items()} == listed_metrics()
    with pytest.raises(RuntimeError, match="pool.load.metrics_folder /nowhere"):
        config.write_text(config.read_text().replace(str(folder), "/nowhere"))
        Pool(config)


GPU = """
import sys
sys.path[:0] = {path!r}
import bed
bed.package()
import numpy
from tributary.data import Pool


class Tensor:
    def __init__(self, memory):
        self.memory = memory
        self.__cuda_array_interface__ = dict(memory.__array_interface__, version=3)


pool = Pool({config!r})
memory = numpy.zeros(1 << 20, numpy.uint8)
for _ in range(2):
    batch = pool.get_batch(range(50, 60), Tensor(memory))
offsets = pool._loader.plan(list(range(50, 60)))[0]
for number, offset in zip(range(50, 60), offsets):
    assert bytes(memory[offset:offset + number * 41 + 1]) == bytes([number]) * (number * 41 + 1)
assert pool.get_into(3, Tensor(memory)) == 124 and bytes(memory[:124]) == bytes([3]) * 124
assert pool.stats()["misses"] == 0
for bad, why in ((Tensor(memory[:100]), "its target"), (Tensor(memory[::2]), "contiguous")):
    try:
        pool.get_batch([59], bad)
    except ValueError as error:
        assert why in str(error), error
    else:
        raise AssertionError(why)
print("loaded")
"""


def run_gpu(bed, libraries):
    script = GPU.format(path=[str(Path(__file__).parent)], config=str(bed.config))
    return subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True,
                          timeout=200, check=False, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})


def test_l2_targets_in_a_gpus_memory(tmp_path, bed):
    fake = next(place for place in (BUILD / "lib/libfake_cuda.so", BUILD / "tests/libfake_cuda.so")
                if place.exists())
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver/libcuda.so.1").symlink_to(fake)
    done = run_gpu(bed, tmp_path / "driver")
    assert done.stdout == "loaded\n", done.stderr


def test_without_a_driver_gpu_targets_say_what_they_need(tmp_path, bed):
    (tmp_path / "libcuda.so.1").write_text("no library")
    done = run_gpu(bed, tmp_path)
    assert "needs NVIDIA's driver" in done.stderr


def test_records_are_files_for_fsspec(bed):
    import fsspec

    import tributary.data.filesystem  # noqa: F401  (registers the protocol)

    url = f"tributary://{bed.config}!/"
    with fsspec.open(f"{url}17") as file:
        assert file.read() == record(17)
    system, path = fsspec.core.url_to_fs(url)
    assert len(system.ls(path, detail=False)) == RECORDS
    assert system.size(f"{path}/5") == len(record(5))
    assert system.cat_file(f"{path}/5", 10, 20) == record(5)[10:20]
    got = system.cat([f"{path}/{number}" for number in (3, 1)])
    assert [got[f"{path}/{number}"] for number in (3, 1)] == [record(3), record(1)]
    for bad in (f"{url}{RECORDS}", f"{url}x", "tributary:///nowhere.yaml!/1", "tributary:///nowhere"):
        with pytest.raises(FileNotFoundError):
            fsspec.open(bad).open()
    with pytest.raises(OSError, match="allowed mode: rb"):
        system.open(f"{path}/5", "wb")
    one = f"{path}/9"
    assert system.tail(one, 7) == record(9)[-7:] and system.tail(one, 10**6) == record(9)
    assert system.head(one, 7) == record(9)[:7]
    assert system.read_block(one, 3, None) == record(9)[3:]
    assert system.cat_ranges([one, one], [1, -5], [4, None]) == [record(9)[1:4], record(9)[-5:]]
    with system.open(one) as file:
        assert (file.size, file.mode, file.path) == (len(record(9)), "rb", one)
        assert file.info() == file.details == system.info(one)
    system.get(one, str(bed.folder / "copy"))
    assert (bed.folder / "copy").read_bytes() == record(9)


def test_fsspecs_webhdfs_client_sees_the_stub_as_we_do(tmp_path, files):
    from fsspec.implementations.webhdfs import WebHDFS

    store = WebHdfs(files)
    other = WebHDFS("127.0.0.1", port=store.port, user="me")
    with PoolBed(tmp_path, store.url) as bed:
        bed.command("fill", "--manifest")
        pool = Pool(bed.config)
        listed = sorted(other.ls("/", detail=False))
        assert [Path(name).name for name in listed] == [f"{n:06}" for n in range(RECORDS)]
        for number in (0, 7, 59):
            assert other.info(f"/{number:06}")["size"] == pool.length(number)
            with other.open(f"/{number:06}") as file:
                assert file.read() == bytes(pool.get_batch([number])[0]) == record(number)
    store.close()


def test_amazons_own_signer_and_the_stub_agree_on_signatures(files):
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    store = S3(files)
    names = ["/bucket/000007", "/bucket?list-type=2&prefix=00%2F"]
    for secret, allowed in ((SECRET, True), ("wrong", False)):
        for name in names:
            request = AWSRequest("GET", f"http://127.0.0.1:{store.port}{name}")
            S3SigV4Auth(Credentials(KEY, secret), "s3", "us-east-1").add_auth(request)
            asked = urllib.request.Request(request.url, headers=dict(request.headers))
            try:
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    status = answer.status
            except urllib.error.HTTPError as error:
                status = error.code
            assert status == (200 if allowed else 403), (name, secret)
    store.close()


def test_the_example_of_an_image_set_reads_every_sample_once(tmp_path):
    example = Path(__file__).resolve().parents[2] / "examples/pool_images"
    subprocess.run([sys.executable, "-B", example / "make_set.py", tmp_path / "set", "--samples", "1500",
                    "--shards", "4"], check=True, capture_output=True)
    with PoolBed(tmp_path, f"file://{tmp_path}/set/shards",
                 dataset='    format: tar\n    match: "*.tar"\n') as bed:
        bed.ready()
        environment = {**os.environ, "PYTHONPATH": str(FOLDER)}
        for workers in ("0", "2") if importlib.util.find_spec("torch") else ("0",):
            done = subprocess.run([sys.executable, "-B", example / "epoch.py", bed.config, "--workers",
                                   workers], capture_output=True, text=True, timeout=200, check=False,
                                  env=environment)
            assert done.stdout.startswith("1500 samples, 0 wrong,"), done.stdout + done.stderr


def test_a_buffer_that_is_too_small_or_unknown_ids_load_nothing(bed):
    pool = Pool(bed.config)
    out = numpy.zeros(100, numpy.uint8)
    with pytest.raises(ValueError, match="has 2420 bytes"):
        pool.get_batch([0, 59], out)
    with pytest.raises(IndexError, match="allowed: 0 to 59"):
        pool.get_batch([0, RECORDS], out)
    assert not out.any() and issubclass(LoadError, OSError)
    for amount in (0, RECORDS + 1):
        with pytest.raises(ValueError, match="amount of"):
            pool.load(amount)
    with pytest.raises(ValueError, match="allowed: host, gpu:N"):
        pool.load(1, target="tape")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
