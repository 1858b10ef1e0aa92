"""A job cut into planes on a tree of two switches with two lcores each (A2, O12, T1).

    root{A{a0, a1}, r0, r1}: ranks 0 and 2 on A, 1 and 3 on the root
"""

import signal

import pytest
import yaml
from testbed.fabric import Impairment

BAD_NETWORK = Impairment(("--drop", "1%", "--duplicate", "1%", "--reorder", "1%"), seed=21)
JOB = 1
LATE = 2
LONG = [{"do": "allreduce", "count": 20_000, "dtype": "int32", "repeat": 100_000, "seed": 3}]
SHORT = [
    {"do": "allreduce", "count": 30_000, "dtype": "float32", "repeat": 3, "seed": 4},
    {"do": "barrier"},
]
RANKS = ["a0", "r0", "a1", "r1"]


def switch(name, number, ports, **keys):
    return {
        "name": name,
        "id": number,
        "address": f"10.77.0.{number}",
        "memory": {"megabytes": 96},
        "lcores": [-1, -1],
        "ports": [{"name": port, "devargs": f"net_null{i}"} for i, port in enumerate(ports)],
        **keys,
    }


@pytest.fixture
def make_planes(make_tree, tmp_path):
    """The tree, with a job of two planes, as `options` have it."""

    def make(ports="veth", impairment=None, **options):
        tree = {
            "switches": [
                switch("root", 240, ["a", "r0", "r1"]),
                switch("A", 201, ["up", "a0", "a1"], parent="root", parent_port="a", uplink="up"),
            ],
            "workers": [
                {
                    "name": name,
                    "switch": "A" if name[0] == "a" else "root",
                    "port": name,
                    "address": f"10.77.1.{number + 1}",
                }
                for number, name in enumerate(RANKS)
            ],
            "jobs": [{"id": JOB, "workers": 4, "planes": 2, **options}],
        }
        file = tmp_path / "tree.yaml"
        file.write_text(yaml.safe_dump(tree))
        return make_tree(file, ports, impairment=impairment)

    return make


def exact(workers):
    """All ends are good, and all ranks have the same bits; the statistics."""
    stats = [worker.finish() for worker in workers]
    ops = {tuple(op["digest"] for op in worker.of("progress")) for worker in workers}
    assert len(ops) == 1, "ranks have different bits"
    return stats


def planes(rows):
    """{plane: row}, of tables with one row for each."""
    found = {row["plane"]: row for row in rows}
    assert sorted(found) == [0, 1] and len(rows) == 2, rows
    return found


