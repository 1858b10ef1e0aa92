"""tributary-switchd between two honest ranks and hostile machines, memif clients, and bad control clients."""

import collections
import contextlib
import json
import socket
import time
from pathlib import Path

import yaml
from ground import Failed
from frames import Frames, frame_attack
from inside import inside, raw_socket
from memif_client import memif_attack
from streams import connect_tcp, connect_unix, http_attack, stream_attack
from testbed.free_port import free_port
from testbed.namespace import Namespace, add_veth
from testbed.process import Process
from testbed.tree import PYTHON, binary, module_directory

_FOLDER = Path(__file__).resolve().parent
_MEMIF = "net_memif{0},id={0},socket={1},socket-abstract=no,rsize=10,bsize=9728,role=server"
_PACKETS = "net_af_packet{0},iface={1},qdisc_bypass=1,framesz=16384,blocksz=65536"
_MTU = 9000
_ANY = 0xFFFFFFFF
_SHOW_S = 10
# Requests that only read: whoever may use the socket may also change the switch, which is no attack.
_REQUESTS = [json.dumps({"command": "show", "what": what}).encode() + b"\n"
             for what in ("jobs", "ports", "drops", "fdb", "buffers", "op 1/3", "overrides", "qps", "stragglers")]
_REQUESTS += [b'{"command":"show"}\n', b"{" * 3000 + b"\n", b'{"command":["show"],"what":{}}\n', b"a" * 5000,
              b'{"command":"show","what":"\xff\xfe"}\n', b'{"command":"capture","filter":"nonsense ((("}\n', b"\n"]


def configuration(bed, sink):
    memif = bed.folder / "switch.memif"
    ports = [{"name": name, "devargs": _MEMIF.format(number, memif), "mtu": _MTU}
             for number, name in enumerate(("w0", "w1", "m2", "m3"))]
    ports += [{"name": name, "devargs": _PACKETS.format(number, name), "mtu": _MTU, "rdma": name == "x1"}
              for number, name in enumerate(("x0", "x1"))]
    common = {"window": 64, "chunk_bytes": 8192}
    return {
        "switch": {"name": "hostile", "address": "10.77.0.254", "memory": {"hugepages": False, "megabytes": 512},
                   "fragments": {"datagrams": 16}, "names": {"megabytes": 4, "segment_bytes": 4096},
                   "telemetry": {"node_id": 1, "report_to": f"127.0.0.1:{sink}",
                                 "ports": [{"port": "x1", "trusted": True, "mbps": 1000}]}},
        "ports": ports,
        "jobs": [
            {"id": 1, "name": "honest", "workers": 2, **common,
             "members": [{"rank": rank, "port": f"w{rank}"} for rank in range(2)]},
            {"id": 2, "name": "hostile", "workers": 3, "rdma": True, "window": 64, "chunk_bytes": 3968,
             "lease": "2s", "deadline": "2s",
             "telemetry": {"latency": True, "bandwidth": True, "every": 2}, "names": {"enabled": True}},
        ],
        "control": {"socket": str(bed.folder / "switchd.sock")},
        "metrics": {"listen": f"127.0.0.1:{free_port()}"},
    }


def show(path, what):
    """The control socket's answer."""
    with connect_unix(path, _SHOW_S) as connection:
        connection.sendall(json.dumps({"command": "show", "what": what}).encode() + b"\n")
        return json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))


class Operator:
    """Asks the switch what it counts, now and then."""

    def __init__(self, path):
        self._path, self._next, self.answers, self.slowest = path, 0.0, 0, 0.0
        self.drops = {}

    def look(self):
        begin = time.monotonic()
        if begin < self._next:
            return
        try:
            answer = show(self._path, "drops")
            Frames.epochs = {row["job"]: row["epoch"] for row in show(self._path, "jobs")["data"]}
        except (OSError, ValueError) as error:
            raise Failed(f"the control socket has no answer for the operator: {error}") from error
        self.answers += 1
        self.slowest = max(self.slowest, time.monotonic() - begin)
        self._next = begin + 0.5
        self.drops = collections.Counter()
        for row in answer["data"]:
            self.drops[row["reason"]] += row["packets"]

    def fact(self):
        drops = ", ".join(f"{reason} {count}" for reason, count in sorted(self.drops.items()))
        return f"operator: {self.answers} answers, the slowest after {self.slowest:.2f} s; dropped: {drops}"


def set_up(bed):
    here = bed.enter(Namespace())
    outside = [bed.enter(Namespace()) for _ in range(2)]
    for number, namespace in enumerate(outside):
        add_veth(here, f"x{number}", namespace, "eth0", _MTU)
    with inside(here):
        sink = bed.enter(contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
        sink.bind(("127.0.0.1", 0))
    config = configuration(bed, sink.getsockname()[1])
    file = bed.folder / "switchd.yaml"
    file.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    control = config["control"]["socket"]
    bed.daemon("switchd", [binary(bed.build, "tributary-switchd"), "--config", file,
                           "--overrides", bed.folder / "overrides"], r"\bready\b",
               namespace=here, env={"RUNTIME_DIRECTORY": str(bed.folder)})
    memif = bed.folder / "switch.memif"
    for rank in range(2):
        words = [PYTHON, "-B", _FOLDER / "rank.py", f"memif://{memif}?id={rank}&switch=10.77.0.254", 1, 2, rank]
        bed.tenant(f"rank {rank}, bytes", lambda on_line, words=words, rank=rank: Process(
            bed.loop, f"rank {rank}", words, bed.folder / f"rank{rank}.log", on_line=on_line,
            env={"PYTHONPATH": str(module_directory(bed.tools))}))
    operator = Operator(control)
    bed.checks.append(operator.look)
    bed.facts.append(operator.fact)
    for number, namespace in enumerate(outside):
        bed.attack(frame_attack(f"frames at x{number}", bed.seed, 5 * bed.rate, Frames(number), raw_socket(namespace, "eth0")))
    frames = Frames(2)
    bed.attack(memif_attack("memif, its own port", bed.seed, bed.rate, memif, (2, 3), frames))
    bed.attack(memif_attack("memif, any port", bed.seed, bed.rate / 2, memif, (_ANY, 0, 1, 2, 3, 4, 77), frames))
    bed.attack(stream_attack("control socket", bed.seed, bed.rate / 4, lambda: connect_unix(control), _REQUESTS))
    port = int(config["metrics"]["listen"].rsplit(":", 1)[1])

    def scrape():
        with inside(here):
            return connect_tcp(port)

    bed.attack(http_attack("http", bed.seed, bed.rate / 4, scrape))
