"""The manager, node agents and real podman: a manifest becomes containers on the right devices, and
nothing is left of them (C2), over kill -9 of an agent and of a container; random kills are in
test_placement_kills.py."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from placement_bed import KIND, Placement, gang, pod, started

BAR_S = 2
PIDS = 64


@pytest.fixture(scope="module")
def cluster():
    with started(Placement) as made:
        yield made


@pytest.fixture
def placement(cluster):
    yield cluster
    for left in cluster.ask("pod", "get"):
        cluster.run("pod", "delete", left["name"], "--wait")


def test_from_manifest_to_running_to_nothing(placement):
    file = placement.manifest("a", pod("a", "echo one; echo two; sleep 1000"))
    began = time.monotonic()
    done = placement.run("pod", "create", file, "--wait")
    took_s = time.monotonic() - began
    # The bar is 2 s on a machine of its own; here neighbours compile.
    print(f"manifest to running: {took_s:.2f} s, bar {BAR_S} s")
    assert done.returncode == 0 and "pod/a: Running on n" in done.stdout, done.stderr
    (row,) = placement.containers()["a"]
    assert row["State"] == "running"
    shown = json.loads(placement.libpod(f"{row['Id']}/json"))
    environment = shown["Config"]["Env"]
    (device,) = [one for one in placement.ask("device") if one["pod"] == "a"]
    name = device["device"].split("/")[1]
    assert f"TRIBUTARY_DEVICES={name}" in environment
    assert shown["HostConfig"]["Memory"] == 64 << 20 and shown["HostConfig"]["PidsLimit"] == 1024
    with open(f"/proc/{shown['State']['Pid']}/environ", encoding="utf-8") as file:
        assert f"TRIBUTARY_DEVICE_{name.upper()}={KIND}" in file.read(), "podman took the CDI file"
    placement.wait(
        lambda: placement.run("pod", "logs", "a", "--lines", "1").stdout == "two\n", "its last line"
    )
    described = placement.run("pod", "describe", "a").stdout
    assert "PodScheduled True" in described and "score" in described
    done = placement.run("pod", "delete", "a", "--wait")
    assert done.stdout == "pod/a deleted\n", done.stderr
    assert placement.containers() == {} and placement.free() == 4


def test_an_agent_that_was_killed_finds_its_containers(placement):
    placement.ask("pod", "create", placement.manifest("a", pod("a")), "--wait")
    (before,) = placement.containers()["a"]
    node = placement.ask("pod", "get", "a")["node"]
    placement.kill_agent(node)
    placement.start_agent(node)
    # A container that dies is started again by the new agent, so it knows it.
    os.kill(before["Pid"], signal.SIGKILL)
    placement.wait(
        lambda: placement.ask("pod", "get", "a")["containers"][0]["restarts"] == 1, "a restart"
    )
    (after,) = placement.containers()["a"]
    assert after["Id"] == before["Id"] and after["Pid"] != before["Pid"]
    assert placement.run("pod", "delete", "a", "--wait").returncode == 0
    assert placement.containers() == {}


def test_c2_a_container_that_podman_left_half_started_is_made_anew(placement):
    """As after kill -9 of podman and runc in the midst of a start: the container runs, and podman would
    start it for ever in vain, or wait for runc without an end."""
    placement.ask("pod", "create", placement.manifest("a", pod("a")), "--wait")
    (before,) = placement.containers()["a"]
    node, made = placement.ask("pod", "get", "a")["node"], before["Id"]
    placement.kill_agent(node)
    placement.libpod(f"{made}/stop?timeout=0", "POST")
    placement.wait(
        lambda: subprocess.run(["pgrep", "-f", made], check=False).returncode == 1, "podman has cleaned up"
    )
    placement.libpod(f"{made}/init", "POST")
    subprocess.run(["runc", "start", made], check=True)
    (half,) = placement.containers()["a"]
    assert half["State"] == "initialized"
    placement.start_agent(node)

    def is_new():
        rows = placement.containers().get("a", [])
        return [row["State"] for row in rows] == ["running"] and rows[0]["Id"] != made

    placement.wait(is_new, "another container runs")
    placement.wait(lambda: not Path(f"/proc/{half['Pid']}").exists(), "nothing of the old one runs")
    placement.wait(lambda: placement.phase("a") == "Running", "its record says so")


def test_a_gang_is_placed_at_once_and_ends_by_itself(placement):
    members = [pod(f"m{i}", "true", policy="Never") for i in range(4)]
    for member in members:
        member["spec"]["schedulingGroup"] = {"podGroupName": "train"}
    file = placement.manifest("train", gang("train", 4), *members[:3])
    assert placement.run("pod", "create", file).returncode == 0
    assert "the group needs 4 pods" in placement.ask("pod", "get", "m0")["message"]
    assert placement.run("pod", "create", placement.manifest("m3", members[3])).returncode == 0
    names = [f"m{i}" for i in range(4)]
    placement.wait(lambda: {placement.phase(name) for name in names} == {"Succeeded"}, "all ended")
    placed = {(p["node"], *p["devices"]) for p in placement.ask("pod", "get")}
    assert len(placed) == 4, "a device was given twice"
    assert placement.free() == 4
    for name in names:
        assert placement.run("pod", "delete", name, "--wait").returncode == 0
    assert placement.run("pod", "delete", "train", "--group").stdout == "podgroup/train deleted\n"
    assert placement.containers() == {}


def test_pods_of_a_lost_node_run_elsewhere(placement):
    placement.ask("pod", "create", placement.manifest("a", pod("a")), "--wait")
    node = placement.ask("pod", "get", "a")["node"]
    placement.kill_agent(node)
    placement.wait(
        lambda: placement.ask("pod", "get", "a")["node"] not in ("", node), "another node has it"
    )
    placement.wait(lambda: placement.phase("a") == "Running", "it runs there")
    # The node's new agent ends what its lease no longer covers.
    placement.start_agent(node)
    placement.wait(lambda: len(placement.containers()["a"]) == 1, "the old container is gone")
    assert placement.phase("a") == "Running"


def test_c2_an_idle_pod_is_removed_and_a_busy_one_is_not(placement):
    pods = pod("idle"), pod("busy", "while true; do :; done")
    for one in pods:
        one["metadata"]["annotations"] = {"tributary/idle-seconds": "3"}
    placement.ask("pod", "create", placement.manifest("both", *pods), "--wait")
    placement.wait(lambda: set(placement.containers()) == {"busy"}, "the idle pod is gone")
    assert [one["name"] for one in placement.ask("pod", "get")] == ["busy"]
    assert placement.phase("busy") == "Running" and placement.free() == 3
    (container,) = placement.ask("pod", "get", "busy")["containers"]
    assert container["cpu"] > 0.01


def pids_of(pid):
    """The folder of the control group of a process that bounds its pids."""
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, path in rows:
        if "pids" in controllers.split(","):
            return Path("/sys/fs/cgroup/pids" + path)
    return Path("/sys/fs/cgroup" + next(path for _, controllers, path in rows if controllers == ""))


def refused_forks(group):
    return int(dict(line.split() for line in (group / "pids.events").read_text().splitlines())["max"])


def test_c2_a_container_that_forks_without_bound_is_held(placement):
    placement.kill_agent("n0")
    placement.start_agent("n0", "--pids", PIDS)
    calm = pod("calm", nodeName="n0")
    # Each process makes others until it may not, and ends; the first one stays.
    bomb = pod("bomb", "f() { while true; do f & done; }; f & exec sleep 1000", nodeName="n0")
    bomb["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "500m"
    placement.ask("pod", "create", placement.manifest("both", calm, bomb), "--wait")
    (row,) = placement.containers()["bomb"]
    group = pids_of(row["Pid"])
    assert int((group / "pids.max").read_text()) == PIDS
    placement.wait(lambda: refused_forks(group) > 2, "forks are refused")
    assert int((group / "pids.current").read_text()) <= PIDS
    # The node goes on: its agent reports, starts pods and ends them.
    late = pod("late", "true; sleep 1000", devices=0, nodeName="n0")
    late["metadata"]["annotations"] = {"tributary/load-below": "1"}
    placement.ask("pod", "create", placement.manifest("late", late), "--wait")
    assert placement.phase("calm") == "Running" and placement.phase("bomb") == "Running"
    assert placement.ask("pod", "get", "calm")["containers"][0]["restarts"] == 0
    assert placement.run("pod", "delete", "bomb", "--wait").returncode == 0
    assert set(placement.containers()) == {"calm", "late"}
    assert not group.exists(), "no process of it is left"
    placement.kill_agent("n0")
    placement.start_agent("n0")


def test_c2_a_container_that_fills_its_disk_fails(placement):
    greedy = pod("greedy", "while true; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >> /full; done")
    greedy["spec"]["containers"][0]["resources"]["limits"]["ephemeral-storage"] = "1Mi"
    placement.ask("pod", "create", placement.manifest("greedy", greedy))
    placement.wait(lambda: placement.phase("greedy") == "Failed", "it is ended, and not restarted")
    message = placement.ask("pod", "get", "greedy")["message"]
    assert message == "container main has written more than its ephemeral-storage, 1Mi"
    placement.wait(lambda: placement.containers() == {} and placement.free() == 4, "nothing is left")


def test_mistakes_are_named(placement):
    wrong = pod("a")
    wrong["spec"]["containers"][0]["comand"] = []
    done = placement.run("pod", "create", placement.manifest("wrong", wrong))
    assert done.returncode == 1
    assert "spec.containers[0].comand: unknown key; did you mean 'command'?" in done.stderr
    done = placement.run("pod", "create", placement.manifest("host", pod("a", hostNetwork=True)))
    assert "spec.hostNetwork: is refused" in done.stderr
    missing = pod("missing")
    missing["spec"]["containers"][0]["image"] = "rootfs:none"
    placement.ask("pod", "create", placement.manifest("large", pod("large", devices=3)))
    large = placement.ask("pod", "get", "large")
    assert large["reason"] == "Unschedulable"
    assert large["message"] == f"0/2 nodes are available: 2 without enough {KIND}"
    placement.ask("pod", "create", placement.manifest("missing", missing))
    placement.wait(
        lambda: "podman cannot" in placement.ask("pod", "get", "missing")["message"], "podman's words"
    )
    placement.declare("n0", 3, load=0.95)
    placement.wait(
        lambda: "not below 90% (least 95%)" in placement.ask("pod", "get", "large")["message"],
        "the load is the reason",
    )
    placement.declare("n0", 2)
