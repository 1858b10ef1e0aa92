"""A pool's records as files, for programs that open addresses with fsspec.

    import tributary.data.filesystem                          # registers the protocol
    fsspec.open("tributary:///etc/tributary/pool.yaml!/17")   # record 17

A pool's file, "!", and a record's number. Reading alone; cat() of several records is one batch.
"""

import io

import fsspec
from fsspec.spec import AbstractFileSystem

from .pool import Pool


class _RecordFile(io.BytesIO):
    """A record that was loaded whole, with what fsspec asks of a file beyond io's."""

    mode = "rb"

    def __init__(self, fs, path, data):
        super().__init__(data)
        self.fs = fs
        self.path = path
        self.size = len(data)

    def info(self):
        return self.fs.info(self.path)

    details = property(info)


class PoolFileSystem(AbstractFileSystem):
    """Protocol `tributary`. Errors are those of files: FileNotFoundError, OSError."""

    protocol = "tributary"
    root_marker = ""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._pools = {}

    def _pool(self, config):
        if config not in self._pools:
            try:
                self._pools[config] = Pool(config)
            except RuntimeError as error:
                raise FileNotFoundError(str(error)) from None
        return self._pools[config]

    def _split(self, path):
        """(path of the pool's file, its Pool, number of the record or None for all)"""
        config, mark, name = self._strip_protocol(path).partition("!")
        name = name.strip("/")
        if not mark or not (name == "" or name.isdecimal()):
            raise FileNotFoundError(f"{path}; allowed: tributary:///POOL.yaml!/RECORD")
        pool = self._pool(config)
        if name and int(name) >= len(pool):
            raise FileNotFoundError(f"{path}; the pool has records 0 to {len(pool) - 1}")
        return config, pool, int(name) if name else None

    def info(self, path, **_):
        config, pool, record = self._split(path)
        if record is None:
            return {"name": f"{config}!", "size": 0, "type": "directory"}
        return {"name": f"{config}!/{record}", "size": pool.length(record), "type": "file"}

    def ls(self, path, detail=True, **_):
        config, pool, record = self._split(path)
        names = [f"{config}!/{i}" for i in (range(len(pool)) if record is None else [record])]
        return [self.info(name) for name in names] if detail else names

    def cat_file(self, path, start=None, end=None, **_):
        _, pool, record = self._split(path)
        if record is None:
            raise IsADirectoryError(path)
        return bytes(pool.get_batch([record])[0])[start:end]

    def cat(self, path, recursive=False, on_error="raise", **options):
        if isinstance(path, str) or on_error != "raise":
            return super().cat(path, recursive=recursive, on_error=on_error, **options)
        places = [self._split(one) for one in path]
        out = {}
        for config in dict.fromkeys(config for config, _, _ in places):
            mine = [(one, place) for one, place in zip(path, places) if place[0] == config]
            batch = mine[0][1][1].get_batch([record for _, (_, _, record) in mine])
            out.update((one, bytes(data)) for (one, _), data in zip(mine, batch))
        return out

    def _open(self, path, mode="rb", **_):
        if mode != "rb":
            raise OSError(f"{path}: records are read, not written; allowed mode: rb")
        return _RecordFile(self, path, self.cat_file(path))


fsspec.register_implementation("tributary", PoolFileSystem, clobber=True)
