"""Trees of a manager's jobs move to another way, and no op fails (C7)."""

import socket
import struct
import time
from pathlib import Path

import pytest
import yaml
from diamond import DIAMOND, LONG, check, uplink, wait_on
from manager_bed import LIMIT_S, Cluster
from testbed.process import ProcessFailed

SWITCHES = ("L", "A", "B", "R")
JOB = {"name": "all", "workers": 3, "window": 64, "chunk_bytes": 8192, "deadline": "10s", "lease": "5s",
       "arithmetic": "modular"}


@pytest.fixture
def bed(make_tree, tmp_path):
    tree = yaml.safe_load(DIAMOND.read_text())
    del tree["jobs"]
    for switch in tree["switches"]:
        switch["memory"]["reserve_megabytes"] = 16
    file = tmp_path / "diamond.yaml"
    file.write_text(yaml.safe_dump(tree))
    return make_tree(file, assigned=True)


@pytest.fixture
def cluster(bed, tmp_path):
    made = Cluster(bed, tmp_path)
    made.start_manager()
    made.start_agent(switches=SWITCHES)
    return made


def start_ranks(launch_tree, bed, job):
    launcher = launch_tree(bed)
    return [launcher.start_rank(member["rank"], job["workers"], LONG, job["id"], member["worker"])
            for member in job["members"]]


def ways(cluster):
    """Of R: the way in use, and the others."""
    row = next(sw for sw in cluster.ask("topology")["switches"] if sw["name"] == "R")
    return row["uplink"], row["other_uplinks"]


def move(cluster, way):
    """The client says so, or for which switch the manager waits."""
    done = cluster.run("job", "move-switch", "R", way)
    assert done.returncode == 0 and done.stdout.startswith((f"R: goes up by {way}", f"R: moves to {way}")), done
    cluster.wait(lambda: not cluster.ask("topology").get("move"), f"R uses {way}")


def test_c7_a_managed_jobs_tree_moves_and_stays_where_it_is(cluster, bed, launch_tree):
    workers = start_ranks(launch_tree, bed, cluster.submit(JOB, "--wait"))
    wait_on(workers)
    assert uplink(bed) == "a" and ways(cluster) == ("a", ["b"])
    for way, left in (("b", "A"), ("a", "B"), ("b", "A")):
        move(cluster, way)
        wait_on(workers)
        assert uplink(bed) == way
        cluster.wait(lambda left=left: bed.show(left, "ports")[1]["vlan"] == "none", f"{left} has closed its end")
        member = next(row for row in bed.show("L", "tree") if row["is"] == "switch")
        assert (member["port"], member["state"]) == (way, "present")
        check(workers)
    assert ways(cluster) == ("b", ["a"]) and "up by b" in cluster.run("topology").stdout
    cluster.kill_manager()
    wait_on(workers)
    cluster.start_manager()

    def all_know():
        topology = cluster.ask("topology")
        return all(sw["term"] == topology["term"] for sw in topology["switches"])

    cluster.wait(all_know, "all switches have a document of the manager that follows")
    wait_on(workers)
    assert uplink(bed) == "b" and ways(cluster) == ("b", ["a"])
    check(workers)
    assert bed.show("L", "jobs")[0]["aborts"] == 0


def test_c7_a_move_that_cannot_be_is_refused_by_name(cluster, bed, launch_tree):
    workers = start_ranks(launch_tree, bed, cluster.submit(JOB, "--wait"))
    for switch, way, said in (("R", "x", "'x' is no way up of R; allowed: a, b"),
                              ("Q", "a", "there is no switch Q; allowed: L, A, B, R"),
                              ("L", "a", "switch L is the root")):
        refused = cluster.run("job", "move-switch", switch, way)
        assert refused.returncode == 1 and said in refused.stderr, refused
    with pytest.raises(ProcessFailed, match="switches.R.active_uplink: is assigned by the manager"):
        bed.client("R", "set", "switches.R.active_uplink", "b")
    bed.switches["B"].stop()
    cluster.wait(lambda: not next(sw for sw in cluster.ask("topology")["switches"] if sw["name"] == "B")["connected"],
                 "no agent speaks for B")
    refused = cluster.run("job", "move-switch", "R", "b")
    assert "switch R cannot move to b: no agent speaks for switch B" in refused.stderr, refused
    assert ways(cluster) == ("a", ["b"])
    wait_on(workers)
    check(workers)


def test_c7_the_telemetry_server_has_the_manager_move_the_tree(make_tree, launch_tree, tmp_path):
    """The way that becomes bad is left, by the manager; without the telemetry server all stays as it is."""
    bed = make_tree(DIAMOND, telemetry=16, managed=True)
    cluster = Cluster(bed, tmp_path)
    cluster.socket = bed.run / "manager.sock"
    job = {**JOB, "telemetry": {"latency": True, "every": 16}}
    workers = start_ranks(launch_tree, bed, cluster.submit(job, "--wait", tenant="default"))
    wait_on(workers)

    def path():
        return next(row for row in bed.telemetry.show("paths") if (row["from"], row["to"]) == ("R", "L"))

    bed.loop.wait(lambda: path()["latency_us"] is not None, LIMIT_S, "both links of the way by A are measured")
    bad = uplink(bed)
    good = "b" if bad == "a" else "a"
    bed.set_cable_delay(f"{bad.upper()}-R", "20ms")
    bed.loop.wait(lambda: uplink(bed) == good, LIMIT_S, f"R uses {good}")
    bed.loop.wait(lambda: path()["uplink"] == good, LIMIT_S, "the server shows it")
    assert path()["moves"] >= 1 and ways(cluster) == (good, [bad])
    wait_on(workers)
    check(workers)
    bed.telemetry.stop()
    bed.set_cable_delay(f"{bad.upper()}-R", "off")
    bed.set_cable_delay(f"{good.upper()}-R", "20ms")
    wait_on(workers)
    check(workers)
    assert uplink(bed) == good and ways(cluster) == (good, [bad])
    assert bed.show("L", "jobs")[0]["aborts"] == 0


def ask_of(server, program):
    """The next connection of that program to a manager that says nothing."""
    while True:
        connection, _ = server.accept()
        pid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        if Path(f"/proc/{pid}/comm").read_text().strip() == program[:15]:
            return connection
        connection.close()


def test_the_telemetry_server_ends_at_once_while_no_manager_answers(make_tree):
    bed = make_tree(DIAMOND, telemetry=16, managed=True)
    path = bed.run / "manager.sock"
    path.unlink()
    with socket.socket(socket.AF_UNIX) as silent:
        silent.settimeout(LIMIT_S)
        silent.bind(str(path))
        silent.listen()
        with ask_of(silent, "tributary-telemetryd"):
            begin = time.monotonic()
            bed.telemetry.stop()
            # It goes on trying for eight seconds otherwise.
            assert time.monotonic() - begin < 5
