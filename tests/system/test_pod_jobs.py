"""Jobs in containers on two hosts: places and admission come at once, ranks sum through the switches
of their hosts, and nothing is left (C2), over kill -9 of the manager."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml
from placement_bed import LIMIT_S, TENANT, Placement, gang, pod, started
from testbed.namespace import Namespace, add_veth
from testbed.tree import TOP, binary, module_directory

TRAINING_S = 240
MANIFEST = TOP / "examples/pods/train.yaml"
PORTS = 2  # of each host, for containers
SUMS = """
import os, numpy as np, tributary
with tributary.init(job=int(os.environ["TRIBUTARY_JOB"])) as communicator:
    rounds = int(os.environ["ROUNDS"])
    while rounds:
        values = np.full(1000, communicator.rank + 1, np.int32)
        communicator.allreduce(values).wait()
        print(values[0], flush=True)
        rounds -= 1
"""


class Hosts(Placement):
    """Hosts h0 and h1, each a network namespace with a switch, an agent and two ports for
    containers; a cable between the switches, A above B."""

    MANAGER_OPTIONS = ("--load-below", 1)  # the machine may be busy with other tests

    def __init__(self, loop, folder):
        super().__init__(loop, folder)
        self.hosts = {name: Namespace() for name in ("h0", "h1")}
        self.switches = {}
        add_veth(self.hosts["h0"], "down", self.hosts["h1"], "up", 1500)
        subprocess.run(
            [TOP / "examples/pods/make_root", folder / "roots/train"], check=True, timeout=LIMIT_S,
            env={**os.environ, "PYTHONPATH": str(module_directory(self.build))},
        )  # fmt: skip

    def _switch(self, number, name, cable, **more):
        ports = [{"name": cable, "devargs": f"net_af_packet0,iface={cable},qdisc_bypass=1"}]
        for i in range(PORTS):
            socket = self.folder / f"ports/{name}{i}/memif"
            socket.parent.mkdir(parents=True)
            device = f"net_memif{i},id=0,socket={socket},socket-abstract=no,role=server"
            ports.append({"name": f"p{i}", "devargs": device})
        return {
            "name": name, "id": number, "address": f"10.77.0.{200 + number}", "ports": ports,
            "memory": {"megabytes": 64, "reserve_megabytes": 16}, "slots": 128,
            "control": {"socket": str(self.folder / f"{name}.sock")}, **more,
        }  # fmt: skip

    def topology(self):
        below = {"parent": "A", "parent_port": "down", "uplink": "up"}
        return {
            "switches": [self._switch(1, "A", "down"), self._switch(2, "B", "up", **below)],
            "workers": [
                {"name": f"{name.lower()}{i}", "switch": name, "port": f"p{i}", "node": host}
                for name, host in (("A", "h0"), ("B", "h1"))
                for i in range(PORTS)
            ],
        }

    def start(self):
        self.start_podman()
        (self.folder / "topology.yaml").write_text(yaml.safe_dump(self.topology()))
        (self.folder / "tenants.yaml").write_text(f"tenants: [{{name: {TENANT}}}]\n")
        self.start_manager()
        for name, host in (("A", "h0"), ("B", "h1")):
            (self.folder / f"run-{name}").mkdir()
            self.switches[name] = self._start(
                f"switchd-{name}-",
                [
                    *(binary(self.build, "tributary-switchd"), "--node", name),
                    *("--config", self.folder / "topology.yaml"),
                    *("--assigned", self.folder / f"{name}.assigned"),
                ],
                r"\bready\b",
                namespace=self.hosts[host],
                env={"RUNTIME_DIRECTORY": str(self.folder / f"run-{name}")},
            )
        for host in self.hosts:
            self.declare(host, 0)
            self.start_host_agent(host)
        self.wait(lambda: len(self.ask("device")) == 2 * PORTS, "both nodes have reported")
        self.wait(
            lambda: all(sw["connected"] for sw in self.ask("topology")["switches"]), "both switches"
        )

    def start_host_agent(self, host):
        socket = self.folder / ("A.sock" if host == "h0" else "B.sock")
        self.start_agent(host, "--switch", socket, namespace=self.hosts[host])

    def phases(self, name, count):
        return [self.phase(f"{name}-{i}") for i in range(count)]

    def lines(self, name):
        """What a pod's container has printed."""
        done = self.run("pod", "logs", name)
        return done.stdout.splitlines() if done.returncode == 0 else []

    def log_of(self, container):
        """The file that podman writes its output to."""
        return Path(json.loads(self.libpod(f"{container}/json"))["HostConfig"]["LogConfig"]["Path"])

    def remove(self, name, count):
        for i in range(count):
            assert self.run("pod", "delete", f"{name}-{i}", "--wait").returncode == 0
        assert self.run("pod", "delete", name, "--group").returncode == 0

    def is_idle(self):
        """Nothing of a job is left, neither in the store nor on a switch."""
        return (
            self.ask("job", "list") == []
            and all(sw["slots_used"] == 0 for sw in self.ask("topology")["switches"])
            and self.free() == 2 * PORTS
        )

    def stop(self):
        super().stop()
        for host in self.hosts.values():
            host.close()


