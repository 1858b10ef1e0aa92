"""The pool as its users meet it: daemons, operators' commands, stores, Python (L1, L2, L3, L4, L5)."""

import json
import os
import random
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest

from bed import BUILD, PoolBed, package
from records import RECORDS, record, write_files
from stores import WebHdfs
from testbed.tree import binary

package()
from tributary.data import LoadError, Pool, PoolDataset, PoolLoader  # noqa: E402


def epoch_of(loader):
    """Every record exactly once, right bytes; returns the ids in order."""
    pool = loader.dataset.pool
    seen = []
    loader.dataset.transform = None
    original = pool.get_batch

    def remember(ids):
        batch = original(ids)
        for number, data in zip(batch.ids, batch):
            assert bytes(data) == record(number), f"record {number}"
        seen.extend(batch.ids)
        return batch

    pool.get_batch = remember
    try:
        for _ in loader:
            pass
    finally:
        pool.get_batch = original
    return seen


@pytest.fixture
def files(tmp_path):
    return write_files(tmp_path / "data")


@pytest.fixture
def bed(tmp_path, files):
    with PoolBed(tmp_path, f"file://{files}", nodes=3, replicas=1) as made:
        yield made.ready()


def test_l2_epoch_comes_from_the_pool_by_shared_memory(bed):
    pool = Pool(bed.config)
    assert len(pool) == RECORDS
    first = epoch_of(PoolLoader(PoolDataset(pool), batch=32, seed=1))
    assert sorted(first) == list(range(RECORDS))
    assert pool.stats()["hits"] == RECORDS and pool.stats()["misses"] == 0
    assert [node["transport"] for node in pool.nodes()] == ["mapped"] * 3
    assert first == epoch_of(PoolLoader(PoolDataset(pool), batch=7, seed=1)), "the seed decides"
    assert first != epoch_of(PoolLoader(PoolDataset(pool), batch=32, seed=2))


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_l2_the_same_by_libfabric(tmp_path, files, transport):
    with PoolBed(tmp_path, f"file://{files}", transport=transport) as bed:
        pool = Pool(bed.ready().config)
        assert sorted(epoch_of(PoolLoader(PoolDataset(pool), batch=32))) == list(range(RECORDS))
        assert pool.stats()["misses"] == 0
        assert [node["transport"] for node in pool.nodes()] == [transport] * 2


@pytest.mark.parametrize("transport", ["mapped", "shm", "tcp"])
def test_l1_kill_9_of_a_node_during_an_epoch(tmp_path, files, transport):
    with PoolBed(tmp_path, f"file://{files}", nodes=3, replicas=1, transport=transport) as bed:
        pool = Pool(bed.ready().config)
        loader = PoolLoader(PoolDataset(pool), batch=16, seed=3, prefetch=1, pad=False)
        halfway, killed = threading.Event(), threading.Event()
        original, calls = pool.get_batch, []

        def get_batch(ids):
            calls.append(ids)
            if len(calls) == 8:
                halfway.set()
                assert killed.wait(60)
            return original(ids)

        pool.get_batch = get_batch
        killer = threading.Thread(
            target=lambda: (halfway.wait(60), bed.kill("b"), killed.set()), daemon=True)
        killer.start()
        assert sorted(epoch_of(loader)) == list(range(RECORDS))
        killer.join()
        stats = pool.stats()
        assert stats["node_failures"] == 1
        assert stats["misses"] == 0, "what was on the node came from replicas"
        held = bed.status()["a"]["records"]
        bed.start("b")
        row = bed.status()["b"]
        assert row["recovered"] == row["records"] == row["of"] > 0
        assert bed.status()["a"]["records"] == held
        again = Pool(bed.config)
        assert sorted(epoch_of(PoolLoader(PoolDataset(again), batch=16))) == list(range(RECORDS))
        assert again.stats()["misses"] == 0 and all(node["up"] for node in again.nodes())


