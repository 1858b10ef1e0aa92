"""tributary-poold among honest loaders, loaders and operators that lie, a hostile node, and hostile stores."""

import collections
import contextlib
import os
import shutil
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import pool_wire as wire
import stores
from attack import Attack, Held
from hostile_node import HostileNode
from hostile_store import HostileStore, mapped_client
from mutate import mutate
from streams import connect_tcp, connect_unix, http_attack, stream_attack
from testbed.free_port import free_port
from testbed.process import Process
from testbed.tree import binary

RECORDS, BYTES = 4000, 4096
_BATCH = 64
_LIARS = 8  # a loader tries each of them again only after a while
_SIGNED = {"AWS_ACCESS_KEY_ID": stores.KEY, "AWS_SECRET_ACCESS_KEY": stores.SECRET}


class Pool:
    """One pool of this machine: its file, and its one node that is no liar."""

    def __init__(self, bed, memory, name, store, liars=()):
        self.name, self.port, self.metrics = name, free_port(), free_port()
        self.memory = memory / name
        self.socket = Path(f"{self.memory}.sock")
        self.manifest_file = bed.folder / f"{name}.manifest"
        self.config = self._write(bed, "", store, "")
        # The loader that is lied to knows more nodes than the node that is honest.
        self.with_liars = self._write(bed, "-liars", store, "".join(
            f'    - {{name: h{number}, address: "{liar}", memory: {memory}/h{number}, megabytes: 64}}\n'
            for number, liar in enumerate(liars)))
        done = subprocess.run([binary(bed.tools, "tributary"), "pool", "fill", "--manifest", "--config", self.config],
                              capture_output=True, text=True, timeout=120, env={**os.environ, **_SIGNED}, check=False)
        assert done.returncode == 0, done.stderr
        self.manifest = struct.unpack_from("<Q", self.manifest_file.read_bytes(), 48)[0]

    def _write(self, bed, suffix, store, more):
        file = bed.folder / f"{self.name}{suffix}.yaml"
        file.write_text(
            f"pool:\n  name: {self.name}\n  nodes:\n"
            f'    - {{name: a, address: "127.0.0.1:{self.port}", memory: {self.memory}, megabytes: 64, '
            f'metrics_listen: "127.0.0.1:{self.metrics}"}}\n{more}'
            f'  dataset: {{store: "{store}", manifest: {self.manifest_file}, format: fixed, record_bytes: {BYTES}}}\n'
            "  prefetch: {retries: 2, backoff: 1ms, backoff_max: 20ms, stall_timeout: 2s, connect_timeout: 2s}\n",
            encoding="utf-8")
        return file

    def start(self, bed):
        bed.daemon(f"poold of {self.name}", [binary(bed.build, "tributary-poold"), "--config", self.config,
                                             "--node", "a"], "^ready", env=_SIGNED)

    def greet(self, connection, random, reads=1):
        return wire.greet(connection, self.name.encode(), self.manifest, random.randbytes(16), reads)

    def messages(self):
        """Frames as loaders and operators send them, without the greeting's proof."""
        hello = wire.hello(self.name.encode(), self.manifest, bytes(16))
        return [hello, hello + wire.frame(wire.PROOF, bytes(33)), wire.hello(b"other", 1, bytes(16)),
                wire.frame(wire.STATUS), wire.ids(wire.LOOKUP, list(range(100))), struct.pack("<IH", 1 << 20, 1),
                struct.pack("<IH", 2**32 - 1, 7)]


def loader_attack(seed, rate, pool):
    """Greets as it should, and goes on as it should not."""
    held = Held(40)

    def requests(random):
        numbers = [random.choice((random.randrange(RECORDS), 2**64 - 1, RECORDS)) for _ in range(random.randrange(200))]
        record = struct.pack("<QQII", random.randrange(RECORDS + 2), random.getrandbits(64), 100, random.randrange(5))
        return [wire.ids(wire.LOOKUP, numbers), wire.frame(wire.TABLE, struct.pack("<Q", random.choice((0, 1, 2**64 - 1)))),
                wire.frame(wire.RENEW, struct.pack("<QQ", random.choice((0, 1, 2**63)), random.getrandbits(64))),
                wire.frame(wire.CORRUPT, record), wire.frame(wire.STATUS), wire.frame(wire.OPERATE, random.randbytes(32)),
                wire.command(random.randrange(8), random.randrange(RECORDS), random.getrandbits(64)),
                wire.ids(wire.LOOKUP, list(range(130_000)))]

    def turn(attack):
        random = attack.random
        kind = random.choice(("asks", "mutated", "mutated", "deaf", "keeps", "half"))
        connection = connect_tcp(pool.port)
        try:
            pool.greet(connection, random, random.choice((0, 1, 1, 255)))
            asked = requests(random)
            for _ in range(random.randrange(1, 20)):
                message = random.choice(asked)
                if kind == "mutated" and random.random() < 0.5:
                    message = mutate(random, message, random.choice((0, 4, 6)))
                attack.note(kind, message)
                connection.sendall(message)
                if kind == "asks":
                    wire.read_frame(connection)
            if kind == "deaf":
                connection.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    for _ in range(200):
                        connection.send(asked[1] + asked[0])
            if kind == "half":
                connection.sendall(random.choice(asked)[:5])
            if kind in ("deaf", "keeps", "half"):
                held.add(connection)
                connection = None
        finally:
            if connection is not None:
                connection.close()
        return kind

    return Attack("loaders that lie", seed, rate, turn, held.close)


