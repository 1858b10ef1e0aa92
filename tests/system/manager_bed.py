"""A manager and an agent beside a tree of real switches, what the client says, and certificates."""

import json
import random
import re
import signal
import subprocess
import urllib.error
import urllib.request

import yaml
from testbed.tree import binary

LIMIT_S = 50
SWITCHES = ("root", "A", "B")
WORKERS = ("a0", "a1", "a2", "b0", "b1")
# A rank of job "train", whose place the manager says: MANAGER WORKER [REQUEST]; five of them sum.
RANK = """
import json, sys
import numpy as np
import tributary
manager, worker, *request = sys.argv[1:]
with tributary.init(manager=manager, job="train", worker=worker, request=(request or [None])[0],
                    join_timeout=50.0) as communicator:
    values = np.full(1000, communicator.rank + 1, np.int32)
    communicator.allreduce(values).wait()
    assert (values == 15).all(), values
"""


def switch(number, name, ports, **more):
    return {
        "name": name,
        "id": number,
        "address": f"10.77.0.{200 + number}",
        "memory": {"megabytes": 64, "reserve_megabytes": 16},
        "ports": [
            {"name": port, "devargs": f"net_null{index}"} for index, port in enumerate(ports)
        ],
        **more,
    }


def tree():
    def leaf(number, name):
        ports = ["up", *(f"p{worker[1]}" for worker in WORKERS if worker[0] == name.lower())]
        return switch(number, name, ports, parent="root", parent_port=name.lower(), uplink="up")

    return {
        "switches": [switch(1, "root", ["a", "b"]), leaf(2, "A"), leaf(3, "B")],
        "workers": [
            {
                "name": name,
                "switch": name[0].upper(),
                "port": f"p{name[1]}",
                "address": f"10.77.1.{number + 1}",
            }
            for number, name in enumerate(WORKERS)
        ],
    }


class Cluster:
    """managerd and one agentd beside a bed of switches; the client's words."""

    def __init__(self, bed, folder):
        self.bed, self.folder = bed, folder
        self.socket = folder / "manager.sock"
        self.tenants = folder / "tenants.yaml"
        self.tenants.write_text("tenants: [{name: vision}, {name: speech, quota: {jobs: 1}}]\n")
        self.manager = None
        self._count = 0

    def _start(self, name, *arguments):
        self._count += 1
        process = self.bed.start(
            f"{name}{self._count}", [binary(self.bed.build, name), *arguments], "manager"
        )
        process.wait_line("^ready", LIMIT_S)
        return process

    def start_manager(self, *more, socket=None):
        self.manager = self._start(
            "tributary-managerd",
            *("--store", f"sqlite:{self.folder}/state.db"),
            *("--topology", self.bed.run / "topology.yaml", "--tenants", self.tenants),
            *("--socket", socket or self.socket, "--http", "127.0.0.1:0", *more),
        )
        return self.manager

    def kill_manager(self):
        self.manager.signal(signal.SIGKILL)
        self.manager.wait_exit(LIMIT_S)

    def start_agent(self, *more, switches=SWITCHES, state="agent"):
        sockets = [word for name in switches for word in ("--switch", self.bed.socket(name))]
        target = more or ("--manager", f"unix:{self.socket}")
        state = ("--state", self.folder / state)
        return self._start("tributary-agentd", *target, *state, *sockets)

    def run(self, *arguments, manager=None):
        command = [binary(self.bed.build, "tributary"), *map(str, arguments)]
        target = manager or ("--manager", f"unix:{self.socket}")
        return subprocess.run(
            [*command, *map(str, target)], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )

    def ask(self, *arguments, **more):
        done = self.run(*arguments, "--json", **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def request(self, job, tenant="vision", **more):
        file = self.folder / f"{job['name']}.yaml"
        file.write_text(yaml.safe_dump({"tenant": tenant, **more, "job": job}))
        return file

    def submit(self, job, *words, **more):
        return self.ask("job", "submit", self.request(job, **more), *words)

    def wait(self, condition, what):
        self.bed.loop.wait(condition, LIMIT_S, what)

    def is_idle(self):
        """Nothing of a job is left, neither in the store nor on a switch."""
        topology = self.ask("topology")
        return (
            self.ask("job", "list") == []
            and all(sw["slots_used"] == 0 and sw["bytes_used"] == "0" for sw in topology["switches"])
            and all(self.bed.show(name, "jobs") == [] for name in SWITCHES)
        )

    def healthz(self):
        port = int(re.search(r"HTTP port (\d+)", self.manager.text())[1])
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=LIMIT_S) as page:
                return page.status, page.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


