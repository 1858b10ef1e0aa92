"""The manager, its agent and real switches: a job from its submission to exact sums and to nothing left
(T20), over kill -9 of the manager at any instant, and callers who may not."""

import json
import os
import random
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import yaml
from manager_bed import (
    LIMIT_S,
    RANK,
    SWITCHES,
    WORKERS,
    Authority,
    Cluster,
    kills_at_any_instant,
    managed_switches,
    started_cluster,
    tree,
)
from testbed.tree import binary, build_directory

TOP = Path(__file__).resolve().parents[2]
JOB = {"name": "train", "workers": 4, "arithmetic": "modular"}
STEP = {"do": "allreduce", "count": 5_000, "dtype": "int32", "repeat": 3, "seed": 4}


@pytest.fixture
def bed(make_tree, tmp_path):
    return managed_switches(make_tree, tmp_path)


@pytest.fixture
def cluster(bed, tmp_path):
    return started_cluster(bed, tmp_path)


def start_ranks(launch_tree, bed, job, steps):
    launcher = launch_tree(bed)
    return [
        launcher.start_rank(member["rank"], job["workers"], steps, job["id"], member["worker"])
        for member in job["members"]
    ]


def test_a_job_from_its_request_to_nothing_left(cluster, bed, launch_tree):
    job = cluster.submit(JOB, "--wait")
    assert job["state"] == "RUNNING" and len(job["members"]) == 4, job
    assert {share["name"] for share in job["switches"]} == set(SWITCHES)
    for member in job["members"]:
        assert member["address"] == bed.address(member["worker"])
    for rank in start_ranks(launch_tree, bed, job, [STEP]):
        rank.finish()
    cluster.wait(lambda: len(cluster.ask("stragglers")) == 4, "the agent has told of every rank")
    ranks = cluster.ask("stragglers", "train")
    assert {row["worker"] for row in ranks} == {member["worker"] for member in job["members"]}
    assert [row["mean_ms"] for row in ranks] == sorted((row["mean_ms"] for row in ranks), reverse=True)
    assert len(cluster.ask("stragglers", "--most", 1)) == 1 and not cluster.ask("stragglers", "other")
    topology = cluster.ask("topology")
    assert all(sw["connected"] and sw["jobs"] == [job["id"]] for sw in topology["switches"])
    assert "train" in cluster.run("topology").stdout
    assert cluster.run("job", "cancel", "train").stdout == "train: cancelled\n"
    cluster.wait(cluster.is_idle, "everything is free")
    kinds = [event["kind"] for event in cluster.ask("job", "events") if event["job"] == "train"]
    assert kinds == ["queued", "admitted", "running", "cancelled"]


def test_tributary_run_starts_the_ranks_of_its_workers(cluster, bed):
    request = cluster.request(JOB)
    # The ranks share the output, and an echo is one write.
    show = 'echo "$TRIBUTARY_JOB $RANK $WORLD_SIZE $1"'
    command = ["run", "--manager", f"unix:{cluster.socket}", "--job", "train", "--submit", request]
    for name in WORKERS:
        command += ["--worker", name]
    done = cluster.run(*command, "--", "sh", "-c", show, "sh", "[a,b]", manager=("x",))
    assert done.returncode == 0, done.stderr
    (job,) = cluster.ask("job", "list")
    assert sorted(done.stdout.splitlines()) == [f"{job['id']} {rank} 4 [a,b]" for rank in range(4)]
    done = cluster.run(*command, "--", "sh", "-c", "exit 7", manager=())
    assert done.returncode == 7
    nowhere = ["run", "--manager", f"unix:{cluster.socket}", "--job", "train", "--worker", "zz"]
    done = cluster.run(*nowhere, "--", "true", manager=())
    assert done.returncode == 1 and "name this node's with --worker" in done.stderr


@pytest.mark.parametrize("command", [("job", "list"), ("topology",)])
def test_the_command_line_goes_before_the_environment(cluster, monkeypatch, command):
    monkeypatch.setenv("TRIBUTARY_MANAGER", f"unix:{cluster.folder}/none.sock")
    assert cluster.run(*command).returncode == 0
    gave_up = cluster.run(*command, manager=("--json",)).stderr
    assert re.search("no manager answers at .*none.sock: .*No such file.*; gave up after 10 s", gave_up), gave_up


