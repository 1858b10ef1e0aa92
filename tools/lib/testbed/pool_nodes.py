"""A memory pool on a testbed: a node beside each worker, which hold the training set together."""

import sys

from .fabric import worker_address
from .tree import TOP, binary

_MEGABYTES = 96  # the whole set and room, of each node
_RECORD_BYTES = 1 + 28 * 28  # label and image, as examples/fashion_mnist/pooled.py has them
_LIMIT_S = 300


class PoolNodes:
    """Started on construction; ends with the bed. `config` is the pool's file."""

    def __init__(self, bed, ports):
        self.config = bed.run / "pool.yaml"
        data = bed.run / "data"
        data.mkdir()
        _write_records(data / "train.bin")
        in_namespaces = ports == "veth"
        nodes = "".join(
            f'    - {{name: n{rank}, address: "{_address(rank, in_namespaces)}", '
            f"memory: {bed.run / f'memory{rank}'}, megabytes: {_MEGABYTES}}}\n"
            for rank in range(bed.workers)
        )
        self.config.write_text(
            f"pool:\n  name: fashion-mnist\n  nodes:\n{nodes}  dataset:\n"
            f'    {{store: "file://{data}", manifest: {bed.run / "manifest"}, format: fixed, record_bytes: {_RECORD_BYTES}}}\n'
        )
        client = binary(bed.build, "tributary")
        self._operate(bed, client, "fill", "--manifest")
        for rank in range(bed.workers):
            command = [binary(bed.build, "tributary-poold"), "--config", self.config,
                       "--node", f"n{rank}"]
            bed.start(f"node{rank}", command, rank).wait_line("^ready", _LIMIT_S)
        self._operate(bed, client, "fill")

    def _operate(self, bed, client, *words):
        command = [client, "pool", *words, "--config", self.config]
        bed.start("pool " + words[-1], command, 0).check_exit(_LIMIT_S)


def _address(rank, in_namespaces):
    return f"{worker_address(rank)}:7480" if in_namespaces else f"127.0.0.1:{7480 + rank}"


def _write_records(path):
    sys.path.insert(0, str(TOP / "examples/fashion_mnist"))
    import data
    import pooled

    assert pooled.RECORD_BYTES == _RECORD_BYTES
    images, labels = (data.read_idx(data.DEFAULT_DIRECTORY / f"train-{kind}-ubyte.gz", dimensions)
                      for kind, dimensions in (("images-idx3", 3), ("labels-idx1", 1)))
    path.write_bytes(pooled.records_of(images, labels))
