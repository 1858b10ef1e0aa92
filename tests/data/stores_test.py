"""Stores and formats as a pool's users meet them: links, WebDataset, IDX, S3 and WebHDFS that fail (L1)."""

import json
import struct
import sys
import tarfile
from io import BytesIO

import numpy
import pytest

from bed import PoolBed, package
from records import record, write_files
from stores import KEY, SECRET, S3, WebHdfs

package()
from tributary.data import LoadError, Pool, PoolDataset, PoolLoader  # noqa: E402

SIGNED = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}


def test_links_are_followed_and_others_are_named(tmp_path):
    folder = tmp_path / "data"
    write_files(folder / "blobs", 3)
    (folder / "train").mkdir()
    for number in range(3):
        (folder / "train" / f"{number}").symlink_to(folder / "blobs" / f"{number:06}")
    (folder / "validation").symlink_to("train")
    (folder / "train/outside").symlink_to("/etc/hostname")
    with PoolBed(tmp_path, f"file://{folder}", dataset='    match: "[tv]*"\n') as bed:
        said = bed.command("fill", "--manifest").stderr
        assert "6 records" in said and "left out: 2" in said
        assert "train/outside: is a link out of the store's directory" in said
        bed.start()
        bed.command("fill")
        pool = Pool(bed.config)
        assert [bytes(data) for data in pool.get_batch(range(6))] == [record(n % 3) for n in range(6)]
        assert pool.stats()["misses"] == 0


