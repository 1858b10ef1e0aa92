"""Several managers on one etcd: one leads, by a lease; the others follow, and take over when it is killed,
stands still or cannot reach etcd. Running jobs notice none of it (T20)."""

import signal
import urllib.error

import pytest
import yaml
from etcd_bed import MANAGERS, MEMBERS, Managers
from manager_bed import LIMIT_S, SWITCHES, kills_at_any_instant, tree

JOB = {"name": "train", "workers": 4, "arithmetic": "modular"}
STEP = {"do": "allreduce", "count": 5_000, "dtype": "int32", "repeat": 3, "seed": 4}


@pytest.fixture
def bed(make_tree, tmp_path):
    file = tmp_path / "tree.yaml"
    file.write_text(yaml.safe_dump(tree()))
    return make_tree(file, assigned=True)


@pytest.fixture
def cluster(bed, tmp_path):
    made = Managers(bed, tmp_path)
    made.start_agent()
    return made


def start_ranks(launch_tree, bed, job, steps):
    launcher = launch_tree(bed)
    return [
        launcher.start_rank(member["rank"], job["workers"], steps, job["id"], member["worker"])
        for member in job["members"]
    ]


def healthz(cluster):
    """None between leading and following, when its port is bound anew."""
    try:
        return cluster.healthz()[0]
    except urllib.error.URLError:
        return None


def test_one_leads_and_is_followed_within_its_lease(cluster, bed, launch_tree, gate):
    first = cluster.await_leader()
    follower = next(name for name in MANAGERS if name != first)
    done = cluster.run("job", "list", manager=cluster.only(follower))
    assert done.returncode == 1 and f"manager {first} leads, at unix:" in done.stderr, done
    cluster.manager = cluster.managers[follower]
    assert cluster.healthz()[0] == 200 and f"manager {first} leads" in cluster.healthz()[1]
    cluster.manager = cluster.managers[first]
    job = cluster.submit(JOB, "--wait")
    ranks = start_ranks(launch_tree, bed, job, [STEP, gate.step, STEP])
    for rank in ranks:
        rank.wait_event("step")
    epochs = [bed.show(name, "jobs")[0]["epoch"] for name in SWITCHES]
    before = cluster.term()
    cluster.kill_manager()
    gate.open()
    for rank in ranks:
        rank.wait_event("step", 2)
        rank.finish()
    second = cluster.await_leader()
    assert second != first and cluster.term() > before
    cluster.wait(
        lambda: cluster.ask("job", "show", "train")["state"] == "RUNNING", "the agent is back"
    )
    assert cluster.ask("job", "show", "train")["id"] == job["id"]
    assert [bed.show(name, "jobs")[0]["epoch"] for name in SWITCHES] == epochs
    # One that ends in order gives its lease up.
    cluster.start_manager()
    cluster.manager.stop()
    cluster.await_leader()
    assert cluster.run("job", "cancel", "train").returncode == 0
    cluster.wait(cluster.is_idle, "everything is free")
    assert sorted(cluster.etcd.keys("tributary/")) == [
        "tributary/leader",
        "tributary/state/state",
    ]


def test_kills_of_the_leader_at_any_instant_lose_and_repeat_nothing(cluster):
    kills_at_any_instant(cluster, {**JOB, "workers": 2}, turns=8)


def test_a_leader_that_stood_still_decides_nothing_more(cluster):
    first = cluster.await_leader()
    old = cluster.manager
    old.signal(signal.SIGSTOP)
    try:
        cluster.wait(
            lambda: any(cluster.leads(name) for name in MANAGERS if name != first), "another leads"
        )
        job = cluster.submit(JOB, "--wait")
    finally:
        old.signal(signal.SIGCONT)
    alone = cluster.only(first)
    done = cluster.run("job", "submit", cluster.request({**JOB, "name": "late"}), manager=alone)
    assert done.returncode == 1, done
    cluster.wait(
        lambda: "leads, at" in cluster.run("job", "list", manager=alone).stderr,
        "the old one follows",
    )
    assert [row["id"] for row in cluster.ask("job", "list")] == [job["id"]]
    # Its switches have a document of the new leader.
    term = str(cluster.term())
    cluster.wait(
        lambda: all(sw["term"] == term for sw in cluster.ask("topology")["switches"]),
        "switches have it",
    )


