"""A4: jobs that no file names. Switches learn them from what ranks bring: inline, or once."""

import os
import signal

import pytest
import yaml
from testbed.tree import TOP

FIVE = TOP / "examples/two-level-5.yaml"
SWITCHES = ("root", "A", "B")
NODES = ("w1", "w2", "w4", "w5")  # two units at A, two at B
SHORT = [
    {"do": "allreduce", "count": 20_000, "dtype": "float32", "repeat": 3, "seed": 4},
    {"do": "barrier"},
]
PATIENCE_S = 50


def tree(folder, **bounds):
    """The file of a tree without jobs, whose switches open one at once."""
    topology = yaml.safe_load(FIVE.read_text())
    del topology["jobs"]
    for switch in topology["switches"]:
        switch["open_jobs"] = {"ids": "1000-1999", "jobs": 1, "slots": 64, "lease": "5s", **bounds}
    path = folder / "open.yaml"
    path.write_text(yaml.safe_dump(topology))
    return path


def start(launcher, steps, job, **opened):
    opened = {"open": "inline", "units": 2, "nodes": 2, **opened}
    return [
        launcher.start_rank(rank, 4, steps, job, worker, opened=opened)
        for rank, worker in enumerate(NODES)
    ]


def jobs(bed):
    return {name: [row["job"] for row in bed.show(name, "jobs")] for name in SWITCHES}


def wait_for(bed, what, text):
    bed.loop.wait(what, PATIENCE_S, text)


@pytest.mark.parametrize("how", ["inline", "control"])
def test_a4_two_levels_and_the_next_job_in_its_place(make_tree, launch_tree, tmp_path, how):
    bed = make_tree(tree(tmp_path))
    launcher = launch_tree(bed)
    assert jobs(bed) == {name: [] for name in SWITCHES}
    opened = {"open": how, "units": 2, "nodes": 2, "window": 32}
    # With `control`, ranks 1 and 3 bring nothing, and wait for the units that do.
    ranks = [launcher.start_rank(rank, 4, SHORT, 1000, NODES[rank], opened=opened) for rank in (1, 3)]
    ranks += [launcher.start_rank(rank, 4, SHORT, 1000, NODES[rank], opened=opened) for rank in (0, 2)]
    for rank in ranks:
        rank.finish()
    for name in SWITCHES:
        rows = bed.show(name, "jobs")
        assert [(row["job"], row["open"], row["workers"]) for row in rows] == [(1000, True, 4)]
    lines = [row["text"] for row in bed.show("A", "events")]
    assert "job 1000 is opened by a rank: units 2, nodes 2, window 32, chunk_bytes 1024" in lines
    bed.reload("root")
    bed.reload("A")
    assert jobs(bed) == {name: [1000] for name in SWITCHES}, "it lives through a reload"
    wait_for(bed, lambda: not any(jobs(bed).values()), "the job's lease ends it everywhere")
    lines = [row["text"] for row in bed.show("root", "events")]
    assert "job 1000, which a rank opened, ends: its members were silent for 5s" in lines
    for rank in start(launcher, SHORT, 1001, chunk_bytes=4096):
        rank.finish()
    assert jobs(bed) == {name: [1001] for name in SWITCHES}


def test_a4_what_does_not_fit_is_refused_with_figures(make_tree, launch_tree, tmp_path, gate):
    bed = make_tree(tree(tmp_path))
    launcher = launch_tree(bed)

    def refusal(job, rank=0, size=4, worker="w1", **opened):
        opened = {"open": "inline", "units": 2, "nodes": 2, **opened}
        return launcher.start_rank(rank, size, SHORT, job, worker, opened=opened).fail()

    error = refusal(1000, window=128)
    assert error["reason"] == "open-refused"
    assert "with it, switch 201 would need 128 slots for jobs that ranks open; there are 64" in error["text"]
    running = start(launcher, [gate.step, *SHORT], 1000)
    for rank in running:
        rank.wait_event("joined")
    error = refusal(1001)
    assert error["reason"] == "open-refused"
    assert "job 1001: the switch refused rank 0 of 4" in error["text"]
    assert "switch 201 would need 2 jobs that ranks open; there are 1" in error["text"]
    error = refusal(1000, worker="w3", window=16)
    assert error["reason"] == "other-task"
    assert (
        "switch 201 has opened it with units 2, nodes 2, window 64, chunk_bytes 1024; "
        "this rank says units 2, nodes 2, window 16, chunk_bytes 1024" in error["text"]
    )
    gate.open()
    for rank in running:
        rank.finish()


def test_a4_the_switch_above_refuses_and_those_below_pass_it_on(make_tree, launch_tree, tmp_path):
    bed = make_tree(tree(tmp_path))
    launcher = launch_tree(bed)
    opened = {"open": "inline", "units": 2, "nodes": 3}
    ranks = [launcher.start_rank(r, 6, SHORT, 1000, NODES[r], opened=opened) for r in (0, 1)]
    for error in [rank.fail() for rank in ranks]:
        assert error["reason"] == "open-refused"
        assert "it has 3 nodes, and switch 250 can sum with 2" in error["text"]


def test_a4_one_switch_ends_a_job_of_one_node(make_tree, launch_tree, tmp_path):
    bed = make_tree(tree(tmp_path))
    launcher = launch_tree(bed)
    ranks = [
        launcher.start_rank(rank, 2, SHORT, 1000, worker, opened={"open": "inline"})
        for rank, worker in enumerate(("w1", "w2"))
    ]
    for rank in ranks:
        rank.finish()
    assert jobs(bed) == {"root": [], "A": [1000], "B": []}
    # It is in no file, and no restart knows it.
    bed.switches["A"].signal(signal.SIGKILL)
    bed.start_switch("A")
    assert jobs(bed)["A"] == []
    assert os.listdir(tmp_path) == ["open.yaml"]
