"""Agents of nodes over TLS (C2): one with another authority's certificate, or another's name in it, gets no
pods, frees none, and does not end the session of the node's own agent."""

import pytest
from manager_bed import Authority
from placement_bed import RUNTIME, Placement, pod, started
from testbed.free_port import free_port
from testbed.tree import binary

WRONG = {
    # certificate: what the agent is told, on standard error
    "node-n1": "speaks for node n0, and the certificate is of node n1",
    "tenant": "speaks for node n0, and the certificate is of tenant vision",
    "nameless": "the certificate names no tenant, node or operator",
    "forged": "no manager answers",
}


class Guarded(Placement):
    """With agents that reach the manager over TLS."""

    def __init__(self, loop, folder):
        super().__init__(loop, folder)
        self.authority = Authority(folder / "authority")
        self.authority.make("server", "IP:127.0.0.1")
        for node in ("n0", "n1"):
            self.authority.make(f"node-{node}", f"URI:tributary://node/{node}")
        self.authority.make("tenant", "URI:tributary://tenant/vision")
        self.authority.make("nameless", "DNS:nameless")
        self.forger = Authority(folder / "forger")
        self.forger.make("forged", "URI:tributary://node/n0")
        self.address = f"127.0.0.1:{free_port()}"
        self.MANAGER_OPTIONS = ("--listen", self.address, *self.authority.words("server"))

    def words_of(self, certificate):
        of = self.forger if certificate == "forged" else self.authority
        return of.words(certificate, ca=self.authority.folder)

    def start_agent(self, node, *more, namespace=None):
        super().start_agent(node, *self.words_of(f"node-{node}"), *more, namespace=namespace)

    def start_other_podman(self):
        """podman of another machine, which has no container."""
        socket = self.folder / "other.sock"
        self._start(
            "other-podman",
            ["unshare", "--mount", "podman", *RUNTIME, "--root", self.folder / "other-storage",
             "--runroot", self.folder / "other-run", "system", "service", "--time", "0", f"unix://{socket}"],
        )  # fmt: skip
        self.wait(socket.exists, "the other podman listens")

    def start_wrong_agent(self, certificate):
        """An agent that says it is n0, on a machine of its own: no container of n0 is there."""
        return self._start(
            f"agentd-{certificate}-",
            [
                *(binary(self.build, "tributary-agentd"), "--manager", self.address),
                *("--node", "n0", "--state", self.folder / f"agent-{certificate}"),
                *("--podman", self.folder / "other.sock", "--roots", self.folder / "roots"),
                *("--devices", self.folder / "n0.yaml", "--cdi", self.folder / f"cdi-{certificate}"),
                *self.words_of(certificate),
            ],
            "^ready",
        )


@pytest.fixture(scope="module")
def cluster():
    with started(Guarded) as made:
        made.start_other_podman()
        yield made


@pytest.mark.parametrize("certificate", WRONG)
def test_c2_an_agent_with_a_wrong_certificate_changes_nothing(cluster, certificate):
    name = f"pod-{certificate}"
    cluster.ask("pod", "create", cluster.manifest(name, pod(name, nodeName="n0")), "--wait")
    (before,) = cluster.containers()[name]
    wrong = cluster.start_wrong_agent(certificate)
    cluster.wait(
        lambda: any(WRONG[certificate] in line for line in wrong.stderr), "the agent is refused"
    )
    # The session of the node's own agent goes on: its logs come, and it starts another pod.
    assert cluster.phase(name) == "Running"
    (after,) = cluster.containers()[name]
    assert (after["Id"], after["Pid"]) == (before["Id"], before["Pid"])
    late = f"late-{certificate}"
    cluster.ask("pod", "create", cluster.manifest(late, pod(late, "echo here; sleep 1000", nodeName="n0")),
                "--wait")  # fmt: skip
    cluster.wait(lambda: cluster.run("pod", "logs", late).stdout == "here\n", "its own agent answers")
    cluster.kill(wrong)
    for one in (name, late):
        assert cluster.run("pod", "delete", one, "--wait").returncode == 0
    assert cluster.containers() == {} and cluster.free() == 4
