"""Any node of a tree killed at any instant (O4, O12): seeded, again and again on one bed.

The default rounds kill every kind of node: leaf, intermediate switch, root, parameter server, worker.

A switch or worker ends the ops that are under way, with an error that names it; a parameter server
ends none.

TRIBUTARY_SEED and TRIBUTARY_ROUNDS choose another run, or a longer one.
"""

import itertools
import os
import random
import signal
import time

import pytest
from testbed.tree import TOP

TWELVE = TOP / "examples/hpcc-12.yaml"
SERVERS = TOP / "examples/hpcc-12-servers.yaml"
OPS = 200
STEPS = [{"do": "allreduce", "count": 3_000, "dtype": "int32", "repeat": OPS, "seed": 5}]
SHORT = [{"do": "allreduce", "count": 5_000, "dtype": "float32", "repeat": 3, "seed": 4}]
# Well above what a busy machine delays, well below the limits of the waits.
PATIENCE = {"lease": "3s", "deadline": "5s"}
OP_TIMEOUT_S = 12.0
LIMIT_S = 50


def kinds(topology):
    """{kind of node: names}, of those that the tree has."""
    parents = {switch.get("parent") for switch in topology.switches.values()}
    found = {"worker": list(topology.ranks(1).values()), "server": list(topology.servers)}
    for name, switch in topology.switches.items():
        kind = "leaf" if name not in parents else "intermediate" if "parent" in switch else "root"
        found.setdefault(kind, []).append(name)
    return {kind: names for kind, names in found.items() if names}


def victims(topology, dice):
    """Without end: a node of every kind, and again; chance shuffles the kinds and takes the node."""
    found = kinds(topology)
    while True:
        for kind in dice.sample(list(found), len(found)):
            yield dice.choice(found[kind])


def start(bed, name):
    if name in bed.switches:
        bed.start_switch(name)
    elif name in bed.servers:
        bed.start_server(name)


def kill(bed, launcher, victim, dice):
    """Starts a job and kills a node in it; returns the ranks that are left."""
    workers = launcher.start(STEPS, op_timeout=OP_TIMEOUT_S)
    dice.choice(workers).wait_event("progress", dice.randrange(1, OPS - 20))
    instant = time.monotonic() + dice.uniform(0, 0.01)  # ops take a few milliseconds
    while (left := instant - time.monotonic()) > 0:
        bed.loop.turn(left)
    daemons = bed.switches | bed.servers
    if victim in daemons:
        daemons[victim].signal(signal.SIGKILL)
        return workers
    rank = {name: rank for rank, name in bed.topology.ranks(1).items()}[victim]
    workers[rank].process.signal(signal.SIGKILL)
    return [worker for worker in workers if worker.rank != rank]


def names_the_dead(error, victim, topology):
    if victim in topology.servers:
        return False  # another one, or the root, has to take over
    if victim in topology.switches:
        # Who hangs on it has only its silence to go by, or that it does not know them any more.
        switch = topology.switches[victim]
        said = (f"switch {switch['id']}", "did not answer", "was restarted")
        silent = switch["address"] in error["text"] and "was last heard" in error["text"]
        return silent or any(words in error["text"] for words in said)
    rank = {name: rank for rank, name in topology.ranks(1).items()}[victim]
    return error["missing_ranks"] == [rank]


def check_end(worker, victim, topology):
    worker.process.wait_exit(LIMIT_S)
    done = worker.of("progress")
    assert [op["op"] for op in done] == list(range(len(done)))
    assert all(op["exact"] for op in done), f"rank {worker.rank}: a wrong sum"
    if worker.process.returncode == 0:
        assert len(done) == OPS
        return
    assert worker.process.returncode == 1, worker.process.describe()
    error = worker.of("error")[0]
    assert names_the_dead(error, victim, topology), (victim, worker.rank, error)


def wait_empty(bed):
    """Nobody is a member and nothing is held, on any switch or server."""

    def empty(name):
        idle = all(row["state"] != "running" for row in bed.show(name, "jobs"))
        return idle and not bed.show(name, "slots")

    def done(name):
        held = any(row["bytes_held"] for row in bed.show(name, "completion"))
        return not held and not any(row["serving"] for row in bed.show(name, "seats"))

    for name in bed.topology.switches:
        bed.loop.wait(lambda name=name: empty(name), LIMIT_S, f"{name} holds nothing")
    for name in bed.topology.servers:
        bed.loop.wait(lambda name=name: done(name), LIMIT_S, f"{name} serves nobody")


@pytest.mark.parametrize("file", [TWELVE, SERVERS], ids=["root", "servers"])
def test_o12_any_node_killed_at_any_instant(make_tree, launch_tree, file):
    seed = int(os.environ.get("TRIBUTARY_SEED", "1"))
    rounds = int(os.environ.get("TRIBUTARY_ROUNDS", "6"))
    dice = random.Random(seed)
    bed = make_tree(file, job_options=PATIENCE)
    launcher = launch_tree(bed)
    for number, victim in enumerate(itertools.islice(victims(bed.topology, dice), rounds)):
        left = kill(bed, launcher, victim, dice)
        at_once = dice.random() < 0.5
        print(f"seed {seed} round {number}: {victim}, back {'at once' if at_once else 'later'}")
        if at_once:
            start(bed, victim)
        for worker in left:
            check_end(worker, victim, bed.topology)
        if not at_once:
            start(bed, victim)
        wait_empty(bed)
    for worker in launcher.start(SHORT):
        worker.finish()