def test_t13_the_manager_excludes_who_is_late_and_takes_it_back(cluster, bed, launch_tree, gate):
    """T13: with `policy: manager` the stragglers are the manager's, and not each switch's own."""
    policy = {"exclude": "largest", "most": 1, "ops": 8, "recovered_below": "150ms"}
    job = {"name": "train", "workers": 5, "stragglers": policy}
    job = cluster.submit(job, "--wait", policy="manager")
    late = next(member["worker"] for member in job["members"] if member["rank"] == 0)

    def steps(rank):
        op = {"do": "allreduce", "count": 500, "dtype": "float32"}
        slow = {**op, "seed": 2, "repeat": 40, "compute_s": 0.4 if rank == 0 else 0}
        return [slow, {**op, "seed": 3, "repeat": 50}, gate.step, {**op, "seed": 4, "repeat": 20}]

    launcher = launch_tree(bed)
    ranks = [
        launcher.start_rank(
            member["rank"], job["workers"], steps(member["rank"]), job["id"], member["worker"]
        )
        for member in job["members"]
    ]

    def row():
        rows = cluster.ask("stragglers", "train")
        return next((row for row in rows if row["rank"] == 0), {"excluded": ""})

    # As `show stragglers` of the switch has it.
    cluster.wait(lambda: row().get("last", 0) > row().get("first", 0), "rank 0 is the last to come")
    assert re.search(r"first +last", cluster.run("stragglers", "train").stdout)
    cluster.wait(lambda: row()["excluded"].startswith("from op "), "rank 0 is excluded")
    assert row()["worker"] == late
    cluster.wait(lambda: " to op " in row()["excluded"], "rank 0 takes part again")
    gate.open()
    for rank in ranks:
        rank.finish()
    said = [event["reason"] for event in cluster.ask("job", "events") if event["kind"] == "straggler"]
    assert any(f"rank 0 ({late}) at A is to be excluded" in line for line in said), said
    assert any("is to take part again" in line for line in said), said
    assert not any("is excluded from op" in bed.switches[name].describe() for name in SWITCHES)
    for told in ("rank 0 is excluded by command from op", "rank 0 takes part again by command from op"):
        assert told in bed.switches["A"].describe()


def test_clients_wait_for_a_manager_that_starts(cluster, bed):
    """Each client has its connection closed once, and then finds none that listens."""
    cluster.kill_manager()
    cluster.socket.unlink()
    to = f"unix:{cluster.socket}"
    command = [binary(bed.build, "tributary"), *("--manager", to)]
    with socket.socket(socket.AF_UNIX) as stand_in:
        stand_in.bind(str(cluster.socket))
        stand_in.listen()
        stand_in.settimeout(LIMIT_S)
        words = (
            [command[0], "job", "list", *command[1:]],
            [command[0], "job", "submit", cluster.request(JOB), "--wait", *command[1:]],
            ["/usr/bin/python3", "-c", RANK, to, "zz"],
        )
        clients = [bed.start(f"client{number}", one, "a0") for number, one in enumerate(words)]
        tried = set()
        while len(tried) < len(clients):
            with stand_in.accept()[0] as connection:
                tried.add(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4))
    cluster.socket.unlink()
    cluster.start_manager()
    assert [client.wait_exit(LIMIT_S) for client in clients] == [0, 0, 1]
    assert "worker is 'zz', and the job's are" in clients[2].stderr[-1], clients[2].describe()


def test_a_running_job_does_not_notice_that_the_manager_is_killed(
    cluster, bed, launch_tree, gate
):
    job = cluster.submit(JOB, "--wait")
    ranks = start_ranks(launch_tree, bed, job, [STEP, gate.step, STEP])
    for rank in ranks:
        rank.wait_event("step")
    epochs = [bed.show(name, "jobs")[0]["epoch"] for name in SWITCHES]
    cluster.kill_manager()
    gate.open()
    for rank in ranks:
        rank.wait_event("step", 2)
        rank.finish()
    cluster.start_manager()
    cluster.wait(
        lambda: cluster.ask("job", "show", "train")["state"] == "RUNNING", "the agent is back"
    )
    assert cluster.ask("job", "show", "train")["id"] == job["id"]
    cluster.wait(
        lambda: all(sw["term"] == "2" for sw in cluster.ask("topology")["switches"]),
        "switches have a document of the second manager",
    )
    assert [bed.show(name, "jobs")[0]["epoch"] for name in SWITCHES] == epochs
    other = cluster.submit({**JOB, "name": "next"}, "--wait")
    assert other["id"] != job["id"]
    for name in ("train", "next"):
        assert cluster.run("job", "cancel", name).returncode == 0
    cluster.wait(cluster.is_idle, "everything is free")


