"""kill -9 and SIGSTOP of a pool's nodes and of its loaders under load (L1, L4): seeded, again and again.

A loader goes on with replicas and the store: every record comes exactly once, with the right bytes.

TRIBUTARY_SEED and TRIBUTARY_ROUNDS choose another run, or another length.
"""

import os
import random
import signal
import subprocess
import sys
import threading

import pytest

from bed import PoolBed, package
from records import RECORDS, record, write_files

FOLDER = package()
from tributary.data import Pool  # noqa: E402

SEED = int(os.environ.get("TRIBUTARY_SEED", "1"))
ROUNDS = int(os.environ.get("TRIBUTARY_ROUNDS", "30"))
BATCH = 8
PATIENCE_S = 60
# Epochs for ever; says each batch that was right.
LOADER = """
import random, sys
sys.path[:0] = sys.argv[2:]
from records import RECORDS, record
from tributary.data import Pool
pool = Pool(sys.argv[1])
dice = random.Random(5)
ids = list(range(RECORDS))
while True:
    dice.shuffle(ids)
    for first in range(0, RECORDS, 8):
        some = ids[first : first + 8]
        for number, data in zip(some, pool.get_batch(some)):
            assert bytes(data) == record(number), number
        print("batch", flush=True)
"""


def load_epoch(pool, dice, at=None, do=None):
    """Every record once, right bytes; calls do() before the batch of this number."""
    ids = list(range(RECORDS))
    dice.shuffle(ids)
    for first in range(0, RECORDS, BATCH):
        if first // BATCH == at:
            do()
        some = ids[first : first + BATCH]
        for number, data in zip(some, pool.get_batch(some), strict=True):
            assert bytes(data) == record(number), f"record {number}"


def wait_until(condition, what):
    """Asks again and again: the daemons tell of no change."""
    over = threading.Event()
    timer = threading.Timer(PATIENCE_S, over.set)
    timer.start()
    try:
        while not condition():
            assert not over.is_set(), what
    finally:
        timer.cancel()


@pytest.fixture(params=["auto", "tcp"])
def bed(request, tmp_path):
    files = write_files(tmp_path / "data")
    with PoolBed(tmp_path, f"file://{files}", nodes=3, replicas=1, transport=request.param) as made:
        yield made.ready()


def test_l1_nodes_killed_and_stopped_at_any_instant_lose_nothing(bed):
    dice = random.Random(SEED)
    pool = Pool(bed.config)
    for number in range(ROUNDS):
        victim, stops = dice.choice(bed.names), dice.random() < 0.5
        print(f"seed {SEED} round {number}: {'stop' if stops else 'kill'} {victim}")
        process = bed.processes[victim]

        def strike():
            process.send_signal(signal.SIGSTOP if stops else signal.SIGKILL)

        instant = threading.Timer(dice.uniform(0, 0.01), strike)
        load_epoch(pool, dice, dice.randrange(RECORDS // BATCH), instant.start)
        instant.join()
        if stops:
            process.send_signal(signal.SIGCONT)
        else:
            process.wait()
            bed.start(victim)
    wait_until(lambda: all(node["up"] for node in pool.nodes()), "the loader is back at all nodes")
    before = pool.stats()
    load_epoch(pool, dice)
    after = pool.stats()
    assert after["misses"] == before["misses"], "the nodes hold what they held"
    assert after["hits"] == before["hits"] + RECORDS
    rows = bed.status().values()
    assert all(row["records"] == row["of"] and row["corrupt"] == 0 for row in rows), rows


class Loader:
    """A process that loads without end."""

    def __init__(self, bed):
        folders = [str(FOLDER), os.path.dirname(os.path.abspath(__file__))]
        self.process = subprocess.Popen([sys.executable, "-c", LOADER, bed.config, *folders],
                                        stdout=subprocess.PIPE, text=True)
        self._batches, self._ended, self._changed = 0, False, threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._changed:
                self._batches += line == "batch\n"  # a kill may cut the last one
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def more(self, batches):
        """So many more batches were right."""
        with self._changed:
            wanted = self._batches + batches
            assert self._changed.wait_for(lambda: self._ended or self._batches >= wanted, PATIENCE_S)
            assert not self._ended, "the loader has failed"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()


def test_l4_loaders_killed_and_stopped_at_any_instant_leave_nothing(bed):
    dice = random.Random(SEED)
    stays = Loader(bed)
    try:
        for number in range(ROUNDS):
            stops = dice.random() < 0.5
            print(f"seed {SEED} round {number}: {'stop' if stops else 'kill'}")
            victim = Loader(bed)
            try:
                victim.more(dice.randrange(1, RECORDS // BATCH))
                if stops:  # meanwhile the nodes drop what it knows, and fill again
                    victim.process.send_signal(signal.SIGSTOP)
                    part = ("--first", str(dice.randrange(RECORDS - 50)), "--count", "50")
                    bed.command("evict", *part)
                    bed.command("fill", *part)
                    victim.process.send_signal(signal.SIGCONT)
                    victim.more(RECORDS // BATCH)
            finally:
                victim.kill()
            stays.more(1)
    finally:
        stays.kill()
    wait_until(lambda: all(row["leases"] == 0 for row in bed.status().values()), "leases have ended")
    bed.command("fill")
    rows = bed.status().values()
    assert all(row["records"] == row["of"] and row["waiting_bytes"] == 0 for row in rows), rows


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