def test_webdataset_shards(tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    for shard in range(4):
        with tarfile.open(folder / f"{shard}.tar", "w") as tar:
            for number in range(shard * 50, shard * 50 + 50):
                for extension, data in (("bin", record(number)), ("cls", str(number).encode())):
                    info = tarfile.TarInfo(f"set/{number:04}.{extension}")
                    info.size = len(data)
                    tar.addfile(info, BytesIO(data))
    with PoolBed(tmp_path, f"file://{folder}", dataset='    format: tar\n    match: "*.tar"\n') as bed:
        pool = Pool(bed.ready().config)
        dataset = PoolDataset(pool)
        assert len(dataset) == 200
        for batch in PoolLoader(dataset, batch=20, seed=1):
            for sample in batch:
                number = int(bytes(sample["cls"]))
                assert sample["__key__"] == f"set/{number:04}"
                assert bytes(sample["bin"]) == record(number)
        assert pool.stats()["misses"] == 0


def test_webdataset_shards_with_members_that_are_no_data(tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    with tarfile.open(folder / "0.tar", "w") as tar:
        for name in ("__info__", "._0001.jpg", "0001.JPG", "README", "._0001.cls", "0001.cls", "0002.jpg"):
            info = tarfile.TarInfo(name)
            info.size = len(name)
            tar.addfile(info, BytesIO(name.encode()))
    with PoolBed(tmp_path, f"file://{folder}", dataset="    format: tar\n") as bed:
        first, second = PoolDataset(Pool(bed.ready().config))
        assert {key: bytes(value) for key, value in first.items() if key != "__key__"} == {
            "jpg": b"0001.JPG", "cls": b"0001.cls"}
        assert first["__key__"] == "0001" and list(second) == ["__key__", "jpg"]


def test_idx_files(tmp_path):
    folder = tmp_path / "idx"
    folder.mkdir()
    images = numpy.random.default_rng(1).integers(0, 256, (300, 28, 28), numpy.uint8)
    (folder / "images-idx3-ubyte").write_bytes(
        struct.pack(">IIII", 0x803, 300, 28, 28) + images.tobytes())
    with PoolBed(tmp_path, f"file://{folder}", dataset="    format: idx\n") as bed:
        batch = Pool(bed.ready().config).get_batch([299, 0])
        assert (batch[0].reshape(28, 28) == images[299]).all()
        assert (batch[1].reshape(28, 28) == images[0]).all()


@pytest.mark.parametrize("kind", [S3, WebHdfs])
def test_l1_stores_over_http_fill_the_pool(tmp_path, monkeypatch, kind):
    store = kind(write_files(tmp_path / "data", 60))
    for name, value in SIGNED.items():
        monkeypatch.setenv(name, value)
    failures = iter([503, "half"])
    store.fault = lambda path: next(failures, None) if "00001" in path else None
    with PoolBed(tmp_path, store.url, env=SIGNED) as bed:
        pool = Pool(bed.ready().config)
        store.fault = None
        before = store.requests
        for number in range(60):
            assert bytes(pool.get_batch([number])[0]) == record(number)
        assert store.requests == before, "all from the pool"
        bed.command("evict")
        pool = Pool(bed.config)
        assert bytes(pool.get_batch([7])[0]) == record(7)
        assert pool.stats()["misses"] == 1 and store.requests > before
    store.close()


def test_l1_s3_keys_go_out_as_they_are(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    store = S3(folder)
    keys = ["./dot", "a/./b", "a/../c", "../up", "a//b", "tab\tkey", "line\nfeed\rkey", "a b+c%41&<é>"]
    store.objects = {key: record(number) for number, key in enumerate(keys)}
    with PoolBed(tmp_path, store.url, env=SIGNED) as bed:
        pool = Pool(bed.ready().config)
        wanted = [store.objects[key] for key in sorted(keys, key=lambda key: key.encode())]
        assert [bytes(data) for data in pool.get_batch(range(len(keys)))] == wanted
        assert pool.stats()["misses"] == 0
    store.close()


@pytest.mark.parametrize("kind, fault", [(kind, fault) for kind in (S3, WebHdfs)
                                         for fault in (503, 429, "reset", "half", "hang", "standby")
                                         if (kind, fault) != (S3, "standby")])
def test_l1_a_manifest_outlives_a_failure_of_each_request(tmp_path, kind, fault):
    folder = tmp_path / "data"
    folder.mkdir()
    for shard in range(2):
        with tarfile.open(folder / f"{shard}.tar", "w") as tar:
            info = tarfile.TarInfo(f"{shard}.bin")
            info.size = len(record(shard))
            tar.addfile(info, BytesIO(record(shard)))
    store = kind(folder)
    failed = set()
    most = 2 if fault == "hang" else 3  # a read of WebHDFS is three requests, and has three tries

    def fail_once(path):
        if path in failed or len(failed) == most:
            return None
        failed.add(path)
        return fault

    store.fault = fail_once
    with PoolBed(tmp_path, store.url, env=SIGNED, dataset="    format: tar\n") as bed:
        assert "2 records" in bed.command("fill", "--manifest").stderr
    assert len(failed) == most, "listing and shards failed once each"
    store.close()


def test_s3_with_the_wrong_secret_is_refused_and_said(tmp_path):
    store = S3(write_files(tmp_path / "data", 3))
    wrong = {**SIGNED, "AWS_SECRET_ACCESS_KEY": "wrong"}
    with PoolBed(tmp_path, store.url, env=wrong) as bed:
        done = bed.command("fill", "--manifest", check=False)
        assert done.returncode == 1
        assert "403" in done.stderr and "SignatureDoesNotMatch" in done.stderr
    store.close()


@pytest.mark.parametrize("fault, said", [
    (404, "404"), (403, "403"), (500, "500"), ("half", "bytes"), ("circle", "redirect"), ("hang", "")])
def test_l1_damaged_objects_are_skipped_and_named(tmp_path, fault, said):
    store = WebHdfs(write_files(tmp_path / "data", 20))
    with PoolBed(tmp_path, store.url) as bed:
        bed.command("fill", "--manifest")
        bed.start()
        store.fault = lambda path: fault if "000007" in path else None
        done = bed.command("fill", check=False)
        assert done.returncode == 1
        assert "000007" in done.stderr and said in done.stderr.lower()
        assert sum(row["records"] for row in bed.status().values()) == 19
        pool = Pool(bed.config)
        with pytest.raises(LoadError) as error:
            pool.get_batch(range(20))
        assert error.value.ids == [7]
    store.close()


def test_records_that_change_in_the_store_are_refused_and_logged(tmp_path):
    folder = write_files(tmp_path / "data", 20)
    log = tmp_path / "log"
    with PoolBed(tmp_path, f"file://{folder}") as bed:
        bed.command("fill", "--manifest")
        (folder / "000003").write_bytes(b"another")
        bed.start(errors=log, options=("--log-format", "json"))
        done = bed.command("fill", check=False)
        assert done.returncode == 1 and "make the manifest again" in done.stderr
        [line] = [json.loads(line) for line in log.read_text().splitlines()]
        assert line["level"] == "warning" and "filling ended, records not read: 1: 000003" in line["text"]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
