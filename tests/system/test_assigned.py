"""A tree with no job in any switch's file: a manager's documents bring jobs to running switches,
which keep them over kill -9 and free everything when the jobs are gone (T20)."""

import json
import signal
import socket

import pytest
import yaml

LIMIT_S = 50
SWITCHES = ("root", "A", "B")
WORKERS = ("a0", "a1", "a2", "b0", "b1")
JOB = {"id": 7, "name": "seven", "workers": 5, "arithmetic": "modular"}
STEPS = [{"do": "allreduce", "count": 5_000, "dtype": "int32", "repeat": 3, "seed": 4}]


def switch(number, name, ports, **more):
    return {
        "name": name,
        "id": number,
        "address": f"10.77.0.{200 + number}",
        "memory": {"megabytes": 64, "reserve_megabytes": 16},
        "ports": [
            {"name": port, "devargs": f"net_null{index}"} for index, port in enumerate(ports)
        ],
        **more,
    }


@pytest.fixture
def bed(make_tree, tmp_path):
    def leaf(number, name):
        ports = ["up", *(f"p{worker[1]}" for worker in WORKERS if worker[0] == name.lower())]
        return switch(number, name, ports, parent="root", parent_port=name.lower(), uplink="up")

    tree = {
        "switches": [switch(1, "root", ["a", "b"]), leaf(2, "A"), leaf(3, "B")],
        "workers": [
            {
                "name": name,
                "switch": name[0].upper(),
                "port": f"p{name[1]}",
                "address": f"10.77.1.{number + 1}",
            }
            for number, name in enumerate(WORKERS)
        ],
    }
    file = tmp_path / "tree.yaml"
    file.write_text(yaml.safe_dump(tree))
    return make_tree(file, assigned=True)


def ask(bed, name, request):
    """The switch's reply to one request, as JSON."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(LIMIT_S)
        channel.connect(str(bed.socket(name)))
        channel.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(channel.makefile().readline())


def assign(bed, tmp_path, revision, jobs, term=1, names=SWITCHES, **more):
    """The replies of these switches to the document of that revision."""
    tree = yaml.safe_load((bed.run / "topology.yaml").read_text())
    replies = []
    for name in names:
        file = tmp_path / f"{name}.yaml"
        document = {
            "term": term,
            "revision": revision,
            "node": name,
            "topology": {**tree, "jobs": jobs},
        }
        file.write_text(yaml.safe_dump(document))
        replies.append(ask(bed, name, {"command": "assign", "file": str(file), **more}))
    return replies


def sums_exactly(bed, launch_tree):
    launcher = launch_tree(bed)
    ranks = [
        launcher.start_rank(rank, len(WORKERS), STEPS, JOB["id"], worker)
        for rank, worker in enumerate(WORKERS)
    ]
    for rank in ranks:
        rank.finish()


def jobs_of(bed, name):
    return [row["job"] for row in bed.show(name, "jobs")]


def test_jobs_come_and_go_without_a_file(bed, tmp_path, launch_tree):
    idle = [bed.show(name, "buffers") for name in SWITCHES]
    assert idle and all(jobs_of(bed, name) == [] for name in SWITCHES)
    for reply in assign(bed, tmp_path, 1, [JOB], dry_run=True):
        assert reply["data"]["change"] == "jobs: 7 added; 0 as before", reply
    assert all(jobs_of(bed, name) == [] for name in SWITCHES)

    assert all(reply["ok"] for reply in assign(bed, tmp_path, 1, [JOB]))
    sums_exactly(bed, launch_tree)
    (row,) = bed.show("A", "assigned")
    assert (row["term"], row["revision"], row["jobs"]) == (1, 1, "seven")

    assert all(reply["ok"] for reply in assign(bed, tmp_path, 2, []))
    assert all(jobs_of(bed, name) == [] for name in SWITCHES)
    # What was freed is there for the next job.
    assert all(reply["ok"] for reply in assign(bed, tmp_path, 3, [JOB]))
    sums_exactly(bed, launch_tree)


def test_t10_jobs_that_switches_host_come_and_go(bed, tmp_path, launch_tree):
    hosted = {**JOB, "deadline": "200ms", "completion_hosts": ["A", "B", "root"]}
    for revision in (1, 3):
        assert all(reply["ok"] for reply in assign(bed, tmp_path, revision, [hosted]))
        bed.loop.wait(
            lambda: all(row["silent_ms"] is not None for row in bed.show("root", "hosts")),
            LIMIT_S,
            "the root has heard of its host",
        )
        op = {"do": "allreduce", "count": 4000, "dtype": "int32", "repeat": 2, "seed": revision}
        launcher = launch_tree(bed)
        ranks = [
            launcher.start_rank(
                rank, 5, [{**op, "compute_s": 0.8 if rank == 0 else 0}], JOB["id"], worker
            )
            for rank, worker in enumerate(WORKERS)
        ]
        for rank in ranks:
            rank.finish()
        (row,) = bed.show("root", "hosts")
        assert row["host"] == "A", row
        assert [sum(seat["completions"] for seat in bed.show(name, "seats")) > 0 for name in SWITCHES] == [
            False,
            True,
            False,
        ]
        assert all(reply["ok"] for reply in assign(bed, tmp_path, revision + 1, []))
        assert not any(bed.show(name, "hosts") + bed.show(name, "seats") for name in SWITCHES)


def test_a_killed_switch_starts_with_both_documents(bed, tmp_path, launch_tree):
    assign(bed, tmp_path, 1, [JOB])
    sums_exactly(bed, launch_tree)
    for name in SWITCHES:
        bed.switches[name].signal(signal.SIGKILL)
        bed.switches[name].wait_exit(LIMIT_S)
        bed.start_switch(name)
        assert jobs_of(bed, name) == [JOB["id"]]
    sums_exactly(bed, launch_tree)


def test_bad_documents_change_nothing(bed, tmp_path):
    assign(bed, tmp_path, 5, [JOB], term=2)
    for version in ({"term": 1, "revision": 9}, {"term": 2, "revision": 4}):
        (reply,) = assign(bed, tmp_path, jobs=[], names=["A"], **version)
        assert not reply["ok"] and "term 2, revision 5 is in force" in reply["error"], reply
    (reply,) = assign(bed, tmp_path, 6, [{**JOB, "window": 4096, "shards": 16}], 2, ["A"])
    assert not reply["ok"], reply
    (reply,) = assign(bed, tmp_path, 6, [{**JOB, "workers": 9}], 2, ["A"])
    assert not reply["ok"] and "no worker has rank 5" in reply["error"], reply
    reply = ask(bed, "A", {"command": "set", "values": {"jobs.7.window": "32"}})
    assert not reply["ok"] and "assigned by the manager" in reply["error"], reply
    assert jobs_of(bed, "A") == [JOB["id"]]