def rank_pods(name, count, rounds, **spec):
    pods = []
    for i in range(count):
        made = pod(f"{name}-{i}", devices=0, policy="Never", **spec)
        made["spec"]["schedulingGroup"] = {"podGroupName": name}
        container = made["spec"]["containers"][0]
        container["image"] = "rootfs:train"
        container["command"] = ["/usr/bin/python3", "-c", SUMS]
        container["env"] = [
            {"name": "ROUNDS", "value": str(rounds)},
            {"name": "OPENBLAS_NUM_THREADS", "value": "1"},
        ]
        container["resources"]["limits"]["memory"] = "512Mi"
        pods.append(made)
    return pods


@pytest.fixture(scope="module")
def cluster():
    with started(Hosts) as made:
        yield made


@pytest.fixture
def hosts(cluster):
    yield cluster
    groups = set()
    for left in cluster.ask("pod", "get"):
        groups.add(left["group"])
        cluster.run("pod", "delete", left["name"], "--wait")
    for group in groups:
        cluster.run("pod", "delete", group, "--group")


def test_c2_a_manifest_trains_on_two_hosts_and_leaves_nothing(hosts):
    done = hosts.run("pod", "create", MANIFEST)
    assert done.returncode == 0 and "podgroup/train created" in done.stdout, done.stderr
    pods = [hosts.ask("pod", "get", f"train-{i}") for i in range(4)]
    assert sorted(p["node"] for p in pods) == ["h0", "h0", "h1", "h1"], pods[0]["message"]
    assert [p["seat"]["rank"] for p in pods] == [0, 1, 2, 3]
    assert sorted(p["seat"]["port"] for p in pods) == ["a0", "a1", "b0", "b1"]
    (job,) = hosts.ask("job", "list")
    assert {m["worker"] for m in job["members"]} == {"a0", "a1", "b0", "b1"}
    refused = hosts.run("job", "cancel", "train")
    assert "ends with the pods of podgroup train" in refused.stderr
    hosts.loop.wait(
        lambda: not {"Pending", "Running"} & set(hosts.phases("train", 4)), TRAINING_S, "the end"
    )
    assert hosts.phases("train", 4) == ["Succeeded"] * 4, hosts.lines("train-0")
    reports = [
        next(json.loads(line) for line in hosts.lines(f"train-{i}") if '"done"' in line)
        for i in range(4)
    ]
    assert len({report["sha256"] for report in reports}) == 1, "all ranks have the same model"
    assert reports[0]["accuracy"] > 0.6
    hosts.wait(hosts.is_idle, "the job has ended with its pods")
    hosts.remove("train", 4)
    assert hosts.containers() == {} and hosts.ask("pod", "get") == []


