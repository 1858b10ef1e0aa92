"""Trees of real switches (T1, O12): exact sums, whatever happens to whom, and what links carry."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from testbed.fabric import Impairment
from testbed.tree import TOP

TWELVE = TOP / "examples/hpcc-12.yaml"
SERVERS = TOP / "examples/hpcc-12-servers.yaml"
FIVE = TOP / "examples/two-level-5.yaml"
LEAF, MIDDLE, ROOT = "S250", "S201", "S240"
BAD_NETWORK = ("--drop", "1%", "--duplicate", "1%", "--reorder", "1%")
LONG = [{"do": "allreduce", "count": 20_000, "dtype": "int32", "repeat": 100_000, "seed": 3}]
SHORT = [
    {"do": "allreduce", "count": 5_000, "dtype": "float32", "repeat": 3, "seed": 4},
    {"do": "barrier"},
]


def exact(workers):
    for worker in workers:
        worker.finish()


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_t1_twelve_workers_on_three_levels(make_tree, launch_tree, ports):
    bed = make_tree(TWELVE, ports)
    steps = [
        {"do": "allreduce", "count": count, "dtype": dtype, "seed": count}
        for count in (1, 2049, 100_003)
        for dtype in ("int32", "float32")
    ]
    exact(launch_tree(bed).start([*steps, {"do": "barrier"}]))


def test_a1_a_job_below_one_switch_ends_there(make_tree, launch_tree):
    bed = make_tree(FIVE)
    launcher = launch_tree(bed)
    exact(launcher.start(SHORT, job=2))
    assert [row["job"] for row in bed.show("root", "jobs")] == [1]
    exact(launcher.start(SHORT, job=1))


def test_disagreement_is_told_to_every_rank_of_a_tree(make_tree, launch_tree):
    """Rank 3, below B, adds up fewer elements: all are told of both counts, and that it is over."""
    launcher = launch_tree(make_tree(FIVE))
    plain = {"do": "allreduce", "count": 5_000, "dtype": "int32"}
    for worker in launcher.start(lambda rank: [{**plain, "count": 4_000} if rank == 3 else plain]):
        error = worker.fail()
        assert error["reason"] == "op-mismatch", error
        assert "4000" in error["text"] and "5000" in error["text"], error
    exact(launcher.start(SHORT))


def test_o12_bad_cables_everywhere(make_tree, launch_tree):
    """1 % dropped, duplicated and reordered, between switches too: every sum is exact."""
    bed = make_tree(FIVE, impairment=Impairment(BAD_NETWORK, seed=11))
    steps = [{"do": "allreduce", "count": 200_000, "dtype": "int32", "repeat": 4, "seed": 1}]
    exact(launch_tree(bed).start(steps))


def test_a7_links_carry_the_payload_once_each_way(make_tree, launch_tree):
    """At most 5 % more than the payload, headers and all, on every link of the tree."""
    bed = make_tree(TWELVE)
    count, repeat = 500_000, 4
    exact(
        launch_tree(bed).start(
            [{"do": "allreduce", "count": count, "dtype": "int32", "repeat": repeat, "seed": 2}]
        )
    )
    payload = 4 * count * repeat
    for cable in bed.topology.cables:
        port = {row["port"]: row for row in bed.show(cable.switch, "ports")}[cable.port]
        jobs = bed.show(cable.switch, "jobs")
        # Where a busy machine kept somebody waiting, data was asked for again; normally none.
        for way, again in (("rx_bytes", "resends"), ("tx_bytes", "results_resent")):
            most = 1.05 * payload + cable.mtu * sum(row[again] for row in jobs)
            assert payload <= port[way] <= most, (cable, way, port[way] / payload)


def test_show_tree(make_tree, launch_tree):
    bed = make_tree(TWELVE)
    workers = launch_tree(bed).start(LONG)
    for worker in workers:
        worker.wait_event("progress")
    rows = bed.show(MIDDLE, "tree")
    assert [(row["node"], row["is"], row["state"], row["ranks"]) for row in rows] == [
        ("S240", "parent", "running", None),
        ("switch 250", "switch", "present", [0, 1]),
        ("rank 2", "worker", "present", [2]),
    ]


def test_o4_servers_verify_the_sums_of_a_tree(make_tree, launch_tree):
    """T10: one server behind the root and one behind a leaf; shards are shared out over them."""
    bed = make_tree(SERVERS, impairment=Impairment(BAD_NETWORK, seed=12))

    def alive():
        return all(row["silent_ms"] is not None for row in bed.show(ROOT, "hosts"))

    bed.loop.wait(alive, 30, "both servers are known to the root")
    launcher = launch_tree(bed)
    exact(launcher.start(SHORT))
    for name in bed.servers:
        rows = [row for row in bed.show(name, "completion") if row["job"] == 1]
        assert sum(row["completions"] for row in rows) > 0, (name, rows)
    assert sum(row["completions"] for row in bed.show(ROOT, "completion")) == 0
    assert bed.show(ROOT, "jobs")[0]["aborts"] == 0
    exact(launcher.start(SHORT, job=2))


@pytest.mark.parametrize("witness", ("w112", "w136"))
def test_ranks_that_never_start_are_named_everywhere(make_tree, launch_tree, witness):
    """Rule 1: w135 and w137 stay away; their neighbours on S203 are not blamed by those elsewhere.

    One rank gives up; the others wait on, since a rank that has given up is missing, too.
    """
    bed = make_tree(TWELVE)
    launcher = launch_tree(bed)
    ranks = bed.topology.ranks(1)
    assert witness in ranks.values()
    absent = sorted(rank for rank, worker in ranks.items() if worker in {"w135", "w137"})
    for rank, worker in ranks.items():
        if rank not in absent and worker != witness:
            launcher.start_rank(rank, len(ranks), SHORT, 1, worker, join_timeout=600.0)
    rank = next(rank for rank, worker in ranks.items() if worker == witness)
    gives_up = launcher.start_rank(rank, len(ranks), SHORT, 1, witness, join_timeout=20.0)
    assert gives_up.fail()["missing_ranks"] == absent


@pytest.mark.parametrize("victim", [LEAF, MIDDLE, ROOT])
def test_a_killed_switch_is_named_and_the_next_job_runs(make_tree, launch_tree, victim):
    bed = make_tree(TWELVE)
    launcher = launch_tree(bed)
    workers = launcher.start(LONG, op_timeout=20.0)
    for worker in workers:
        worker.wait_event("progress", 3)
    bed.switches[victim].signal(signal.SIGKILL)
    errors = [worker.fail() for worker in workers]
    for worker in workers:
        assert all(op["exact"] for op in worker.of("progress"))
    number = victim.removeprefix("S")
    named = [e for e in errors if f"switch {number}" in e["text"] or "did not answer" in e["text"]]
    assert len(named) == len(errors), [e["text"] for e in errors]
    bed.start_switch(victim)
    exact(launcher.start(SHORT))


def test_a_killed_worker_is_named_and_the_next_job_runs(make_tree, launch_tree):
    bed = make_tree(TWELVE)
    launcher = launch_tree(bed)
    workers = launcher.start(LONG, op_timeout=20.0)
    for worker in workers:
        worker.wait_event("progress", 3)
    workers[1].process.signal(signal.SIGKILL)
    for worker in workers[:1] + workers[2:]:
        assert worker.fail()["missing_ranks"] == [1]
    exact(launcher.start(SHORT))


def chain(names, through):
    """A topology of switches below each other: two workers on the last one, one on each other.

    `through` only forwards.
    """
    switches, workers = [], []
    for number, name in enumerate(names):
        last = number == len(names) - 1
        hosts = [f"w{name}{index}" for index in range(2 if last else 1)]
        ports = [*(["up"] if number else []), *([] if last else ["down"]), *hosts]
        switch = {
            "name": name,
            "id": number + 1,
            "address": f"10.77.0.{201 + number}",
            "memory": {"megabytes": 64},
            "ports": [{"name": port, "devargs": f"net_null{i}"} for i, port in enumerate(ports)],
        }
        if number:
            switch |= {"parent": names[number - 1], "parent_port": "down", "uplink": "up"}
        if name == through:
            switch["aggregate"] = False
        switches.append(switch)
        for host in hosts:
            address = f"10.77.1.{len(workers) + 1}"
            workers.append({"name": host, "switch": name, "port": host, "address": address})
    return {"switches": switches, "workers": workers, "jobs": [{"id": 1, "workers": len(workers)}]}


def test_t1_a_switch_between_that_only_forwards(make_tree, launch_tree, tmp_path, gate):
    """Four levels: the lowest hangs, for the job, on the second, and so does the third one's worker."""
    file = tmp_path / "tree.yaml"
    file.write_text(yaml.safe_dump(chain(["A", "B", "C", "D"], through="C")))
    bed = make_tree(file)
    workers = launch_tree(bed).start([*SHORT, gate.step])
    for worker in workers:
        worker.wait_event("step", len(SHORT))
    children = {row["node"]: row["ranks"] for row in bed.show("B", "tree") if row["is"] != "parent"}
    assert children == {"rank 1": [1], "rank 2": [2], "switch 4": [3, 4]}
    assert bed.show("C", "jobs") == []
    ports = {row["port"]: row for row in bed.show("C", "ports")}
    payload = 4 * SHORT[0]["count"] * SHORT[0]["repeat"]
    for port in ("up", "down"):
        assert ports[port]["rx_bytes"] >= payload and ports[port]["tx_bytes"] >= payload, ports
    gate.open()
    exact(workers)


