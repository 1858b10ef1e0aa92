"""Stragglers on a tree of real switches: late by deadline, excluded by history, and by hand."""

import json
import subprocess

from testbed.tree import TOP, binary

FIVE = TOP / "examples/two-level-5.yaml"
POLICY = {
    "exclude": "threshold",
    "ops": 8,
    "threshold": "300ms",
    "recovered_below": "150ms",
    "recovered_ops": 4,
}


def client_of(bed, switch, *arguments):
    return subprocess.run(
        [binary(bed.build, "tributary"), *arguments, "--socket", bed.socket(switch)],
        capture_output=True,
        text=True,
        timeout=30,
    )


def straggler(bed, node, rank):
    rows = [row for row in bed.show(node, "stragglers") if row["job"] == 1]
    return next(row for row in rows if row["node"] == f"rank {rank}")


def events(bed, switch):
    told = client_of(bed, switch, "events", "--json")
    assert told.returncode == 0, told.stderr
    return [event["text"] for event in json.loads(told.stdout)]


def test_t1_t13_first_3_is_late_by_deadline_then_1_is_excluded_by_history(make_tree, launch_tree):
    """root{A{1,2,3},B{4,5}}: worker 3 misses a deadline once; worker 1 is late in every op, is
    excluded by A, and taken back when it is well. All sums are exact."""
    bed = make_tree(
        FIVE,
        job_options={"deadline": "1s", "on_deadline": "escalate", "stragglers": POLICY},
    )

    def steps(rank):
        op = {"do": "allreduce", "count": 500, "dtype": "float32"}
        return [
            {**op, "seed": 1, "compute_s": 1.6 if rank == 2 else 0},
            {**op, "seed": 2, "repeat": 14, "compute_s": 0.6 if rank == 0 else 0},
            {**op, "seed": 3, "repeat": 1000},
        ]

    for worker in launch_tree(bed).start(steps):
        worker.finish()
    assert straggler(bed, "A", 2)["missed_deadlines"] >= 1
    assert straggler(bed, "A", 2)["excluded"] is None
    for rank, port in ((0, "w1"), (2, "w3")):
        row = straggler(bed, "A", rank)
        assert (row["port"], row["link"]) == (port, "up"), row
    rows = [row for row in bed.show("A", "stragglers") if row["job"] == 1]
    assert sum(row["first"] for row in rows) == sum(row["last"] for row in rows) > 0, rows
    assert straggler(bed, "A", 0)["excluded"].startswith("from op "), "worker 1 was excluded"
    assert " to op " in straggler(bed, "A", 0)["excluded"], "and taken back"
    said = bed.switches["A"].describe()
    for text in ("job 1: rank 0 is excluded from op", "job 1: rank 0 takes part again from op"):
        assert text in said
        assert any(line.startswith(text) for line in events(bed, "A")), events(bed, "A")
    host = bed.show("root", "completion")[0]
    assert host["by_deadline"] >= 1
    assert host["by_excluded"] >= 1


def test_t13_excluded_by_hand(make_tree, launch_tree, gate):
    bed = make_tree(FIVE)

    def client(*arguments):
        return client_of(bed, "B", *arguments)

    ops = {"do": "allreduce", "count": 4000, "dtype": "int32", "repeat": 5}
    workers = launch_tree(bed).start([ops, gate.step, ops])
    for worker in workers:
        worker.wait_event("step")
    done = client("exclude", "1", "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "rank 4 of job 1 is excluded from op 5 on\n"
    again = client("exclude", "1", "4")
    assert again.returncode == 1 and "it is excluded already, from op" in again.stderr
    last = client("exclude", "1", "3")
    assert last.returncode == 1 and "no child would be left" in last.stderr
    elsewhere = client("exclude", "1", "0")
    assert elsewhere.returncode == 1 and "no child of this switch" in elsewhere.stderr
    begun = client("reinstate", "1", "4", "--from", "0")
    assert begun.returncode == 1 and "the op has begun; allowed: --from" in begun.stderr
    assert client("reinstate", "1", "4", "--from", "20").returncode == 0
    assert [line for line in events(bed, "B") if "by command" in line] == [
        "job 1: rank 4 is excluded by command from op 5 on",
        "job 1: rank 4 takes part again by command from op 20 on",
    ]
    gate.open()
    for worker in workers:
        worker.finish()
    assert bed.show("root", "completion")[0]["by_excluded"] >= 5