def managed_switches(make_tree, folder):
    """A bed of tree()'s switches, which take jobs from a manager."""
    file = folder / "tree.yaml"
    file.write_text(yaml.safe_dump(tree()))
    return make_tree(file, assigned=True)


def started_cluster(bed, folder):
    made = Cluster(bed, folder)
    made.start_manager()
    made.start_agent()
    return made


def kill_when(cluster, client, name, chance):
    """Returns at any instant, or once the manager has decided, or when the client has its answer."""
    told = chance.choice(("", "queued", "admitted", "answered"))
    if told == "":
        for _ in range(chance.randrange(200)):
            cluster.bed.loop.turn(0.004)
        return
    cluster.wait(
        lambda: not client.running
        or any(told in line and name in line for line in cluster.manager.stderr),
        f"{name} is {told}",
    )


def kills_at_any_instant(cluster, job, turns):
    """Jobs are submitted and cancelled while the manager is killed: none is lost or decided twice."""
    chance = random.Random(7)
    told = {}  # name -> id, of jobs whose submission was answered
    for turn in range(turns):
        name = f"job{turn}"
        file = cluster.request({**job, "name": name})
        client = cluster.bed.start(
            f"submit{turn}",
            [binary(cluster.bed.build, "tributary"), "job", "submit", file, "--json"]
            + ["--manager", f"unix:{cluster.socket}"],
            "manager",
        )
        kill_when(cluster, client, name, chance)
        cluster.kill_manager()
        cluster.start_manager()
        client.wait_exit(LIMIT_S)
        if client.returncode == 0:
            told[name] = json.loads(client.text())["id"]
        here = {row["name"]: row["id"] for row in cluster.ask("job", "list")}
        # One that still waits has no id yet.
        kept = {name: here.get(name) for name in told if told[name] != 0}
        assert here.keys() >= told.keys(), "a job that was answered is lost"
        assert kept.items() <= told.items(), "a job has another id"
        given = [number for number in here.values() if number != 0]
        assert len(set(given)) == len(given)
        told = here
        if turn % 3 == 2 and told:
            gone = chance.choice(sorted(told))
            assert cluster.run("job", "cancel", gone).returncode == 0
            del told[gone]
    cluster.wait(
        lambda: all(row["state"] == "RUNNING" for row in cluster.ask("job", "list")),
        "all jobs run",
    )
    on_switches = {row["job"] for name in SWITCHES for row in cluster.bed.show(name, "jobs")}
    assert on_switches == {row["id"] for row in cluster.ask("job", "list")}
    for name in told:
        assert cluster.run("job", "cancel", name).returncode == 0
    cluster.wait(cluster.is_idle, "everything is free")


class Authority:
    """Certificates for a test."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self._key("ca")
        self._openssl("req", "-x509", "-key", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca")

    def _openssl(self, *arguments):
        subprocess.run(
            ["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=LIMIT_S
        )

    def _key(self, name):
        self._openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")

    def make(self, name, names, days=2):
        self._key(name)
        subject = ("-subj", f"/CN={name}", "-addext", f"subjectAltName={names}")
        self._openssl("req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr", *subject)
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", "-days", str(days)),
            *("-CA", "ca.pem", "-CAkey", "ca.key", "-copy_extensions", "copy"),
        )

    def words(self, name, ca=None):
        return (
            *("--tls-ca", (ca or self.folder) / "ca.pem"),
            *("--tls-cert", self.folder / f"{name}.pem", "--tls-key", self.folder / f"{name}.key"),
        )