def test_l4_flipped_bits_are_noticed_counted_and_read_elsewhere(tmp_path, files):
    with PoolBed(tmp_path, f"file://{files}") as bed:
        pool = Pool(bed.ready().config)
        memory = Path(bed.memory, "a")
        data = bytearray(memory.read_bytes())
        flipped = 0
        for number in range(0, RECORDS, 10):
            at = data.find(record(number))
            if at >= 0:
                data[at + 17] ^= 0x20
                flipped += 1
        with memory.open("r+b") as file:
            file.write(data)
        assert flipped > 5
        assert sorted(epoch_of(PoolLoader(PoolDataset(pool), batch=16))) == list(range(RECORDS))
        assert pool.stats()["corrupt"] == flipped == bed.status()["a"]["corrupt"]
        assert pool.stats()["misses"] == flipped, "no replicas: from the store"
        bed.command("verify")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def forged_record(header, data):
    """A whole record as it lies in a node's memory: another one's header with other data."""
    head = struct.pack("<QIIII", *struct.unpack("<QIIII", header[:24])[:3], crc32c(data),
                       struct.unpack("<I", header[20:24])[0])
    return head + struct.pack("<II", crc32c(head), 0x54524543) + data


def test_l4_data_that_holds_records_is_none_after_evict_kill_and_restart(tmp_path):
    folder = write_files(tmp_path / "data", 10)
    large = folder / "000007"
    large.write_bytes(bytes(64 << 10))
    with PoolBed(tmp_path, f"file://{folder}", nodes=1) as bed:
        bed.ready()
        memory = Path(bed.memory, "a").read_bytes()
        at = memory.find(record(3)) - 32
        assert struct.unpack("<Q", memory[at : at + 8]) == (3,)
        forged = forged_record(memory[at : at + 32], bytes(len(record(3))))
        slot = forged.ljust((len(forged) + 63) // 64 * 64, b"\0")
        time = large.stat().st_mtime_ns
        large.write_bytes((bytes(32) + slot * (len(memory) // len(slot)))[: 64 << 10])
        os.utime(large, ns=(time, time))  # the store shows no change
        bed.command("evict")
        bed.command("fill", "--first", "7", "--count", "1")
        assert forged in Path(bed.memory, "a").read_bytes()
        bed.command("evict")
        bed.kill("a")
        bed.start("a")
        assert bed.status()["a"]["records"] == 0
        bed.command("fill", "--count", "7")
        pool = Pool(bed.config)
        assert [bytes(data) for data in pool.get_batch(range(7))] == [record(n) for n in range(7)]
        assert pool.stats()["misses"] == 0


def test_old_formats_of_memory_are_emptied_and_said(tmp_path, files):
    with PoolBed(tmp_path, f"file://{files}", nodes=1) as bed:
        bed.ready()
        bed.kill("a")
        with Path(bed.memory, "a").open("r+b") as memory:
            memory.write(b"TRBPSEG1")
        log = tmp_path / "log"
        bed.start("a", log=log)
        assert "had the format of another build, and was emptied" in log.read_text()
        assert bed.status()["a"]["records"] == 0


def test_l1_webhdfs_files_that_change_after_their_first_read_are_refused(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    each = 1000
    (folder / "all").write_bytes(b"".join(random.Random(n).randbytes(each) for n in range(20)))
    store = WebHdfs(folder)
    with PoolBed(tmp_path, store.url, dataset=f"    format: fixed\n    record_bytes: {each}\n") as bed:
        bed.command("fill", "--manifest")
        pool = Pool(bed.config)
        assert bytes(pool.get_batch([3])[0]) == random.Random(3).randbytes(each)
        (folder / "all").write_bytes(bytes(20 * each))
        with pytest.raises(LoadError, match="make the manifest again") as error:
            pool.get_batch([4])
        assert error.value.ids == [4]
    store.close()


def test_l1_full_pool_slows_nobody(tmp_path, files):
    with PoolBed(tmp_path, f"file://{files}", megabytes=1, extra="  eviction: {high_water: 30}\n") as bed:
        pool = Pool(bed.ready().config)
        assert bed.status()["a"]["refused"] > 0
        assert sorted(epoch_of(PoolLoader(PoolDataset(pool), batch=50))) == list(range(RECORDS))
        stats = pool.stats()
        assert stats["hits"] > 0 and stats["misses"] > 0
        assert stats["hits"] + stats["misses"] == RECORDS


def test_l1_a_fill_fails_where_its_node_dies_and_comes_back(tmp_path):
    store = WebHdfs(write_files(tmp_path / "data", 20))
    with PoolBed(tmp_path, store.url) as bed:
        bed.command("fill", "--manifest")
        bed.start()
        asked = threading.Event()

        def hang(_):
            asked.set()
            return "hang"

        store.fault = hang
        done = []
        filling = threading.Thread(target=lambda: done.append(bed.command("fill", "--json", check=False)))
        filling.start()
        assert asked.wait(60)
        bed.kill("a")
        store.fault = None
        bed.start("a")
        store.released.set()
        filling.join()
        assert done[0].returncode == 1
        states = {row["node"]: row["state"] for row in json.loads(done[0].stdout)}
        assert states["a"] != "up" and states["b"] == "up"
        bed.command("fill")
    store.close()


def test_operators_pin_evict_and_fill_again(bed):
    bed.command("pin", "--first", "0", "--count", "10")
    bed.command("evict")
    assert sum(row["records"] for row in bed.status().values()) == 20, "and their replicas"
    bed.command("pin", "--off", "--first", "0", "--count", "10")
    bed.command("evict")
    assert sum(row["records"] for row in bed.status().values()) == 0
    bed.command("fill", "--first", "100", "--count", "50")
    assert sum(row["records"] for row in bed.status().values()) == 100
    assert "no such" not in bed.command("status").stdout
    bad = bed.command("pin", "--first", str(RECORDS), check=False)
    assert bad.returncode == 1 and f"allowed: 0 to {RECORDS - 1}" in bad.stdout


def test_l3_configured_amount_and_target(bed):
    assert "256 records" in bed.command("configure").stdout
    assert "10 records" in bed.command("configure", "--amount", "10").stdout
    assert len(Pool(bed.config).load()) == 10
    bed.command("configure", "--amount", "8 KiB")
    batch = Pool(bed.config).load()
    assert 1 <= sum(len(data) for data in batch) <= 8192
    for wrong in ("0", "many", "1 TB"):
        bad = bed.command("configure", "--amount", wrong, check=False)
        assert bad.returncode == 2 and "allowed" in bad.stderr
    bad = bed.command("configure", "--target", "tpu", check=False)
    assert bad.returncode == 1 and "gpu:N" in bad.stderr


def test_l2_amounts_without_ids_are_the_next_records(bed):
    pool = Pool(bed.config)
    pool.start_epochs(seed=5, rank=1, ranks=2)
    seen = []
    while (batch := pool.load(30)) is not None:
        seen += batch.ids
    other = Pool(bed.config)
    other.start_epochs(seed=5, rank=0, ranks=2)
    while (batch := other.load("20 KiB")) is not None:
        seen += batch.ids
    assert sorted(seen) == list(range(RECORDS))
    for amount in (0, 201, "nothing"):
        with pytest.raises(ValueError, match="amount"):
            pool.load(amount)


def test_bad_requests_name_what_is_allowed(bed):
    pool = Pool(bed.config)
    with pytest.raises(IndexError, match=f"allowed: 0 to {RECORDS - 1}"):
        pool.get_batch([RECORDS])
    with pytest.raises(ValueError, match="its target 10"):
        pool.get_into(0, numpy.empty(10, numpy.uint8))
    with pytest.raises(RuntimeError, match="pool.nodes"):
        bad = bed.folder / "bad.yaml"
        bad.write_text(bed.config.read_text().replace("megabytes: 64", "megabytes: none"))
        Pool(bad)


def test_views_share_the_buffer(bed):
    pool = Pool(bed.config)
    out = numpy.zeros(1 << 20, numpy.uint8)
    pool.register_buffer(out)
    batch = pool.get_batch([3, 1, 2], out)
    assert numpy.shares_memory(batch[0], out) and bytes(batch[0]) == record(3)
    pool.unregister_buffer(out)
    view = pool.get_batch([9])[0]
    assert bytes(view) == record(9), "the view keeps its buffer alive"


def test_resuming_sees_each_record_once(bed):
    dataset = PoolDataset(Pool(bed.config))
    whole = epoch_of(PoolLoader(dataset, batch=16, seed=4))
    loader = PoolLoader(dataset, batch=16, seed=4)
    for number, _ in enumerate(loader, 1):
        if number == 5:
            state = loader.state_dict()
            break
    resumed = PoolLoader(dataset, batch=16, seed=4)
    resumed.load_state_dict(state)
    assert epoch_of(resumed) == whole[80:]
    assert resumed.state_dict()["epoch"] == 1
    with pytest.raises(ValueError, match="this loader has"):
        PoolLoader(dataset, seed=9).load_state_dict(state)


def test_l5_an_epoch_out_of_the_pool_waits_for_no_store(tmp_path):
    """Why the pool is faster; suite `pool` of tools/bench measures by how much."""
    store = WebHdfs(write_files(tmp_path / "data", 60))
    with PoolBed(tmp_path, store.url) as bed:
        bed.command("fill", "--manifest")
        without = Pool(bed.config)
        before = store.requests
        epoch_of(PoolLoader(PoolDataset(without), batch=20))
        assert without.stats()["misses"] == 60 and store.requests >= before + 60
        bed.start()
        bed.command("fill")
        before = store.requests
        store.fault = lambda path: "hang"
        pool = Pool(bed.config)
        assert sorted(epoch_of(PoolLoader(PoolDataset(pool), batch=20))) == list(range(60))
        assert pool.stats()["hits"] == 60 and store.requests == before
    store.close()


def test_two_pools_of_one_name_are_told_apart(tmp_path, bed):
    other = tmp_path / "other"
    other.mkdir()
    write_files(other / "data", 5)
    config = bed.config.read_text().replace(str(tmp_path / "data"), str(other / "data"))
    (other / "pool.yaml").write_text(config.replace(f"{tmp_path}/manifest", f"{other}/manifest"))
    bed.config = other / "pool.yaml"
    bed.command("fill", "--manifest")
    assert "two pools of one name" in bed.status()["a"]["state"]
    pool = Pool(other / "pool.yaml")
    assert bytes(pool.get_batch([2])[0]) == record(2), "from its store"
    assert "two pools of one name" in pool.nodes()[0]["problem"]


def test_l4_tenants_read_by_tokens_of_their_own_until_their_leases_end(tmp_path, files):
    tenants = "  tenants:\n"
    for name in ("one", "other"):
        token = tmp_path / name
        token.write_text(f"0123456789abcdef-{name}\n")
        token.chmod(0o600)
        tenants += f"    - {{name: {name}, token_file: {token}}}\n"
    with PoolBed(tmp_path, f"file://{files}", nodes=1, transport="tcp", extra=tenants) as bed:
        bed.ready()  # by the node's socket, without a tenant
        without = Pool(bed.config)
        epoch_of(PoolLoader(PoolDataset(without), batch=32))
        assert without.stats()["hits"] == 0 and "allowed: loaders with `tenant`" in without.nodes()[0]["problem"]
        configs = [tmp_path / f"{name}.yaml" for name in ("one", "other")]
        for config in configs:
            config.write_text(f"{bed.config.read_text()}  tenant: {config.stem}\n")
            pool = Pool(config)
            epoch_of(PoolLoader(PoolDataset(pool), batch=32))
            assert pool.stats()["hits"] == RECORDS
        doors = subprocess.run([binary(BUILD, "read_records"), "doors", *configs], capture_output=True, text=True,
                               timeout=300, check=False)
        assert (doors.returncode, doors.stdout.splitlines()) == (0, [
            "doors: a tenant's key is another's: refused",
            "doors: no permit: refused",
            "doors: own key: read",
            "doors: another tenant's own key: read",
            "doors: own key after the lease: refused",
            "doors: own permit after the lease: refused",
            "doors: own key after the lease, asleep: refused",
        ]), doors.stderr


def test_torch_dataloader_takes_the_dataset_as_it_is(bed):
    dataset = PoolDataset(Pool(bed.config), transform=lambda data: (len(data), int(data[0])))
    try:
        from torch.utils.data import DataLoader
    except ImportError:  # what DataLoader does with a map-style data set
        items = [dataset[i] for i in range(3)] + dataset.__getitems__(range(3, 6))
    else:
        loader = DataLoader(dataset, batch_size=3, num_workers=2, collate_fn=list)
        items = [item for batch in loader for item in batch][:6]
    assert items == [(len(record(i)), record(i)[0]) for i in range(6)]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
