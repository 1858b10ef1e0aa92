"""kubectl against the manager: pods on nodes with real podman are created, watched, described and
deleted (C2), and only operators are let in."""

import json
import os
import shutil
import socket
import ssl
import subprocess

import pytest
from manager_bed import Authority
from placement_bed import KIND, LIMIT_S, Placement, pod, started
from testbed.free_port import free_port
from testbed.process import Process


class Cluster(Placement):
    """With a server for kubectl, and certificates of an operator, a tenant and a stranger."""

    def __init__(self, loop, folder):
        super().__init__(loop, folder)
        self.authority = Authority(folder / "authority")
        self.authority.make("server", "IP:127.0.0.1")
        self.authority.make("alice", "URI:tributary://operator/alice")
        self.authority.make("vision", "URI:tributary://tenant/vision")
        self.strangers = Authority(folder / "strangers")
        self.strangers.make("alice", "URI:tributary://operator/alice")
        self.port = free_port()
        self.MANAGER_OPTIONS = (
            *("--kubernetes", f"127.0.0.1:{self.port}"), *self.authority.words("server"),
        )  # fmt: skip
        self.write_config()

    def write_config(self):
        files, cluster = self.authority.folder, f"https://127.0.0.1:{self.port}"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "alice"}}],
            "clusters": [
                {"name": "c", "cluster": {"server": cluster, "certificate-authority": f"{files}/ca.pem"}}
            ],
            "users": [
                {
                    "name": "alice",
                    "user": {"client-certificate": f"{files}/alice.pem", "client-key": f"{files}/alice.key"},
                }
            ],
        }
        (self.folder / "config").write_text(json.dumps(config))

    def environment(self):
        # kubectl keeps what it has discovered in its home.
        return {**os.environ, "KUBECONFIG": str(self.folder / "config"), "HOME": str(self.folder)}

    def kubectl(self, *words, status=0):
        done = subprocess.run(
            [shutil.which("kubectl"), *map(str, words)],
            capture_output=True, text=True, timeout=LIMIT_S, check=False, env=self.environment(),
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    def get(self, *words):
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def curl(self, path, *words):
        done = subprocess.run(
            ["curl", "-s", "--cacert", self.authority.folder / "ca.pem", *words,
             f"https://127.0.0.1:{self.port}{path}"],
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def cluster():
    with started(Cluster) as made:
        yield made


def as_caller(authority, name):
    return ("--cert", authority.folder / f"{name}.pem", "--key", authority.folder / f"{name}.key")


def test_a_pod_from_manifest_to_nothing(cluster):
    file = cluster.manifest("a", pod("a", "echo one; echo two; sleep 1000"))
    assert cluster.kubectl("create", "--validate=false", "-f", file) == "pod/a created\n"
    cluster.kubectl("wait", "--for=condition=Ready", "pod/a", f"--timeout={LIMIT_S}s")
    assert len(cluster.containers()["a"]) == 1
    shown = cluster.get("pod", "a")
    assert shown["status"]["phase"] == "Running" and shown["spec"]["nodeName"] in ("n0", "n1")
    device = shown["metadata"]["annotations"]["tributary/devices"]
    wide = cluster.kubectl("get", "pods", "-o", "wide", "--no-headers").split()
    assert wide[:4] == ["a", "1/1", "Running", "0"] and wide[-2:] == [device, "<none>"]
    cluster.wait(lambda: cluster.kubectl("logs", "a", "--tail=1") == "two\n", "its last line")
    described = cluster.kubectl("describe", "pod", "a")
    assert "scheduled" in described and "score" in described
    node = cluster.kubectl("describe", "node", shown["spec"]["nodeName"])
    assert f"device.tributary/{device}: {KIND}" in node and "AgentReports" in node
    # Returns when the pod is gone, for which kubectl watches it.
    assert cluster.kubectl("delete", "pod", "a").startswith('pod "a" deleted')
    assert cluster.containers() == {} and cluster.free() == 4
    assert "there is no Pod a" in cluster.kubectl("get", "pod", "a", status=1)


def test_a_watch_shows_a_pod_come_and_go(cluster):
    watch = Process(
        cluster.loop, "watch", [shutil.which("kubectl"), "get", "pods", "--watch", "--no-headers"],
        cluster.folder / "watch.log", env=cluster.environment(),
    )  # fmt: skip
    cluster.processes.append(watch)
    cluster.kubectl("create", "--validate=false", "-f", cluster.manifest("b", pod("b")))
    watch.wait_line(r"^b +1/1 +Running", LIMIT_S)
    cluster.kubectl("delete", "pod", "b")
    watch.wait_line(r"^b .*Terminating", LIMIT_S)


def test_mistakes_come_back_as_kubectls_own(cluster):
    refused = pod("c", privileged=True)
    text = cluster.kubectl(
        "create", "--validate=false", "-f", cluster.manifest("c", refused), status=1
    )
    assert "spec.privileged: unknown key" in text
    text = cluster.kubectl("get", "deployments", status=1)
    assert "doesn't have a resource type" in text
    assert cluster.kubectl("get", "pods", "-n", "other") == ""


def test_only_operators_are_let_in(cluster):
    path = "/api/v1/namespaces/default/pods"
    assert cluster.curl(path, *as_caller(cluster.authority, "alice"))["kind"] == "PodList"
    without = cluster.curl(path)
    assert without["code"] == 401 and "no certificate was shown" in without["message"]
    tenant = cluster.curl(path, *as_caller(cluster.authority, "vision"))
    assert tenant["code"] == 403 and "tenant vision; allowed: an operator" in tenant["message"]
    stranger = cluster.curl(path, *as_caller(cluster.strangers, "alice"))
    assert stranger["code"] == 401 and "NOT trusted" in stranger["message"]
    large = cluster.folder / "large"
    large.write_text("x" * (2 << 20))
    post = cluster.curl(
        path, *as_caller(cluster.authority, "alice"), "--data-binary", f"@{large}"
    )
    assert post["code"] == 413


def test_a_silent_connection_holds_up_nobody(cluster):
    context = ssl.create_default_context(cafile=cluster.authority.folder / "ca.pem")
    with socket.create_connection(("127.0.0.1", cluster.port)) as silent:
        with socket.create_connection(("127.0.0.1", cluster.port)) as other:
            with context.wrap_socket(other, server_hostname="127.0.0.1"):
                assert cluster.kubectl("get", "nodes", "--no-headers").split().count("Ready") == 2
        silent.sendall(b"GET / HTTP/1.1\r\n")


def test_the_next_manager_goes_on(cluster):
    cluster.kubectl("create", "--validate=false", "-f", cluster.manifest("d", pod("d")))
    before = cluster.get("pod", "d")["metadata"]
    cluster.kill(cluster.managerd)
    cluster.start_manager()
    after = cluster.get("pod", "d")["metadata"]
    assert (after["uid"], after["creationTimestamp"]) == (before["uid"], before["creationTimestamp"])
    old = cluster.curl(
        "/api/v1/pods?watch=true&resourceVersion=" + before["resourceVersion"],
        *as_caller(cluster.authority, "alice"),
    )
    assert old["type"] == "ERROR" and old["object"]["code"] == 410
    cluster.kubectl("delete", "pod", "d")
