"""The pool's S3 store beside a server that others wrote: npm's s3rver (its SigV4 check is a stub, the
rest is S3's: pages of a listing, ranges, ETags, escapes, error codes).

TRIBUTARY_S3RVER: the folder that `npm install --prefix FOLDER s3rver@3.7.1` filled. Not one of
ctest's tests, which fetch nothing; `tools/check --only s3rver` installs it and runs this.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from bed import PoolBed, free_port, package

package()
from tributary.data import Pool  # noqa: E402

S3RVER = Path(os.environ["TRIBUTARY_S3RVER"]) / "node_modules/s3rver/bin/s3rver.js"
SIGNED = {"AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER"}
ODD_NAMES = ["a b+c&d/é.bin", "quote'and%25.bin", "deep/er/and/deeper.bin"]


class Server:
    """s3rver with the bucket `bucket`; put() stores an object."""

    def __init__(self, port):
        self.at = f"http://127.0.0.1:{port}"
        self.url = f"s3://bucket?endpoint={urllib.parse.quote(self.at, safe='')}"

    def put(self, name, data):
        request = urllib.request.Request(f"{self.at}/bucket/{urllib.parse.quote(name)}", data, method="PUT")
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200


@pytest.fixture
def server(tmp_path):
    port = free_port()
    # Its tokens of pages are in DES, which OpenSSL 3 has among the old ciphers.
    words = [shutil.which("node"), "--openssl-legacy-provider", S3RVER, "-d", tmp_path / "s3",
             "-a", "127.0.0.1", "-p", str(port), "--no-vhost-buckets", "--configure-bucket", "bucket"]
    (tmp_path / "s3").mkdir()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            for line in process.stdout:
                if "listening" in line:
                    break
            yield Server(port)
        finally:
            process.terminate()
            with contextlib.suppress(ValueError):
                process.stdout.read()


@pytest.fixture(autouse=True)
def credentials(monkeypatch):
    for name, value in SIGNED.items():
        monkeypatch.setenv(name, value)


def test_l1_a_listing_of_several_pages_and_odd_names(tmp_path, server):
    objects = {f"{number:06}": bytes([number % 251]) * (number % 97 + 1) for number in range(1002)}
    objects |= {name: name.encode() * 9 for name in ODD_NAMES}
    for name, data in objects.items():
        server.put(name, data)
    with PoolBed(tmp_path, server.url, env=SIGNED) as bed:
        pool = Pool(bed.ready().config)
        assert len(pool) == len(objects)
        batch = pool.get_batch(range(len(pool)))
        assert [bytes(data) for data in batch] == [objects[name] for name in sorted(objects, key=str.encode)]
        assert pool.stats()["misses"] == 0
        bed.command("evict")
        assert bytes(Pool(bed.config).get_batch([7])[0]) == objects["000007"], "from the store"


def test_l1_ranges_of_shards_and_a_prefix(tmp_path, server):
    shards = [os.urandom(64 * 100) for _ in range(3)]
    for number, data in enumerate(shards):
        server.put(f"set/{number}.bin", data)
    server.put("other/0.bin", b"x" * 64)
    url = server.url.replace("bucket?", "bucket/set?", 1)
    with PoolBed(tmp_path, url, env=SIGNED, dataset="    format: fixed\n    record_bytes: 64\n") as bed:
        pool = Pool(bed.ready().config)
        whole = b"".join(shards)
        assert b"".join(bytes(data) for data in pool.get_batch(range(300))) == whole
        bed.command("evict")
        alone = Pool(bed.config)
        assert bytes(alone.get_batch([250])[0]) == whole[250 * 64 : 251 * 64]
        assert alone.stats()["misses"] == 1


def test_an_object_that_was_replaced_is_noticed_by_its_etag(tmp_path, server):
    for number in range(5):
        server.put(f"{number}", b"first%d" % number)
    with PoolBed(tmp_path, server.url, env=SIGNED) as bed:
        bed.command("fill", "--manifest")
        server.put("3", b"other3")
        bed.start()
        done = bed.command("fill", check=False)
        assert done.returncode == 1 and "make the manifest again" in done.stderr
        assert sum(row["records"] for row in bed.status().values()) == 4


def test_refusals_are_said_with_the_servers_code(tmp_path, server):
    server.put("0", b"0")
    for url, environment, said in (
        (server.url, {**SIGNED, "AWS_ACCESS_KEY_ID": "NOBODY"}, ("403", "InvalidAccessKeyId")),
        (server.url.replace("//bucket", "//absent"), SIGNED, ("404", "NoSuchBucket")),
    ):
        with PoolBed(tmp_path, url, env=environment) as bed:
            done = bed.command("fill", "--manifest", check=False)
            assert done.returncode == 1
            assert all(text in done.stderr for text in said), done.stderr


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