def test_kills_at_any_instant_lose_and_repeat_nothing(cluster):
    """TRIBUTARY_ROUNDS chooses another length."""
    turns = int(os.environ.get("TRIBUTARY_ROUNDS", "12"))
    kills_at_any_instant(cluster, {**JOB, "workers": 2}, turns)


def files_of(process):
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def test_a_running_job_notices_no_kill_or_stop_of_the_manager_at_any_instant(bed, tmp_path, launch_tree):
    """Seeded; TRIBUTARY_SEED and TRIBUTARY_ROUNDS choose another run, or another length."""
    seed, rounds = int(os.environ.get("TRIBUTARY_SEED", "1")), int(os.environ.get("TRIBUTARY_ROUNDS", "30"))
    dice = random.Random(seed)
    cluster = Cluster(bed, tmp_path)
    cluster.start_manager()
    agent = cluster.start_agent()
    job = cluster.submit(JOB, "--wait")
    ranks = start_ranks(launch_tree, bed, job, [{**STEP, "repeat": 1_000_000}])
    for rank in ranks:
        rank.wait_event("progress")
    epochs = [bed.show(name, "jobs")[0]["epoch"] for name in SWITCHES]
    files = None

    def agent_is_back():
        switches = cluster.ask("topology")["switches"]
        return all(sw["connected"] for sw in switches) and cluster.ask("job", "show", "train")["state"] == "RUNNING"

    for number in range(rounds):
        stops = dice.random() < 0.5
        print(f"seed {seed} round {number}: {'stop' if stops else 'kill'}")
        ranks[0].wait_event("progress", len(ranks[0].of("progress")) + dice.randrange(1, 20))
        if stops:
            cluster.manager.pause()
        else:
            cluster.kill_manager()
        ranks[0].wait_event("progress", len(ranks[0].of("progress")) + dice.randrange(1, 20))
        if stops:
            cluster.manager.signal(signal.SIGCONT)
        else:
            cluster.start_manager()
        cluster.wait(agent_is_back, "the agent is back, and the job runs")
        if number == 2:
            files = files_of(agent)
    assert files is None or files_of(agent) <= files + 2
    assert [bed.show(name, "jobs")[0]["epoch"] for name in SWITCHES] == epochs
    for rank in ranks:
        assert rank.process.running and all(op["exact"] for op in rank.of("progress"))
        rank.process.signal(signal.SIGKILL)
        rank.process.wait_exit(LIMIT_S)
    assert cluster.run("job", "cancel", "train").returncode == 0
    cluster.wait(cluster.is_idle, "everything is free")


def test_a_switch_that_was_killed_gets_what_came_meanwhile(cluster, bed, launch_tree):
    cluster.submit(JOB, "--wait")
    bed.switches["A"].signal(signal.SIGKILL)
    bed.switches["A"].wait_exit(LIMIT_S)
    cluster.wait(
        lambda: not cluster.ask("topology")["switches"][1]["connected"], "the agent notices"
    )
    assert cluster.run("job", "cancel", "train").returncode == 0
    assert cluster.submit({**JOB, "name": "next"})["state"] == "STARTING"
    bed.start_switch("A")
    cluster.wait(
        lambda: cluster.ask("job", "show", "next")["state"] == "RUNNING", "the switch has it"
    )
    job = cluster.ask("job", "show", "next")
    for rank in start_ranks(launch_tree, bed, job, [STEP]):
        rank.finish()


def test_a_lease_ends_when_the_ranks_are_gone(cluster, bed, launch_tree, gate):
    job = cluster.submit(JOB, "--wait", lease="3s")
    ranks = start_ranks(launch_tree, bed, job, [STEP, gate.step])
    for rank in ranks:
        rank.wait_event("step")
    assert cluster.ask("job", "list")
    gate.open()
    for rank in ranks:
        rank.finish()
    cluster.wait(cluster.is_idle, "the lease has ended")
    assert cluster.ask("job", "events")[-1]["kind"] == "expired"