@pytest.fixture
def short_path():
    """DPDK's sockets are in there, and the path of a socket has at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="tt", dir="/tmp") as path:
        yield Path(path)


def processes(testbed):
    """Those that were started for a testbed, by their environment."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if f"TRIBUTARY_TESTBED={testbed}".encode() in words:
            found.add(path.parent)
    return found


def machine():
    """Named namespaces, links and shared memory of this machine, of whomever."""

    def said(*command):
        return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())

    links = {line.split(": ")[1] for line in said("ip", "-o", "link")}
    return said("ip", "netns") | links | {str(path) for path in Path("/dev/shm").iterdir()}


def test_testbed_command_leaves_nothing(short_path):
    """tools/testbed up, delay, run, down: as documented, on the twelve-worker tree with servers."""
    name = f"test-{os.getpid()}"
    environment = {**os.environ, "TMPDIR": str(short_path), "TRIBUTARY_TESTBED": name}
    before = machine()

    def testbed(*arguments):
        return subprocess.run(
            [sys.executable, "-B", TOP / "tools/testbed", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
        )

    up = testbed("up", SERVERS)
    assert up.returncode == 0, up.stdout + up.stderr
    try:
        again = testbed("up", SERVERS)
        assert again.returncode == 1 and "is up already" in again.stdout
        late = testbed("delay", "w112", "200ms", "--every", "3")
        assert (late.returncode, late.stdout) == (0, "w112: 200ms every 3\n"), late.stderr
        assert testbed("status").stdout.count("200ms every 3") == 1
        run = testbed(
            "run", "--", "tributary", "allreduce", "--job", "{job}", "--size", "{size}",
            "--rank", "{rank}", "--address", "{address}", "--count", "1000", "--dtype", "int32",
        )
        assert run.returncode == 0, run.stdout + run.stderr
        assert run.stdout.count("0 of 1000 elements wrong") == 12
        assert processes(name), "they are found by their environment"
        for node in ("S203", "ps1"):
            assert testbed("kill", node).returncode == 0
        status = testbed("status")
        assert status.returncode == 1 and status.stdout.count("dead") == 2
        for node in ("S203", "ps1"):
            assert testbed("start", node).returncode == 0
        assert testbed("status").returncode == 0
    finally:
        assert testbed("down").returncode == 0
    assert testbed("status").returncode == 1
    # Namespaces of a testbed have no names: they end with its last process, and veths with them.
    assert processes(name) == set()
    assert machine() <= before
    assert list(short_path.iterdir()) == []
