"""Completion hosts on switches of a tree (T9, T10, T11): the engine is where the stragglers are."""

import subprocess

import pytest
from testbed.tree import TOP, binary

HOSTS = TOP / "examples/hosts-5.yaml"
OP = {"do": "allreduce", "count": 4000, "dtype": "int32"}


def start_tree(make_tree, **job_options):
    bed = make_tree(HOSTS, job_options=job_options)

    def alive():
        return all(row["silent_ms"] is not None for row in bed.show("root", "hosts"))

    bed.loop.wait(alive, 20, "the root has heard of its hosts")
    return bed


def completions(bed, switch):
    return sum(row["completions"] for row in bed.show(switch, "seats"))


# A host that is a switch cannot notify everybody itself; test_servers.py has hosts that do.
@pytest.mark.parametrize("notify", ["root", "switch"])
def test_t9_the_parent_of_a_late_worker_finishes_its_sums(make_tree, launch_tree, notify):
    bed = start_tree(make_tree, notify=notify)
    late = launch_tree(bed).start(
        lambda rank: [{**OP, "repeat": 2, "compute_s": 0.8 if rank == 2 else 0}]
    )
    for worker in late:
        worker.finish()
    row = bed.show("root", "hosts")[0]
    assert (row["host"], row["choice"], row["chosen"]) == ("A", "fixed", "policy"), row
    assert completions(bed, "A") >= 1
    assert completions(bed, "B") == 0
    assert sum(row["completions"] for row in bed.show("root", "completion")) == 0
    assert bed.show("root", "jobs")[0]["aborts"] == 0


def test_t11_an_election_moves_the_engine_while_ops_run(make_tree, launch_tree):
    # Every sum is verified, and so waits for the host.
    bed = start_tree(make_tree, host_choice="least_load", verify=True)

    def place_host(*arguments):
        return subprocess.run(
            [binary(bed.build, "tributary"), "place-host", *arguments]
            + ["--socket", bed.socket("root")],
            capture_output=True,
            text=True,
            timeout=20,
        )

    workers = launch_tree(bed).start([{**OP, "repeat": 400}])
    workers[0].wait_event("progress", 3)
    before = bed.show("root", "hosts")[0]
    assert (before["host"], before["state"]) == ("A", "serving"), before
    done = place_host("1", "--load", "A=7", "--load", "B=2")
    assert done.returncode == 0, done.stderr
    for worker in workers:
        worker.finish()
    after = bed.show("root", "hosts")[0]
    assert (after["host"], after["chosen"]) == ("B", "requested"), after
    assert after["term"] == before["term"] + 1
    assert completions(bed, "A") > 0 and completions(bed, "B") > 0
    assert bed.show("root", "jobs")[0]["aborts"] == 0
    unknown = place_host("1", "--load", "C=1")
    assert unknown.returncode == 1
    assert "job 1: has no completion host 'C'; allowed: A, B" in unknown.stderr