def test_bad_requests_are_refused_with_their_reason(cluster, bed):
    cluster.submit(JOB)
    refused = (
        (cluster.request(JOB), "job train is already"),
        (cluster.request({**JOB, "name": "x"}, tenant="nobody"), "there is no tenant nobody"),
        (cluster.request({**JOB, "name": "y", "workers": 9}), "9"),
        (cluster.request({**JOB, "name": "z", "windwo": 4}), "did you mean 'window'"),
        (cluster.request({**JOB, "name": "p"}, policy="manager"), "leaves it nothing to do"),
        (cluster.request({**JOB, "name": "q"}, policy="both"), "switch, manager"),
        (cluster.request({**JOB, "name": "v", "window": 4096, "shards": 16}), "bytes of aggregation memory at"),
    )
    for file, words in refused:
        done = cluster.run("job", "submit", file)
        assert done.returncode == 1 and words in done.stderr, done
    assert [job["name"] for job in cluster.ask("job", "list")] == ["train"]
    cluster.submit({**JOB, "name": "s1", "workers": 2}, tenant="speech")
    waits = cluster.submit({**JOB, "name": "s2", "workers": 2}, tenant="speech")
    assert waits["state"] == "QUEUED" and "quota of 1" in waits["waits_for"], waits
    assert cluster.run("job", "cancel", "s1").returncode == 0
    assert cluster.ask("job", "show", "s2")["state"] != "QUEUED"


def test_the_doctor_says_what_keeps_a_job_from_starting(cluster, bed):
    def words(manager=f"unix:{cluster.socket}"):
        done = cluster.run("doctor", manager=("--manager", manager))
        return done.returncode, done.stdout

    cluster.submit(JOB, "--wait")
    assert "job train: runs: ranks may join" in words()[1], words()
    bed.switches["A"].signal(signal.SIGKILL)
    cluster.wait(lambda: "switch A: no agent speaks for it" in words()[1], "the doctor finds A")
    cluster.submit({**JOB, "name": "next"})
    status, text = words()
    assert status == 1 and "job next: has its place, and these switches do not have it: A" in text
    status, text = words(f"unix:{cluster.folder}/none.sock")
    assert status == 1 and "start tributary-managerd" in text, text


def test_the_example_of_twelve_workers_as_a_job(make_tree, tmp_path, launch_tree):
    example = yaml.safe_load((TOP / "examples/hpcc-12.yaml").read_text())
    job = next(one for one in example.pop("jobs") if one["workers"] == 12)
    for one in example["switches"]:
        one["memory"] = {"megabytes": 160, "reserve_megabytes": 32}
    file = tmp_path / "tree.yaml"
    file.write_text(yaml.safe_dump(example))
    bed = make_tree(file, assigned=True)
    cluster = Cluster(bed, tmp_path)
    cluster.start_manager()
    cluster.start_agent(switches=bed.topology.switches)
    job = {**{key: value for key, value in job.items() if key != "id"}, "arithmetic": "modular"}
    told = cluster.submit({**job, "name": "twelve"}, "--wait")
    assert len(told["members"]) == 12
    for rank in start_ranks(launch_tree, bed, told, [STEP]):
        rank.finish()


def test_a_second_manager_of_a_store_is_refused(cluster):
    second = cluster.bed.start(
        "second",
        [
            binary(cluster.bed.build, "tributary-managerd"),
            *("--store", f"sqlite:{cluster.folder}/state.db"),
            *("--topology", cluster.bed.run / "topology.yaml", "--tenants", cluster.tenants),
            *("--socket", cluster.folder / "second.sock", "--http", "127.0.0.1:0"),
        ],
        "manager",
    )
    assert second.wait_exit(LIMIT_S) == 1
    assert "another manager has it locked (process" in second.describe()
    assert cluster.healthz() == (200, "ok\n")


def test_an_older_manager_decides_nothing_more(cluster, bed):
    old = cluster.manager
    assert cluster.healthz() == (200, "ok\n")
    newer = cluster.folder / "newer.sock"
    (cluster.folder / "state.db.lock").unlink()
    cluster.start_manager(socket=newer)
    cluster.manager = old
    done = cluster.run("job", "submit", cluster.request(JOB))
    assert done.returncode == 1 and "has opened it" in done.stderr, done
    cluster.wait(lambda: cluster.healthz()[0] == 503, "the older manager says that it is not well")
    assert "has opened it" in cluster.healthz()[1]
    assert cluster.ask("job", "list", manager=("--manager", f"unix:{newer}")) == []


