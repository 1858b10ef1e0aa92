"""A tree that changes under traffic (rule 16): ranks move from leaf to leaf, leaves lose their last
rank and get their first one, while jobs run.

TRIBUTARY_SEED and TRIBUTARY_ROUNDS choose another run, or a longer one.
"""

import os
import random
import signal
import time

import pytest
import yaml
from testbed.process import ProcessFailed

LIMIT_S = 50
LEAVES = ("A", "B", "C")
WORKERS = [f"{leaf.lower()}{number}" for leaf in LEAVES for number in range(2)]
MOVING, STEADY = 1, 2  # jobs
LONG = [{"do": "allreduce", "count": 20_000, "dtype": "int32", "repeat": 100_000, "seed": 3}]
SHORT = [{"do": "allreduce", "count": 5_000, "dtype": "float32", "repeat": 3, "seed": 4}]
OP_TIMEOUT_S = 5.0


def members(workers):
    return [{"rank": rank, "worker": worker} for rank, worker in enumerate(workers)]


def switch(number, name, ports, **more):
    return {
        "name": name,
        "id": number,
        "address": f"10.77.0.{200 + number}",
        "memory": {"megabytes": 64, "reserve_megabytes": 8},
        "ports": [
            {"name": port, "devargs": f"net_null{index}"} for index, port in enumerate(ports)
        ],
        **more,
    }


@pytest.fixture
def bed(make_tree, tmp_path):
    leaves = [
        switch(
            number + 2, leaf, ["up", "p0", "p1"],
            parent="root", parent_port=leaf.lower(), uplink="up",
        )
        for number, leaf in enumerate(LEAVES)
    ]
    tree = {
        "switches": [switch(1, "root", [leaf.lower() for leaf in LEAVES]), *leaves],
        "workers": [
            {
                "name": name,
                "switch": name[0].upper(),
                "port": f"p{name[1]}",
                "address": f"10.77.1.{number + 1}",
            }
            for number, name in enumerate(WORKERS)
        ],
        "jobs": [
            {"id": MOVING, "workers": 4, "members": members(["a0", "a1", "b0", "b1"])},
            {"id": STEADY, "workers": 2, "members": members(["a0", "b0"])},
        ],
    }
    file = tmp_path / "tree.yaml"
    file.write_text(yaml.safe_dump(tree))
    return make_tree(file)


def move(bed, workers):
    """The ranks of the moving job are there from now on, in the file."""
    bed.topology.jobs[MOVING]["members"] = members(workers)
    bed.write_file()


def pause(bed, seconds):
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        bed.loop.turn(left)


def reloads(bed, name):
    return sum("reloaded" in line for line in bed.switches[name].stderr)


def reload_all(bed, dice):
    """Each switch at an instant of its own, by command or by signal."""
    names = list(bed.topology.switches)
    dice.shuffle(names)
    for name in names:
        if dice.random() < 0.5:
            bed.reload(name)
        else:
            before = reloads(bed, name)
            bed.switches[name].signal(signal.SIGHUP)
            bed.loop.wait(
                lambda name=name, before=before: reloads(bed, name) > before,
                LIMIT_S,
                f"{name} has read the file",
            )
        pause(bed, dice.uniform(0, 0.02))


# Where a switch that no rank moves to or from reads the tree first, the job is drained, and its ranks ask for places
# that they do not have any more.
ENDS = ("configuration-changed", "aborted", "bad-rank", "unknown-job", "rank-left", "none")


def ends_for_the_change(worker):
    error = worker.fail()
    assert error["reason"] in ENDS, error
    done = worker.of("progress")
    assert [op["op"] for op in done] == list(range(len(done)))
    assert all(op["exact"] for op in done), f"rank {worker.rank}: a wrong sum"


def wait_empty(bed, job):
    """Nobody is a member and nothing is held of the job, on any switch."""

    def empty(name):
        rows = [row for row in bed.show(name, "jobs") if row["job"] == job]
        slots = [row for row in bed.show(name, "slots") if row["job"] == job]
        return all(row["state"] != "running" for row in rows) and not slots

    for name in bed.topology.switches:
        bed.loop.wait(lambda name=name: empty(name), LIMIT_S, f"{name} holds nothing")