def wait_empty(bed):
    def empty():
        rows = [row for name in ("A", "root") for row in bed.show(name, "jobs")]
        return all(row["present"] == 0 and row["slots_open"] == 0 for row in rows)

    bed.loop.wait(empty, 30, "all planes are left, and hold nothing, on both switches")


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_a2_each_plane_goes_up_by_itself(make_planes, launch_tree, gate, ports):
    bed = make_planes(ports, impairment=BAD_NETWORK if ports == "veth" else None, shards=2)
    steps = [
        {"do": "allreduce", "count": 200_000, "dtype": "int32", "repeat": 3, "seed": 1},
        {"do": "allreduce", "count": 50_001, "dtype": "float32", "repeat": 3, "seed": 2},
        {"do": "allreduce", "count": 10, "dtype": "float32", "repeat": 10, "seed": 3},
        {"do": "barrier"},
    ]
    workers = launch_tree(bed).start([*steps, gate.step])
    for worker in workers:
        worker.wait_event("step", len(steps))
    chunks = 3 * (200_000 // 256 // 2 + 50_001 // 256 // 2)  # of each plane, at least
    epochs = {}
    for name in ("A", "root"):
        jobs = planes(bed.show(name, "jobs"))
        # Job 1 begins on lcore 1.
        assert {plane: row["lcore"] for plane, row in jobs.items()} == {0: 1, 1: 0}
        assert all(row["state"] == "running" for row in jobs.values()), jobs
        for row in jobs.values():  # where a sum was lost, the root's engine has finished the chunk
            assert row["completions"] + row["host_results"] >= chunks, row
        assert all(row["aborts"] == 0 for row in jobs.values()), jobs
        epochs[name] = {plane: row["epoch"] for plane, row in jobs.items()}
        lcores = {row["lcore"]: (row["jobs"], row["planes"]) for row in bed.show(name, "lcores")}
        assert lcores == {0: ([1], [1]), 1: ([1], [0])}
    assert epochs["A"] == epochs["root"], "one epoch in the whole tree, of each plane"
    tree = bed.show("A", "tree")
    assert [(row["plane"], row["node"], row["state"], row["refused"]) for row in tree] == [
        (plane, node, state, None)
        for plane in (0, 1)
        for node, state in (("root", "running"), ("rank 0", "present"), ("rank 2", "present"))
    ]
    # Rule 16: a plane of the switch below is bound to a UDP port of its own.
    ends = {
        row["plane"]: row["address"]
        for row in bed.show("root", "members")
        if row["address"].startswith("10.77.0.201")
    }
    assert ends == {0: "10.77.0.201:47000", 1: "10.77.0.201:47002"}
    gate.open()
    stats = exact(workers)
    if ports == "veth":
        assert sum(s["probes"] for s in stats) > 0, "losses that nobody noticed"
    wait_empty(bed)


@pytest.mark.parametrize("victim", [0, 1], ids=["below", "above"])
def test_a_killed_worker_is_named_and_the_job_starts_again(make_planes, launch_tree, victim):
    bed = make_planes(lease="2s")
    launcher = launch_tree(bed)
    workers = launcher.start(LONG, op_timeout=20.0)
    for worker in workers:
        worker.wait_event("progress", 3)
    workers[victim].process.signal(signal.SIGKILL)
    for worker in workers:
        if worker.rank != victim:
            assert worker.fail()["missing_ranks"] == [victim]
            assert all(op["exact"] for op in worker.of("progress"))
    exact(launcher.start(SHORT))
    wait_empty(bed)
    # What ends one plane's epoch makes the ranks leave the other's, where that has not ended, too.
    for name in ("A", "root"):
        jobs = planes(bed.show(name, "jobs"))
        assert sum(row["aborts"] for row in jobs.values()) >= 1, jobs


def test_rule21_both_planes_do_without_a_late_rank(make_planes, launch_tree, gate):
    """T9: what the leaf gives up of each plane, that plane's engine on the root finishes."""
    bed = make_planes(
        deadline="1s", on_deadline="escalate", stragglers={"degraded_after": "3s"}, lease="10s"
    )
    first = {"do": "allreduce", "count": 4000, "dtype": "int32", "seed": 1}
    last = {**first, "seed": 2}
    workers = launch_tree(bed).start(
        lambda rank: ([gate.step] if rank == LATE else []) + [first, {"do": "barrier"}, last]
    )
    in_time = [worker.wait_event("progress") for worker in workers if worker.rank != LATE]
    gate.open()
    exact(workers)
    assert LATE in in_time[0]["missing"]
    for row in planes(bed.show("root", "completion")).values():
        assert row["degraded"] >= 1 and row["left_out"] >= 1, row
    for name in ("A", "root"):
        assert all(row["degraded_results"] >= 1 for row in planes(bed.show(name, "jobs")).values())


def test_a2_switches_with_different_numbers_of_planes_say_both(make_planes, launch_tree):
    """One of them has read a newer file: the ranks are told both numbers until the other has."""
    bed = make_planes(lease="2s")
    bed.topology.jobs[JOB]["planes"] = 1
    bed.write_file()
    bed.reload("root")
    launcher = launch_tree(bed)
    workers = launcher.start(SHORT, join_timeout=4.0)

    def refused():
        parents = [row for row in bed.show("A", "tree") if row["is"] == "parent"]
        return planes(parents)[0]["refused"] == "planes-mismatch: switch 201 has 2, switch 240 has 1"

    bed.loop.wait(refused, 30, "the switch below shows both numbers")
    errors = {worker.rank: worker.fail() for worker in workers}
    for rank in (0, 2):  # those above wait for them
        assert errors[rank]["reason"] == "planes-mismatch", errors
        said = "switch 201 cuts this job into 2 planes, switch 240 above it into 1 plane;"
        assert said in errors[rank]["text"], errors
    bed.reload("A")

    def forgotten():
        return not any(row["present"] for row in bed.show("root", "members"))

    bed.loop.wait(forgotten, 30, "those who have given up are not taken for members")
    exact(launcher.start(SHORT))
    assert [row["plane"] for row in bed.show("A", "jobs")] == [0]