@pytest.mark.parametrize("fault", ["gone", "slow"])
def test_without_etcd_jobs_run_on_and_admissions_say_why_they_wait(
    cluster, bed, launch_tree, gate, fault
):
    job = cluster.submit(JOB, "--wait")
    ranks = start_ranks(launch_tree, bed, job, [STEP, gate.step, STEP])
    for rank in ranks:
        rank.wait_event("step")
    if fault == "gone":
        cluster.etcd.kill(*MEMBERS)
    else:
        for member in MEMBERS:
            cluster.etcd.processes[member].signal(signal.SIGSTOP)
    try:
        done = cluster.run("job", "submit", cluster.request({**JOB, "name": "late", "workers": 1}))
        assert done.returncode == 1 and "store etcd:127.0.0.1:" in done.stderr, done
        cluster.wait(lambda: healthz(cluster) == 503, "the manager says that it is not well")
        gate.open()
        for rank in ranks:
            rank.wait_event("step", 2)
            rank.finish()
    finally:
        for member in MEMBERS:
            if fault == "gone":
                cluster.etcd.start(member)
            else:
                cluster.etcd.processes[member].signal(signal.SIGCONT)
    cluster.wait(cluster.etcd.answers, "etcd is back")
    cluster.await_leader()
    assert cluster.ask("job", "show", "train")["id"] == job["id"]
    there = {row["name"] for row in cluster.ask("job", "list")}
    assert "train" in there
    for name in sorted(there):
        # Right after its return, a member may still be dialled.
        cluster.wait(lambda name=name: cluster.run("job", "cancel", name).returncode == 0, f"{name} ends")
    cluster.wait(cluster.is_idle, "everything is free")


def test_a_member_of_etcd_that_is_killed_is_not_noticed(bed, tmp_path):
    # etcd's own election takes some seconds where machines are slow.
    cluster = Managers(bed, tmp_path, lease_s=20)
    term = cluster.term()
    for member in MEMBERS:
        cluster.etcd.kill(member)
        request = cluster.request({**JOB, "name": f"no-{member}", "workers": 1})
        cluster.wait(
            lambda request=request: cluster.run("job", "submit", request).returncode == 0,
            f"a decision without {member}",
        )
        cluster.etcd.start(member)
        cluster.wait(cluster.etcd.answers, f"{member} is back")
    assert len(cluster.ask("job", "list")) == len(MEMBERS)
    assert cluster.term() == term


def test_bad_stores_are_refused_at_the_start(tmp_path, bed):
    tenants = tmp_path / "tenants.yaml"
    tenants.write_text("tenants: [{name: a}]\n")
    for words, text in (
        (("--store", "etcd:a", "--name", "M_1"), "allowed: 1 to 63 of a-z"),
        (("--store", "etcd:a:0"), "has no port from 1 to 65535"),
        (("--store", "etcd:"), "a host has no name"),
        (("--store", "etcd:a", "--etcd-cert", "x"), "--etcd-cert and --etcd-key go together"),
        (("--store", "etcd:a", "--etcd-ca", tmp_path / "none.pem"), "none.pem"),
        (("--store", "mongo:a"), "allowed: sqlite:PATH or etcd:"),
    ):
        daemon = bed.start(
            "bad",
            [f"{bed.build}/bin/tributary-managerd", "--topology", bed.run / "topology.yaml"]
            + ["--tenants", tenants, "--socket", tmp_path / "bad.sock", *words],
            "bad",
        )
        assert daemon.wait_exit(LIMIT_S) == (2 if "--name" in words else 1), daemon.describe()
        assert any(text in line for line in daemon.stderr), daemon.describe()
