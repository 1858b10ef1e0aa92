"""Several process groups over one memif port for each rank, with the address of docs/torch.md."""

import os

import pytest

from conftest import Ranks, Switch

JOBS = {job: 4 for job in range(1, 14)}


@pytest.fixture(scope="module")
def switch(directory):
    # A rank that dies is known by its connection's end, or this test waits for ever.
    made = Switch(directory, JOBS, "lease: 1000s", shared=True)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def ranks(switch, directory):
    made = Ranks(switch, directory, TRIBUTARY_JOB="1-13")
    yield made
    made.stop()


@pytest.mark.parametrize("count", [3, 12])
def test_groups_of_four_sum_at_a_time(ranks, count):
    for calls in ranks.run("all_at_a_time", count):
        assert calls == [(6, 0)] * count


def test_two_threads_sum_in_two_groups(ranks):
    ranks.run("from_two_threads")


def test_a_group_that_waits_does_not_hold_another_up(ranks):
    ranks.run("one_waits_while_the_other_sums")


def test_a_killed_rank_is_named_in_all_its_groups(switch, directory):
    ranks = Ranks(switch, directory, TRIBUTARY_JOB="1-13")
    try:
        running = directory / "running"
        os.mkfifo(running)
        ranks.start("until_both_fail", str(running))
        running.read_text()  # until rank 2 has joined both
        ranks.kill(2)
        for rank in (0, 1, 3):
            how, texts = ranks.receive(rank)
            assert how == "returned", texts
            assert all("rank 2" in text for text in texts), texts
    finally:
        ranks.stop()


def test_the_switch_tells_port_and_address(switch, directory):
    ranks = Ranks(switch, directory, TRIBUTARY_JOB="1-13",
                  TRIBUTARY_ADDRESS=f"memif://{switch.socket}")
    try:
        ranks.run("all_at_a_time", 3)
    finally:
        ranks.stop()
