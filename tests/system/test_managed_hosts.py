"""Completion hosts of a manager's jobs (T10, T11): switches take them up while they run, the manager
ranks them by what their ports carry, and says so."""

import re
import signal

import pytest
from manager_bed import LIMIT_S, SWITCHES, managed_switches, started_cluster

JOB = {
    "name": "train",
    "workers": 5,
    "deadline": "200ms",
    "arithmetic": "modular",
    "completion_hosts": ["A", "B", "root"],
    "host_choice": "least_load",
}
OP = {"do": "allreduce", "count": 4000, "dtype": "int32"}


@pytest.fixture
def bed(make_tree, tmp_path):
    return managed_switches(make_tree, tmp_path)


@pytest.fixture
def cluster(bed, tmp_path):
    return started_cluster(bed, tmp_path)


def start_ranks(launch_tree, bed, job, steps):
    launcher = launch_tree(bed)
    return [
        launcher.start_rank(
            member["rank"], job["workers"], steps(member["rank"]), job["id"], member["worker"]
        )
        for member in job["members"]
    ]


def completions(bed, switch):
    return sum(row["completions"] for row in bed.show(switch, "seats"))


def decisions(cluster):
    return [event["reason"] for event in cluster.ask("job", "events") if event["kind"] == "host"]


def completion(cluster):
    rows = cluster.ask("job", "show", "train").get("completion")
    return rows[0] if rows else {"host": "", "state": "", "chosen": ""}


def test_t10_switches_take_up_and_drop_hosted_jobs_while_they_run(cluster, bed, launch_tree):
    for turn in range(2):
        job = cluster.submit({**JOB, "host_choice": "fixed"}, "--wait")
        cluster.wait(
            lambda: all(row["silent_ms"] is not None for row in bed.show("root", "hosts")),
            "the root has heard of its hosts",
        )
        ranks = start_ranks(
            launch_tree,
            bed,
            job,
            lambda rank, turn=turn: [{**OP, "repeat": 2, "seed": turn, "compute_s": 0.8 if rank == 0 else 0}],
        )
        for rank in ranks:
            rank.finish()
        assert completions(bed, "A") >= 1 and completions(bed, "B") == 0
        assert cluster.run("job", "cancel", "train").returncode == 0
        cluster.wait(cluster.is_idle, "everything is free")
        assert not any(bed.show(name, "hosts") + bed.show(name, "seats") for name in SWITCHES)


def test_t11_the_manager_ranks_the_hosts_and_again_when_one_dies(cluster, bed, launch_tree, gate):
    job = cluster.submit(JOB, "--wait", policy="manager")

    def late(rank):
        return {**OP, "repeat": 2, "compute_s": 0.8 if rank == 0 else 0}

    cluster.wait(lambda: decisions(cluster), "the manager has ranked the hosts")
    (first,) = decisions(cluster)
    best = re.match(r"chunks go to (\w+): A \d+ KiB/s, B \d+ KiB/s$", first)[1]
    cluster.wait(lambda: completion(cluster)["chosen"] == "requested", "the root is told")
    ranks = start_ranks(launch_tree, bed, job, lambda rank: [late(rank), gate.step])
    cluster.wait(lambda: completions(bed, best) >= 1, "the best finishes what is late")
    cluster.wait(lambda: completion(cluster)["state"] == "serving", "it is reported")
    row = completion(cluster)
    assert (row["host"], row["ranking"]) == (best, first), row
    shown = cluster.run("job", "show", "train").stdout
    assert f"ranked by the manager: {first}\n" in shown, shown
    gate.open()
    for rank in ranks:
        rank.finish()
    # The root hears of a host that is gone before the manager does; both go on with the other one.
    other = "B" if best == "A" else "A"
    bed.switches[best].signal(signal.SIGKILL)
    bed.switches[best].wait_exit(LIMIT_S)
    cluster.wait(lambda: len(decisions(cluster)) == 2, "the manager ranks what is left")
    assert decisions(cluster)[1].startswith(f"chunks go to {other}: "), decisions(cluster)
    assert f"{best} is away" in decisions(cluster)[1]
    cluster.wait(lambda: completion(cluster)["host"] == other, "the other one is to serve")
    bed.start_switch(best)
    cluster.wait(
        lambda: cluster.ask("job", "show", "train")["state"] == "RUNNING", "all have the job"
    )
    for rank in start_ranks(launch_tree, bed, job, lambda rank: [late(rank)]):
        rank.finish()
    assert completions(bed, other) >= 1 and completions(bed, best) == 0
    assert len(decisions(cluster)) == 2, decisions(cluster)


def test_t10_hosts_that_cannot_be_are_refused_with_the_reason(cluster):
    def refusal(hosts, **more):
        job = {**JOB, "completion_hosts": hosts, **more}
        done = cluster.run("job", "submit", cluster.request(job))
        assert done.returncode == 1
        return done.stderr

    assert "names 'a0', a worker, which is told of its jobs by its file when it starts" in refusal(["a0"])
    assert "names 'C', and the topology has no such switch; allowed: " in refusal(["C"])
    on_a = [{"rank": rank, "worker": f"a{rank}"} for rank in range(2)]
    assert "switch 'B' sums nothing of the job" in refusal(["B"], workers=2, members=on_a)