def test_a_topology_is_read_again_and_a_bad_one_changes_nothing(cluster, bed, launch_tree):
    file = bed.run / "topology.yaml"
    before = yaml.safe_load(file.read_text())
    job = cluster.submit(JOB, "--wait")

    def workers():
        return [worker["name"] for worker in cluster.ask("topology")["workers"]]

    def reload(topology):
        file.write_text(yaml.safe_dump(topology))
        cluster.manager.signal(signal.SIGHUP)

    reload({**before, "workers": [*before["workers"], dict(before["workers"][0])]})
    cluster.wait(lambda: "name 'a0' is already used" in cluster.manager.describe(), "it is refused")
    assert workers() == list(WORKERS)
    reload({**before, "workers": before["workers"][:-1]})
    cluster.wait(lambda: workers() == list(WORKERS[:-1]), "the good one holds")
    for rank in start_ranks(launch_tree, bed, job, [STEP]):
        rank.finish()
    cluster.wait(lambda: all(s["connected"] for s in cluster.ask("topology")["switches"]), "agents are back")
    assert cluster.run("job", "cancel", "train").returncode == 0
    file = cluster.request({**JOB, "name": "five", "workers": 5})
    assert "5 workers" in cluster.run("job", "submit", file).stderr


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda t: t["switches"][0].update(parent="A", parent_port="p0", uplink="a"), "A"),
        (lambda t: t["switches"][1].pop("parent"), "parent"),
        (lambda t: t.update(jobs=[{"id": 1, "workers": 2}]), "jobs are submitted"),
    ],
    ids=["cycle", "two roots", "jobs"],
)
def test_bad_topologies_are_refused_at_the_start(tmp_path, loop, change, words):
    bad = tree()
    change(bad)
    file = tmp_path / "bad.yaml"
    file.write_text(yaml.safe_dump(bad))
    tenants = tmp_path / "tenants.yaml"
    tenants.write_text("tenants: [{name: a}]\n")
    done = subprocess.run(
        [binary(build_directory(), "tributary-managerd"), "--topology", file, "--tenants", tenants]
        + ["--store", f"sqlite:{tmp_path}/state.db", "--socket", tmp_path / "m.sock"],
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )
    assert done.returncode == 1 and words in done.stderr, done


def test_certificates_say_who_may_do_what(bed, tmp_path):
    authority = Authority(tmp_path / "ca")
    authority.make("server", "IP:127.0.0.1")
    for name in ("tenant/vision", "tenant/speech", "node/A", "operator/alice"):
        authority.make(name.replace("/", "-"), f"URI:tributary://{name}")
    authority.make("nobody", "DNS:nobody")
    authority.make("expired", "URI:tributary://tenant/vision", days=-1)
    cluster = Cluster(bed, tmp_path)
    cluster.start_manager("--listen", "127.0.0.1:0", *authority.words("server"))
    port = re.search(r", port (\d+)", cluster.manager.text())[1]
    address = ("--manager", f"127.0.0.1:{port}")

    def by(name, *words, **more):
        return cluster.run(*words, manager=(*address, *authority.words(name, **more)))

    file = cluster.request(JOB)
    assert by("tenant-vision", "job", "submit", file).returncode == 0
    refused = (
        ("tenant-speech", ("job", "submit", file), "certificate is of tenant speech"),
        ("tenant-speech", ("job", "cancel", "train"), "another tenant's"),
        ("tenant-speech", ("job", "show", "train"), "another tenant's"),
        ("tenant-vision", ("job", "drain-node", "a0"), "allowed: an operator"),
        ("node-A", ("job", "submit", file), "certificate is of node A"),
        ("nobody", ("job", "list"), "names no tenant, node or operator"),
        ("expired", ("job", "list"), "the certificate expired at"),
    )
    for name, words, text in refused:
        done = by(name, *words)
        assert done.returncode == 1 and text in done.stderr, (name, words, done)
    assert by("tenant-speech", "job", "list").stdout == "no jobs\n"
    for name, text in (("expired", "expired.pem: expired at"), ("tenant-vision", "vision.pem: expires soon, at")):
        assert text in by(name, "doctor").stdout, name
    forger = Authority(tmp_path / "forger")
    forger.make("operator", "URI:tributary://operator/alice")
    forged = (*address, *forger.words("operator", ca=authority.folder))
    done = cluster.run("job", "list", manager=forged)
    assert done.returncode == 1 and "no manager answers" in done.stderr, done
    # An agent speaks for the switches of its certificate alone.
    agent = cluster.start_agent(*address, *authority.words("node-A"), switches=("A", "B"))
    cluster.wait(
        lambda: any("speaks for switch B" in line for line in agent.stderr), "B is refused"
    )
    cluster.wait(
        lambda: [sw["connected"] for sw in cluster.ask("topology")["switches"]]
        == [False, True, False],
        "A alone is there",
    )
    assert by("operator-alice", "job", "cancel", "train").returncode == 0
