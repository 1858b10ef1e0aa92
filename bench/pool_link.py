"""For suite `pool`: nodes and S3 endpoint in one network namespace, the loader in another.

Both sides of a row cross the same veth pair. The loader is a process that is told which epoch to read
and answers with its rate; fi_read's own figure comes from bin/pool_reads over the same link.
"""

import contextlib
import json
import os
import subprocess
import sys

NODES, LOADER = "10.78.39.1", "10.78.39.2"


class Link:
    """Two namespaces and a veth pair between them; words to put before a command of either side."""

    def __init__(self):
        self.names = [f"pool-{side}-{os.getpid()}" for side in ("nodes", "loader")]
        nodes, loader = self.names
        for name in self.names:
            _ip("netns", "add", name)
        _ip("link", "add", "p0", "netns", nodes, "type", "veth", "peer", "name", "p0", "netns", loader)
        for name, address in ((nodes, NODES), (loader, LOADER)):
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "p0")
            for device in ("lo", "p0"):
                _ip("-n", name, "link", "set", device, "up")
        self.nodes, self.loader = (["ip", "netns", "exec", name] for name in self.names)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in self.names:
            _ip("netns", "delete", name)


def _ip(*words):
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def remote_epochs(link, script, data):
    """epoch(config, batch, seed) → (records per second, whether every byte was right, misses)."""
    words = [*link.loader, sys.executable, script, "--epochs-of", data.folder, str(data.records),
             str(data.size)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        def epoch(config, batch, seed):
            child.stdin.write(json.dumps([str(config), batch, seed]) + "\n")
            child.stdin.flush()
            return json.loads(child.stdout.readline())

        yield epoch
        child.stdin.close()


def serve_epochs(data, open_pool):
    """The loader's side of remote_epochs()."""
    pools = {}
    for line in sys.stdin:
        config, batch, seed = json.loads(line)
        pool = pools.setdefault(config, None) or open_pool(config)
        pools[config] = pool
        rate, good = data.epoch(pool, batch, seed)
        print(json.dumps([rate, good, pool.stats()["misses"]]), flush=True)


def plain_reads(link, program, mebibytes, data):
    """GB/s of fi_read over the link, as many reads as there are records. Its server polls without a
    pause, so it lives for this long and takes no core from the other sides."""
    with subprocess.Popen([*link.nodes, program, "serve", "tcp", NODES, str(mebibytes)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        where = server.stdout.readline().strip()
        done = subprocess.run([*link.loader, program, "read", where, str(data.size), str(data.records)],
                              capture_output=True, text=True, check=True)
        server.stdin.close()
    return float(done.stdout)