def mapped_attack(seed, rate, pool):
    """Asks for the memory with wrong keys, right ones, and none; keeps some connections."""
    held, known = Held(100), []

    def turn(attack):
        random = attack.random
        if not known:
            with connect_tcp(pool.port) as connection:
                known.append(pool.greet(connection, random))
        kind = random.choice(("right", "wrong", "short", "silent", "descriptor"))
        connection = mapped_client(known[0].address)
        if kind == "silent":
            held.add(connection)
            return kind
        with connection:
            key = struct.pack("<Q", known[0].key if kind in ("right", "descriptor") else random.getrandbits(64))
            attack.note(kind, key)
            if kind == "descriptor":
                socket.send_fds(connection, [key], [connection.fileno()] * 3)
            else:
                connection.send(key[:3] if kind == "short" else key)
            _, passed, *_ = socket.recv_fds(connection, 16, 4)
            for fd in passed:
                os.close(fd)
        return kind

    return Attack("mapped memory", seed, rate, turn, held.close)


def filler(seed, rate, pool):
    """An operator: evicts records and fills the node again, from a store that lies."""

    def turn(attack):
        random = attack.random
        with connect_unix(pool.socket, 5) as connection:
            pool.greet(connection, random, 0)
            kind = random.choice((wire.FILL, wire.FILL, wire.EVICT, wire.VERIFY, wire.PIN, wire.UNPIN))
            first = random.randrange(RECORDS)
            connection.sendall(wire.command(kind, first, random.randrange(1, RECORDS)))
            attack.note("command", bytes((kind,)))
            answer, _ = wire.read_frame(connection)
        return f"command {kind}, answer {answer}"

    return Attack(f"operator of {pool.name}", seed, rate, turn)


def set_up(bed):
    memory = Path(tempfile.mkdtemp(prefix="tributary-hostile-", dir="/dev/shm"))
    bed.enter(contextlib.ExitStack()).callback(shutil.rmtree, memory, True)
    data = bed.folder / "data"
    data.mkdir()
    reader = binary(bed.build, "read_records")
    subprocess.run([binary(bed.tools, "read_records"), "make", data / "records.bin", str(RECORDS), str(BYTES)],
                   check=True, timeout=120)
    nodes = [bed.enter(contextlib.closing(HostileNode(f"{bed.seed} {number}"))) for number in range(_LIARS)]
    honest = Pool(bed, memory, "honest", f"file://{data}", [node.address for node in nodes])
    liars = [bed.enter(contextlib.closing(HostileStore(kind, data, f"{bed.seed} {kind.__name__}")))
             for kind in (stores.S3, stores.WebHdfs)]
    pools = [Pool(bed, memory, name, liar.url) for name, liar in zip(("s3", "webhdfs"), liars)]
    for pool in (honest, *pools):
        pool.start(bed)
    with connect_unix(honest.socket, 30) as connection:
        wire.greet(connection, b"honest", honest.manifest, bytes(16), 0)
        connection.sendall(wire.command(wire.FILL, 0, RECORDS))
        wire.read_frame(connection)
    bed.tenant("loader, records", lambda on_line: Process(
        bed.loop, "loader", [binary(bed.tools, "read_records"), "repeat", honest.config, _BATCH],
        bed.folder / "loader.log", on_line=on_line))
    for name, config in (("with nodes that lie", honest.with_liars), ("with a store that lies", pools[1].config)):
        bed.victim(f"loader {name}", [reader, "repeat", config, _BATCH], env=_SIGNED,
                   may_fail=config is not honest.with_liars)
    bed.liars += liars
    messages = honest.messages()
    bed.attack(stream_attack("garbage at the port", bed.seed, bed.rate, lambda: connect_tcp(honest.port), messages))
    bed.attack(stream_attack("garbage at the operators' socket", bed.seed, bed.rate / 4,
                             lambda: connect_unix(honest.socket), messages))
    bed.attack(loader_attack(bed.seed, bed.rate / 2, honest))
    bed.attack(mapped_attack(bed.seed, bed.rate / 2, honest))
    bed.attack(http_attack("http", bed.seed, bed.rate / 4, lambda: connect_tcp(honest.metrics)))
    for pool in pools:
        bed.attack(filler(bed.seed, bed.rate / 20, pool))
    did = [node.did for node in nodes]
    bed.facts.append(lambda: f"nodes that lie: {dict(sorted(sum(did, collections.Counter()).items()))}")
    for pool, liar in zip(pools, liars):
        bed.facts.append(lambda pool=pool, liar=liar: f"store of {pool.name}: {dict(sorted(liar.told.items()))}")
