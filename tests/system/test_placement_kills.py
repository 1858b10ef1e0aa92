"""kill -9 of agents, the manager, podman's service and containers at random (C2). At each turn no device
is given twice and no container is without a record; after the time that a relist takes, no record is
without a container.

TRIBUTARY_SECONDS says for how long, all seeds together; without it, it is KILLS turns of each seed.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import time

import pytest
from placement_bed import Placement, pod, started

SEEDS = (1, 2)
KILLS = 12  # of each seed, at least
SECONDS = float(os.environ.get("TRIBUTARY_SECONDS", 0))
NODES = ("n0", "n1")
VICTIMS = ("agent", "manager", "podman", "container", "container")
MOST_PODS = 4  # as there are devices
# A container takes about half as long from the pod's creation to its first instruction.
START_TURNS, TURN_S = 125, 0.004
WHOLE_S = 180  # a container that was killed again and again starts again after a minute


class Killed(Placement):
    """A cluster whose parts are killed, and start again."""

    def kill_one(self, victim, dice):
        """Returns what starts it again; None: its agent does."""
        if victim == "agent":
            node = dice.choice(NODES)
            self.kill_agent(node)
            return lambda: self.start_agent(node)
        if victim == "manager":
            self.kill(self.managerd)
            return self.start_manager
        if victim == "podman":
            self.kill(self.podman)
            return self.start_podman
        alive = [row["Pid"] for rows in (self.containers() or {}).values() for row in rows if row["Pid"]]
        if alive:
            with contextlib.suppress(ProcessLookupError):  # podman has not noticed its end
                os.kill(dice.choice(sorted(alive)), signal.SIGKILL)
        return None

    def kill_something(self, dice):
        """One part, or two at a time, at any moment of a start; all run again when it returns."""
        for _ in range(dice.randrange(START_TURNS)):
            self.loop.turn(TURN_S)
        victims = dice.sample(VICTIMS, dice.choice((1, 1, 2)))
        starts = [self.kill_one(victim, dice) for victim in victims]
        for start in starts:
            if start is not None:
                start()
        return " and ".join(victims)

    def shown(self):
        """pod → what podman knows of each of its containers."""
        found = {}
        for name, rows in self.containers().items():
            for row in rows:
                shown = json.loads(self.libpod(f"{row['Id']}/json") or "{}")
                if "State" in shown:  # it was not removed meanwhile
                    found.setdefault(name, []).append(shown)
        return found

    def check_always(self, when):
        """Holds at any instant, whatever has just been killed."""
        shown = self.shown()
        devices = []
        for containers in shown.values():
            for one in containers:
                if one["State"]["Running"]:
                    env = dict(word.split("=", 1) for word in one["Config"]["Env"])
                    devices.append(f"{env['TRIBUTARY_NODE']}/{env['TRIBUTARY_DEVICES']}")
        assert len(set(devices)) == len(devices), f"{when}: a device twice: {devices}"
        # Pods are deleted by this process alone, so a record that is missing now was missing then.
        records = {row["name"] for row in self.ask("pod", "get")}
        assert set(shown) <= records, f"{when}: containers without a record: {set(shown) - records}"
        claimed = [f"{row['node']}/{device}" for row in self.ask("pod", "get") for device in row["devices"]]
        assert len(set(claimed)) == len(claimed), f"{when}: a device claimed twice: {claimed}"

    def is_whole(self, names):
        """Each record has its container, which runs, and each container its record."""
        containers = self.containers() or {}
        return (
            sorted(containers) == sorted(names)
            and all(len(rows) == 1 and rows[0]["State"] == "running" for rows in containers.values())
            and {row["name"]: row["phase"] for row in self.ask("pod", "get")}
            == dict.fromkeys(names, "Running")
        )

    def has_processes(self):
        """Whether containers of this podman are left, also such as it does not know."""
        found = subprocess.run(["pgrep", "-f", f"conmon.*{self.folder}"], stdout=subprocess.DEVNULL, check=False)
        return found.returncode == 0

    def wait_whole(self, names, when):
        self.loop.wait(lambda: self.is_whole(names), WHOLE_S, f"{when}: a container for each record")

    def change_pods(self, names, name, dice):
        """Creates the pod of that name, or deletes the oldest one now and then."""
        if len(names) < MOST_PODS:
            done = self.run("pod", "create", self.manifest(name, pod(name)))
            assert done.returncode == 0, done.stderr
            names.append(name)
        elif dice.random() < 0.3:
            done = self.run("pod", "delete", names.pop(0), "--wait")
            assert done.returncode == 0, done.stderr


@pytest.fixture
def cluster():
    with started(Killed) as made:
        yield made


@pytest.mark.parametrize("seed", SEEDS)
def test_c2_random_kills_lose_nothing_and_give_nothing_twice(cluster, seed):
    dice = random.Random(seed)
    names, turn, whole = [], 0, 0
    end = time.monotonic() + SECONDS / len(SEEDS)
    while turn < KILLS or time.monotonic() < end:
        cluster.change_pods(names, f"s{seed}-{turn}", dice)
        when = f"seed {seed}, turn {turn}, {cluster.kill_something(dice)}"
        cluster.check_always(when)
        if dice.random() < 0.5:
            cluster.wait_whole(names, when)
            cluster.check_always(f"{when}, when all is whole")
            whole += 1
        turn += 1
    cluster.wait_whole(names, f"seed {seed}")
    assert 4 - cluster.free() == len(names)
    for name in names:
        assert cluster.run("pod", "delete", name, "--wait").returncode == 0
    assert cluster.containers() == {} and cluster.free() == 4
    cluster.wait(lambda: not cluster.has_processes(), "no process of a container is left")
    print(f"seed {seed}: {turn} turns, whole again in the midst of them {whole} times")