def test_rule16_ranks_move_and_leaves_come_and_go_under_traffic(bed, launch_tree):
    seed = int(os.environ.get("TRIBUTARY_SEED", "1"))
    rounds = int(os.environ.get("TRIBUTARY_ROUNDS", "6"))
    dice = random.Random(seed)
    launcher = launch_tree(bed)
    steady = launcher.start(LONG, job=STEADY)
    places = ["a0", "a1", "b0", "b1"]
    for number in range(rounds):
        workers = launcher.start(LONG, job=MOVING, op_timeout=OP_TIMEOUT_S)
        for worker in workers:
            worker.wait_event("progress", dice.randrange(1, 30))
        before = places
        while places == before:
            # Now and then one leaf has no rank, then it has one again.
            gone = dice.choice([*LEAVES, ""]).lower()
            places = dice.sample([w for w in WORKERS if not w.startswith(gone or "-")], 4)
        print(f"seed {seed} round {number}: {before} to {places}")
        move(bed, places)
        reload_all(bed, dice)
        for worker in workers:
            ends_for_the_change(worker)
        wait_empty(bed, MOVING)
        for worker in launcher.start(SHORT, job=MOVING):
            worker.finish()
    for worker in steady:  # has noticed nothing
        assert worker.process.running, worker.events[-1]
        assert all(op["exact"] for op in worker.of("progress"))


CHANGES = [{"window": 32}, {"chunk_bytes": 512}, {"deadline": "900ms"}, {"lease": "2s"}, {"window": 64, "chunk_bytes": 1024}]


def drained(bed, name):
    return [row for row in bed.show(name, "jobs") if row["job"] == MOVING]


def test_rule22_no_op_fails_where_settings_change_under_traffic(bed, launch_tree):
    """Ranks on two leaves call op after op; each switch is told of each change in turn."""
    workers = launch_tree(bed).start(LONG, job=MOVING)
    rounds = int(os.environ.get("TRIBUTARY_ROUNDS", "1"))
    changes = [{**change, **({"deadline": f"{900 + number}ms"} if "deadline" in change else {}),
                **({"lease": f"{2 + number % 2}s"} if "lease" in change else {})}
               for number in range(rounds) for change in CHANGES]
    for change in changes:
        counts = [len(worker.of("progress")) for worker in workers]
        for worker, count in zip(workers, counts):
            worker.wait_event("progress", count + 3)
        bed.topology.jobs[MOVING].update(change)
        bed.write_file()
        for name in bed.topology.switches:
            bed.reload(name)
    for worker in workers:
        worker.wait_event("progress", len(worker.of("progress")) + 3)
        done = worker.of("progress")
        assert [op["op"] for op in done] == list(range(len(done))) and all(op["exact"] for op in done)
    [row] = drained(bed, "root")
    assert row["state"] == "running"
    assert row["drains"] >= len(changes) and row["last_pause_us"] > 0, row
    longest = max(op["took_s"] for worker in workers for op in worker.of("progress"))
    print(f"{len(changes)} changes in {len(workers[0].of('progress'))} ops: pauses, p99: at most "
          f"{row['pause_p99_us'] / 1000:.0f} ms, longest op {longest * 1000:.0f} ms")


def test_a_bad_file_changes_nothing(bed, launch_tree):
    workers = launch_tree(bed).start(LONG, job=MOVING)
    for worker in workers:
        worker.wait_event("progress")
    file = bed.run / "topology.yaml"
    good = file.read_text()
    for text, said in (
        (good + "nonsense: 1\n", "nonsense"),
        (good.replace("workers: 4", "workers: 40"), "topology.yaml:"),
        (good.replace("reserve_megabytes: 8", "reserve_megabytes: 9"), "only a restart changes it"),
        (
            good.replace("workers: 4\n", "workers: 4\n  window: 2048\n  shards: 3\n"),
            "of switch.memory.reserve_megabytes",
        ),
    ):
        file.write_text(text)
        with pytest.raises(ProcessFailed) as refused:
            bed.reload("A")
        assert said in str(refused.value), refused.value
    file.write_text(good)
    assert "nothing changed" in bed.reload("A")
    assert all(row["drains"] == 0 for row in bed.show("A", "jobs")), "a refusal comes before any drain"
    count = len(workers[0].of("progress"))
    workers[0].wait_event("progress", count + 5)
