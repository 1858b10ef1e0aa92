"""Suite `storms` without a network: what it puts up, tells its ranks, and makes of their reports."""

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import storm_beds as beds

STORMS = {storm.name: storm for storm in beds.storms()}


def suite():
    loader = SourceFileLoader("storms", str(BENCH / "storms"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("storms", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("storm", STORMS.values(), ids=STORMS)
def test_all_sides_are_the_same_job(storm):
    tree = beds.topology(storm)
    jobs = {job.pop("id"): job for job in tree["jobs"]}
    assert storm.sides[0].job == beds.STORM and not storm.sides[0].at_host
    assert all(side.at_host for side in storm.sides[1:])
    assert all(jobs[side.job] == jobs[beds.STORM] for side in storm.sides)
    assert jobs[beds.STORM]["completion_hosts"] == [tree["servers"][0]["name"]]


@pytest.mark.parametrize("storm", STORMS.values(), ids=STORMS)
def test_every_storm_ends_beside_a_server_in_calm_weather(storm):
    calm = storm.sides[-1]
    assert calm.job == beds.ALONE and not calm.overflows
    assert not any(loss.endswith(f":{calm.job}") for loss in storm.losses)
    assert all(":" in loss for loss in storm.losses if loss != "--lose-first"), "else all jobs lose"


def test_where_all_collides_another_job_has_as_many_chunks_as_there_are_slots():
    storm = STORMS["collision"]
    tree = beds.topology(storm)
    holder = next(job for job in tree["jobs"] if job["id"] == beds.HOLDER)
    assert tree["switches"][0]["slots"] == holder["window"]
    told = [beds.order(storm, rank, "udp://a", 1, 1, 4) for rank in range(beds.WORKERS)]
    assert [order["holder"] for order in told] == [beds.HOLDER] * holder["workers"] + [None, None]
    assert told[0]["holds_bytes"] == holder["window"] * holder["chunk_bytes"]


def test_sums_are_lost_between_levels_only():
    storm = STORMS["lost aggregates"]
    tree = beds.topology(storm)
    below = {switch["name"] for switch in tree["switches"] if "parent" in switch}
    assert storm.lossy == below
    assert {worker["switch"] for worker in tree["workers"]} == below
    assert STORMS["resend"].lossy == {worker["name"] for worker in tree["workers"]}


def test_an_op_lasts_as_long_as_its_slowest_rank():
    reports = [{"seconds": {"1": [[1.0, 2.0], [1.0, 1.0]]}},
               {"seconds": {"1": [[3.0, 1.0], [1.0, 3.0]]}}]
    assert beds.rates(reports, 10**9) == {1: [pytest.approx(2 / 5), pytest.approx(2 / 4)]}


def test_what_the_storm_has_hit_is_counted_by_the_worst_rank_or_the_root():
    jobs = [{"job": 9, "escalations": 0, "completions": 5},
            {"job": beds.STORM, "escalations": 30, "completions": 10}]
    assert beds.share_hit(STORMS["collision"], [], jobs) == 0.75
    stats = [{"contributions": 100, "resends": n} for n in (100, 40)]
    assert beds.share_hit(STORMS["resend"], stats, jobs) == 0.4
