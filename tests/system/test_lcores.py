"""A switch of several packet loops: jobs of different lcores at once, each exact."""

import os

import pytest
from testbed.fabric import Impairment, Port, worker_address
from testbed.switch import Job


WHOLE = (("planes", 1),)


def two_lcores():
    """Two CPUs that this process may use, or the same loops without pinning."""
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[:2] if len(cpus) > 1 else [-1, -1]


def by_lcore(rows):
    return {row["lcore"]: row for row in rows}


def test_jobs_of_two_lcores_are_exact(make_bed, launch):
    """Each rank's packets arrive at one lcore and belong to the other for half of the jobs."""
    bed = make_bed("veth", 2, jobs=[Job(1, 2, WHOLE), Job(2, 2, WHOLE)], lcores=two_lcores())
    launcher = launch(bed)
    workers = []
    for job in (1, 2):
        steps = [
            {"do": "allreduce", "count": 200_000, "dtype": "int32", "repeat": 5, "seed": job},
            {"do": "allreduce", "count": 5_000, "dtype": "float32", "repeat": 5, "seed": job},
        ]
        workers += launcher.start(steps, job=job)
    for worker in workers:
        worker.finish()
    assert {row["job"]: row["lcore"] for row in bed.switch.show("jobs")} == {1: 1, 2: 0}
    assert all(row["completions"] > 0 for row in bed.switch.show("jobs"))
    lcores = by_lcore(bed.switch.show("lcores"))
    assert (lcores[0]["jobs"], lcores[1]["jobs"]) == ([2], [1])
    assert (lcores[0]["queues"], lcores[1]["queues"]) == (["w0:0"], ["w1:0"])
    assert all(row["sleep_percent"] > 0 for row in lcores.values())
    assert [(q["port"], q["lcore"]) for q in bed.switch.show("rxq")] == [("w0", 0), ("w1", 1)]
    assert all(q["packets"] > 0 for q in bed.switch.show("rxq"))
    for row in bed.switch.show("handover"):
        assert row["jobs"] > 0 and row["addresses"] > 0, row
    assert "w1:0" in bed.switch.client("show", "lcores", "--socket", bed.switch.socket)


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_one_job_uses_two_lcores(make_bed, launch, ports):
    """A2: a job has a plane for each lcore unless its file says otherwise. They are summed on different
    lcores, exactly, whatever is lost on the way."""
    impairment = Impairment(("--drop", "1%", "--duplicate", "1%", "--reorder", "1%"), seed=11)
    job = Job(1, 2, options=(("shards", 2),))
    bed = make_bed(ports, 2, jobs=[job], lcores=two_lcores(), impairment=impairment)
    steps = [
        {"do": "allreduce", "count": 400_000, "dtype": "int32", "repeat": 4, "seed": 1},
        {"do": "allreduce", "count": 100_001, "dtype": "float32", "repeat": 4, "seed": 2},
        {"do": "allreduce", "count": 100, "dtype": "float32", "repeat": 20, "seed": 3},
        {"do": "barrier"},
    ]
    stats = [worker.finish() for worker in launch(bed).start(steps)]
    assert sum(s["probes"] for s in stats) > 0, "losses that nobody noticed"
    jobs = bed.switch.show("jobs")
    assert [(row["job"], row["plane"], row["lcore"]) for row in jobs] == [(1, 0, 1), (1, 1, 0)]
    # Of each large op, half of the chunks.
    assert all(row["completions"] >= 4 * (98 + 24) for row in jobs), jobs
    assert all(row["present"] == 0 for row in jobs), "all planes are left"
    lcores = by_lcore(bed.switch.show("lcores"))
    assert [(row["jobs"], row["planes"]) for row in (lcores[0], lcores[1])] == [([1], [1]), ([1], [0])]
    for row in lcores.values():
        assert row["busy_percent"] > 0, row


def test_exclusion_concerns_all_planes(make_bed, launch, gate):
    """T13: a rank that is excluded is so on each lcore that has a part of the job."""
    job = Job(1, 2, options=(("planes", 2),))
    bed = make_bed("memif", 2, jobs=[job], lcores=two_lcores())
    step = {"do": "allreduce", "count": 100_000, "dtype": "int32", "repeat": 2}
    workers = launch(bed).start([step, gate.step, step])
    for worker in workers:
        worker.wait_event("step")
    socket = bed.switch.socket
    assert "is excluded from op 2 on" in bed.switch.client("exclude", "1", "1", "--socket", socket)
    rows = bed.switch.show("stragglers")
    excluded = {(row["plane"], row["node"]): row["excluded"] for row in rows}
    assert excluded == {
        (plane, f"rank {rank}"): "from op 2" if rank == 1 else None
        for plane in (0, 1)
        for rank in (0, 1)
    }
    gate.open()
    for worker in workers:
        worker.finish()
    assert all(row["escalations"] > 10 for row in bed.switch.show("jobs"))


def test_other_traffic_crosses_lcores(make_bed):
    bed = make_bed("veth", 3, lcores=two_lcores())
    ping = bed.start(
        "ping", ["ping", "-c", "5", "-i", "0.2", "-W", "5", worker_address(1)], rank=0
    )
    ping.check_exit(50)
    assert " 0% packet loss" in ping.text()
    assert {row["port"] for row in bed.switch.show("fdb")} >= {"w0", "w1"}


def test_a_device_is_asked_to_steer_and_what_it_says_is_shown(make_bed, launch):
    """net_tap has rules where the kernel's tc has all that they need; else its hash is left."""
    bed = make_bed(
        "veth",
        2,
        jobs=[Job(1, 2, WHOLE)],
        lcores=two_lcores(),
        more_ports=lambda run: [Port("tap", "net_tap0,iface=tributary0", 1500)],
        port_options=[{}, {}, {"queues": 2, "lcores": [0, 1]}],
        fragments={"datagrams": 64},
    )
    rows = {(q["port"], q["queue"]): q for q in bed.switch.show("rxq")}
    assert rows["w0", 0]["steering"] is None
    for queue in (0, 1):
        row = rows["tap", queue]
        # Job 1 is lcore 1's, and nobody else uses its UDP port.
        assert (row["steering"], row["rules"]) in (("flow", 1), ("rss", 0)), row
        assert (row["device_says"] is None) == (row["steering"] == "flow"), row
        assert row["steering"] == "flow" or row["device_says"].startswith("rte_flow ")
    for worker in launch(bed).start([{"do": "allreduce", "count": 5000, "dtype": "int32"}]):
        worker.finish()
