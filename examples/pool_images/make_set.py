#!/usr/bin/python3
"""Makes an image set in WebDataset's form: tar shards whose samples are NUMBER.ppm and NUMBER.cls.

    make_set.py FOLDER [--samples 100000] [--shards 20]

Image NUMBER is 16 x 16 pixels in one color that follows from the number, its class is NUMBER modulo
10; so a reader of a sample can tell whether it is right. Prints the pool's file for it.
"""

import argparse
import io
import tarfile
from pathlib import Path

SIDE = 16
CLASSES = 10

POOL = """pool:
  name: images
  nodes:
    - {{name: a, address: "127.0.0.1:7483", memory: /dev/shm/tributary-images-a, megabytes: {megabytes}}}
    - {{name: b, address: "127.0.0.1:7484", memory: /dev/shm/tributary-images-b, megabytes: {megabytes}}}
  dataset: {{store: "file://{folder}/shards", manifest: {folder}/manifest, format: tar, match: "*.tar"}}
  load: {{amount: 256 records, target: host}}
"""


def color(number):
    return bytes((number >> shift) & 255 for shift in (16, 8, 0))


def image(number):
    """A binary PPM file."""
    return b"P6 %d %d 255\n" % (SIDE, SIDE) + color(number) * (SIDE * SIDE)


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def make(folder, samples, shards):
    (folder / "shards").mkdir(parents=True)
    for shard in range(shards):
        with tarfile.open(folder / "shards" / f"{shard:05}.tar", "w") as tar:
            for number in range(shard * samples // shards, (shard + 1) * samples // shards):
                add(tar, f"{number:08}.ppm", image(number))
                add(tar, f"{number:08}.cls", str(number % CLASSES).encode())
    megabytes = 16 + samples * 3 // 1024  # a sample takes 2.5 KiB of its tar file; half to each node
    (folder / "pool.yaml").write_text(POOL.format(folder=folder, megabytes=megabytes))
    return folder / "pool.yaml"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=20)
    arguments = parser.parse_args()
    if not 1 <= arguments.shards <= arguments.samples:
        parser.error("--shards: 1 to the number of samples")
    print(make(arguments.folder.resolve(), arguments.samples, arguments.shards))


if __name__ == "__main__":
    main()
