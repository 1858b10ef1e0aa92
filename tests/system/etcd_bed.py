"""Several managers on an etcd of three members, each of which can be killed, stopped and started again."""

import json
import signal
import subprocess

from manager_bed import LIMIT_S, Cluster
from testbed.free_port import free_port

MEMBERS = ("e1", "e2", "e3")
MANAGERS = ("m1", "m2", "m3")


def free_ports(count):
    ports = set()
    while len(ports) < count:
        ports.add(free_port())
    return list(ports)


class Etcd:
    """Ready when made: there is a quorum."""

    def __init__(self, bed, folder):
        self._bed, self._folder = bed, folder
        ports = free_ports(2 * len(MEMBERS))
        self._client = dict(zip(MEMBERS, ports, strict=False))
        self._peer = dict(zip(MEMBERS, ports[len(MEMBERS) :], strict=False))
        self.processes = {}
        for name in MEMBERS:
            self.start(name)
        bed.loop.wait(self.answers, LIMIT_S, "etcd has a quorum")

    @property
    def store(self):
        return "etcd:" + ",".join(f"127.0.0.1:{port}" for port in self._client.values())

    def start(self, name):
        def url(ports, member):
            return f"http://127.0.0.1:{ports[member]}"

        self.processes[name] = self._bed.start(
            f"{name}-{len(self.processes)}",
            ["etcd", "--name", name, "--data-dir", self._folder / name, "--logger", "zap"]
            + ["--listen-client-urls", url(self._client, name)]
            + ["--advertise-client-urls", url(self._client, name)]
            + ["--listen-peer-urls", url(self._peer, name)]
            + ["--initial-advertise-peer-urls", url(self._peer, name)]
            + ["--initial-cluster", ",".join(f"{member}={url(self._peer, member)}" for member in MEMBERS)],
            "etcd",
        )  # fmt: skip

    def kill(self, *names):
        for name in names:
            self.processes[name].signal(signal.SIGKILL)
        for name in names:
            self.processes[name].wait_exit(LIMIT_S)

    def _control(self, *words):
        endpoints = ",".join(
            f"127.0.0.1:{port}"
            for name, port in self._client.items()
            if self.processes[name].running
        )
        return subprocess.run(
            ["etcdctl", "--endpoints", endpoints, "--command-timeout", "5s", *words],
            env={"ETCDCTL_API": "3", "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip

    def answers(self):
        return self._control("get", "none").returncode == 0

    def keys(self, prefix):
        done = self._control("get", "--prefix", "--keys-only", prefix)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.splitlines() if line]


class Managers(Cluster):
    """Three managers; `manager` is the one that led when it was last asked. Clients and agents know
    all three."""

    def __init__(self, bed, folder, lease_s=3):
        super().__init__(bed, folder)
        self.etcd = Etcd(bed, folder)
        self._lease_s = lease_s
        self.managers = {}
        self.socket = ",unix:".join(str(self.socket_of(name)) for name in MANAGERS)
        for name in MANAGERS:
            self._start_one(name)
        self.await_leader()

    def socket_of(self, name):
        return self.folder / f"{name}.sock"

    def only(self, name):
        return ("--manager", f"unix:{self.socket_of(name)}")

    def _start_one(self, name):
        self.managers[name] = self._start(
            "tributary-managerd",
            *("--store", self.etcd.store, "--lead-lease", self._lease_s, "--name", name),
            *("--topology", self.bed.run / "topology.yaml", "--tenants", self.tenants),
            *("--socket", self.socket_of(name), "--http", "127.0.0.1:0"),
        )

    def leads(self, name):
        process = self.managers[name]
        return process.running and self.run("job", "list", manager=self.only(name)).returncode == 0

    def leader(self):
        """The name of the manager that leads; none while none does."""
        return next((name for name in MANAGERS if self.leads(name)), None)

    def await_leader(self):
        self.wait(lambda: self.leader() is not None, "a manager leads")
        name = self.leader()
        assert name is not None
        self.manager = self.managers[name]
        return name

    def term(self):
        return int(json.loads(self.run("topology", "--json").stdout)["term"])

    def start_manager(self):
        """Starts again what was killed, and returns when a manager leads."""
        for name, process in self.managers.items():
            if not process.running:
                self._start_one(name)
        self.await_leader()
