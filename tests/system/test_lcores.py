"""A switch of several packet loops: jobs of different lcores at once, each exact."""

import os

from testbed.fabric import worker_address
from testbed.switch import Job


def two_lcores():
    """Two CPUs that this process may use, or the same loops without pinning."""
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[:2] if len(cpus) > 1 else [-1, -1]


def by_lcore(rows):
    return {row["lcore"]: row for row in rows}


def test_jobs_of_two_lcores_are_exact(make_bed, launch):
    """Each rank's packets arrive at one lcore and belong to the other for half of the jobs."""
    bed = make_bed("veth", 2, jobs=[Job(1, 2), Job(2, 2)], lcores=two_lcores())
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
    assert (lcores[0]["jobs"], lcores[1]["jobs"]) == ("2", "1")
    assert (lcores[0]["queues"], lcores[1]["queues"]) == ("w0:0", "w1:0")
    assert all(row["sleep_percent"] > 0 for row in lcores.values())
    assert [(q["port"], q["lcore"]) for q in bed.switch.show("rxq")] == [("w0", 0), ("w1", 1)]
    assert all(q["packets"] > 0 for q in bed.switch.show("rxq"))
    for row in bed.switch.show("handover"):
        assert row["frames"] > 0 and row["addresses"] > 0, row
    assert "w1:0" in bed.switch.client("show", "lcores", "--socket", bed.switch.socket)


def test_other_traffic_crosses_lcores(make_bed):
    bed = make_bed("veth", 3, lcores=two_lcores())
    ping = bed.start(
        "ping", ["ping", "-c", "5", "-i", "0.2", "-W", "5", worker_address(1)], rank=0
    )
    ping.check_exit(50)
    assert " 0% packet loss" in ping.text()
    assert {row["port"] for row in bed.switch.show("fdb")} >= {"w0", "w1"}
