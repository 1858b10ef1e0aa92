"""A manager, node agents and real podman on one machine, and manifests for them."""

import contextlib
import json
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import yaml
from testbed.loop import Loop
from testbed.process import Process
from testbed.tree import binary, build_directory

LIMIT_S = 60
LEASE_S = 6
KIND = "example.com/npu"
TENANT = "vision"
SWITCH = {
    "name": "leaf",
    "id": 1,
    "address": "10.77.0.201",
    "memory": {"megabytes": 64, "reserve_megabytes": 16},
    "ports": [{"name": f"p{i}", "devargs": f"net_null{i}"} for i in range(2)],
}
RUNTIME = ("--runtime", "runc", "--cgroup-manager", "cgroupfs")


@contextlib.contextmanager
def started(kind):
    """A Placement of that kind, stopped at the end. podman wants a short path."""
    with tempfile.TemporaryDirectory(prefix="pl-") as folder, Loop() as loop:
        made = kind(loop, Path(folder))
        try:
            made.start()
            yield made
        finally:
            made.stop()


class Placement:
    """A manager, podman's service in a mount namespace of its own, and agents of nodes n0 and n1."""

    MANAGER_OPTIONS = ()

    def __init__(self, loop, folder):
        self.loop, self.folder, self.build = loop, folder, build_directory()
        self.processes, self.agents, self._count = [], {}, 0
        self.manager = f"unix:{folder}/manager.sock"
        self.address = None  # that agents call the manager at; None: as clients do
        root = folder / "roots/busybox"
        for name in ("bin", "dev", "etc", "proc", "sys", "tmp", "run"):
            (root / name).mkdir(parents=True)
        shutil.copy("/bin/busybox", root / "bin/busybox")
        for name in ("sh", "sleep", "cat", "env", "ls", "true", "false"):
            (root / "bin" / name).symlink_to("busybox")
        (folder / "cdi").mkdir()

    def _start(self, name, argv, line=None, namespace=None, env=None):
        self._count += 1
        log = self.folder / f"{name}{self._count}.log"
        process = Process(self.loop, name, argv, log, namespace=namespace, env=env)
        self.processes.append(process)
        if line:
            process.wait_line(line, LIMIT_S)
        return process

    def topology(self):
        workers = [{"name": f"n{i}", "switch": "leaf", "port": f"p{i}"} for i in range(2)]
        return {"switches": [SWITCH], "workers": workers}

    def start(self):
        self.start_podman()
        (self.folder / "topology.yaml").write_text(yaml.safe_dump(self.topology()))
        (self.folder / "tenants.yaml").write_text(f"tenants: [{{name: {TENANT}}}]\n")
        self.start_manager()
        for node in ("n0", "n1"):
            self.declare(node, 2)
            self.start_agent(node)
        self.wait(lambda: len(self.ask("device")) == 4, "both nodes have reported")

    def start_manager(self):
        self.managerd = self._start(
            "managerd",
            [
                *(binary(self.build, "tributary-managerd"), "--http", "127.0.0.1:0"),
                *("--topology", self.folder / "topology.yaml"),
                *("--tenants", self.folder / "tenants.yaml"),
                *("--store", f"sqlite:{self.folder}/state.db", "--node-lease", LEASE_S),
                *("--socket", self.folder / "manager.sock", *self.MANAGER_OPTIONS),
            ],
            "^ready",
        )

    def start_podman(self):
        # podman looks for devices in /etc/cdi, which here is the test's own folder.
        words = " ".join(
            [
                f"mkdir -p /etc/cdi && mount --bind {self.folder}/cdi /etc/cdi &&",
                f"exec podman {' '.join(RUNTIME)} --root {self.folder}/storage",
                f"--runroot {self.folder}/run system service --time 0",
                f"unix://{self.folder}/podman.sock",
            ]
        )
        (self.folder / "podman.sock").unlink(missing_ok=True)
        self.podman = self._start("podman", ["unshare", "--mount", "bash", "-c", words])
        self.wait(lambda: self.containers() is not None, "podman answers")

    def declare(self, node, devices, **more):
        rows = [
            {"name": f"npu{i}", "kind": KIND, "memory": "16Gi", "paths": ["/dev/null"], **more}
            for i in range(devices)
        ]
        # Whole or not at all: the agent reads it each second.
        new = self.folder / f"{node}.new"
        new.write_text(yaml.safe_dump({"devices": rows}))
        new.rename(self.folder / f"{node}.yaml")

    def start_agent(self, node, *more, namespace=None):
        self.agents[node] = self._start(
            f"agentd-{node}-",
            [
                *(binary(self.build, "tributary-agentd"), "--manager", self.address or self.manager),
                *("--node", node, "--state", self.folder / f"agent-{node}"),
                *("--podman", self.folder / "podman.sock", "--roots", self.folder / "roots"),
                *("--devices", self.folder / f"{node}.yaml", "--cdi", self.folder / "cdi"),
                *more,
            ],
            "^ready",
            namespace=namespace,
        )

    def kill_agent(self, node):
        self.kill(self.agents[node])

    def kill(self, process):
        process.signal(signal.SIGKILL)
        process.wait_exit(LIMIT_S)
        self.processes.remove(process)
        process.stop()

    def libpod(self, path, method="GET"):
        done = subprocess.run(
            ["curl", "-s", "-X", method, "--unix-socket", self.folder / "podman.sock",
             f"http://d/v4.0.0/libpod/containers/{path}"],
            capture_output=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        return done.stdout if done.returncode == 0 else None

    def containers(self):
        """pod → its containers, as podman has them; None: podman does not answer."""
        answer = self.libpod("json?all=true")
        if answer is None:
            return None
        found = {}
        for row in json.loads(answer) or []:
            found.setdefault(row["Labels"]["tributary.pod"], []).append(row)
        return found

    def run(self, *words):
        return subprocess.run(
            [binary(self.build, "tributary"), *map(str, words), "--manager", self.manager],
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip

    def ask(self, *words):
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def manifest(self, name, *objects):
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        return file

    def wait(self, condition, what):
        return self.loop.wait(condition, LIMIT_S, what)

    def phase(self, name):
        return self.ask("pod", "get", name)["phase"]

    def free(self):
        return sum(1 for device in self.ask("device") if not device["pod"])

    def stop(self):
        if containers := self.containers():
            for rows in containers.values():
                for row in rows:
                    self.libpod(f"{row['Id']}?force=true&timeout=0", "DELETE")
        for process in reversed(self.processes):
            process.stop()


def pod(name, script="sleep 1000", devices=1, policy="Always", **spec):
    limits = {"cpu": "100m", "memory": "64Mi"}
    if devices:
        limits[KIND] = str(devices)
    container = {
        "name": "main",
        "image": "rootfs:busybox",
        "command": ["/bin/sh", "-c", script],
        "resources": {"limits": limits},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": policy,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            **spec,
        },
    }


def gang(name, count, job=None):
    """`job`: keys of the job whose ranks the pods are; None: no job."""
    metadata = {"name": name}
    if job is not None:
        request = {"tenant": TENANT, "job": {"name": name, "workers": count, **job}}
        metadata["annotations"] = {"tributary/job-request": yaml.safe_dump(request)}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"schedulingPolicy": {"gang": {"minCount": count}}},
    }