def test_c2_ranks_of_one_host_run_on_while_the_manager_is_killed(hosts):
    file = hosts.manifest("sum", gang("sum", 2, {}), *rank_pods("sum", 2, 10**9, nodeName="h1"))
    assert hosts.run("pod", "create", file, "--wait").returncode == 0
    described = hosts.run("pod", "describe", "sum-1").stdout
    assert "rank 1 of 2, port b" in described
    hosts.wait(lambda: "3" in hosts.lines("sum-0"), "a sum")
    before = {name: rows[0]["Id"] for name, rows in hosts.containers().items()}
    hosts.managerd.signal(9)
    hosts.managerd.wait_exit(LIMIT_S)
    log = hosts.log_of(before["sum-1"])
    size = log.stat().st_size
    hosts.wait(lambda: log.stat().st_size > size, "more sums without a manager")
    hosts.start_manager()
    hosts.wait(lambda: hosts.phases("sum", 2) == ["Running"] * 2, "the ranks run on")
    assert {name: rows[0]["Id"] for name, rows in hosts.containers().items()} == before
    assert set(hosts.lines("sum-1")) == {"3"}
    for name in before:
        assert hosts.run("pod", "delete", name, "--wait").returncode == 0
    assert hosts.run("pod", "delete", "sum", "--group").returncode == 0
    hosts.wait(hosts.is_idle, "the job has ended with its pods")


def test_c2_without_slots_a_pod_waits_or_goes_elsewhere(hosts):
    def create(name, rounds, job, **spec):
        file = hosts.manifest(name, gang(name, 1, job), *rank_pods(name, 1, rounds, **spec))
        assert hosts.run("pod", "create", file).returncode == 0
        return hosts.ask("pod", "get", f"{name}-0")

    assert create("first", 10**9, {"window": 128}, nodeName="h0")["node"] == "h0"
    second = create("second", 1, {"window": 64}, nodeName="h0")
    assert second["node"] == ""
    assert "job second: needs 64 slots at A, which has 128 and 128 in use" in second["message"]
    assert create("third", 1, {"window": 64})["node"] == "h1"
    assert {job["name"] for job in hosts.ask("job", "list")} == {"first", "third"}
    assert hosts.run("pod", "delete", "first-0", "--wait").returncode == 0
    hosts.wait(lambda: hosts.phases("second", 1) == ["Succeeded"], "the slots are free")


def test_c2_what_ends_by_itself_leaves_nothing(hosts):
    pods = rank_pods("brief", 2, 1)
    for one in pods:
        one["metadata"]["annotations"] = {"tributary/ttl-seconds-after-finished": "0"}
    file = hosts.manifest("brief", gang("brief", 2, {}), *pods)
    assert hosts.run("pod", "create", file).returncode == 0
    hosts.wait(lambda: hosts.ask("pod", "get") == [], "no record is left")
    assert hosts.containers() == {} and hosts.is_idle()
    assert "there is no podgroup" in hosts.run("pod", "delete", "brief", "--group").stderr


def test_c2_the_whole_gang_starts_again_where_a_node_is_lost(hosts):
    pods = rank_pods("gang", 2, 10**9)
    for one in pods:
        one["spec"]["restartPolicy"] = "OnFailure"
    file = hosts.manifest("gang", gang("gang", 2, {}), *pods)
    assert hosts.run("pod", "create", file, "--wait").returncode == 0
    lost = hosts.ask("pod", "get", "gang-0")["node"]
    (kept,) = {"h0", "h1"} - {lost}
    first = hosts.ask("pod", "get", "gang-1")["instance"]
    hosts.kill_agent(lost)
    hosts.wait(
        lambda: [hosts.ask("pod", "get", f"gang-{i}")["node"] for i in range(2)] == [kept] * 2,
        "both are placed on the other host",
    )
    assert hosts.ask("pod", "get", "gang-1")["instance"] != first
    hosts.wait(lambda: hosts.phases("gang", 2) == ["Running"] * 2, "both run")
    hosts.wait(lambda: "3" in hosts.lines("gang-1"), "a sum")
    # The node's new agent ends what is left there.
    hosts.start_host_agent(lost)
    hosts.wait(lambda: sum(len(rows) for rows in hosts.containers().values()) == 2, "no stray")
