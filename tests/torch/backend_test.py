"""The PyTorch backend with a real switch: four processes over memif, one group for each case."""

import os
import re
from contextlib import contextmanager

import pytest

from conftest import Ranks, Switch


@pytest.mark.parametrize(
    "case",
    [
        "all_reduce_types",
        "all_reduce_bool",
        "all_reduce_sizes",
        "half_sums_are_wide",
        "strided_tensors",
        "broadcast_and_reduce",
        "gather_and_scatter",
        "coalesced",
        "many_in_flight",
        "dropped_works",
        "gloo_has_the_rest",
        "groups",
        "callbacks_that_wait",
        "no_thread_is_left",
        "callbacks_of_two_groups",
        "callbacks_within_join",
        "power_sgd",
        "profiled",
        "groups_end_after_calls_of_gloo",
    ],
)
def test_case(ranks, case):
    ranks.run(case)


def test_a_callback_that_waits_in_vain_has_the_timeout(ranks):
    for text in ranks.run("a_callback_that_waits_in_vain")[:3]:
        assert "rank 3" in text, text


@pytest.mark.parametrize("hook", ["bf16_hook", "block_scaled_hook"])
def test_a_hook_trains_as_without_it(ranks, hook):
    """Every rank has the same parameters, to the bit; with block-scaled sums on every run."""
    runs = [digest for digests in ranks.run("a_hook_trains", hook) for digest in digests]
    assert len(set(runs[::2])) == 1, "ranks have different bits"
    assert hook == "bf16_hook" or len(set(runs)) == 1, "two runs have different bits"


def test_power_sgd_trains_on_two_ranks(switch, directory):
    ranks = Ranks(switch, directory, 2, TRIBUTARY_JOB="5/2")
    try:
        ranks.run("power_sgd")
    finally:
        ranks.stop()


def test_an_error_names_both_types(ranks):
    for text in ranks.run("mixed_types"):
        assert re.search("Float and Int in one call|float32.*int32", text), text


def test_there_is_no_mean_of_integers(ranks):
    for text in ranks.run("integer_mean"):
        assert "AVG" in text


def test_a_tensor_on_a_device_is_refused(ranks):
    for text in ranks.run("on_a_device"):
        assert "tensor on device meta: tensors must be in host memory" in text


def test_an_overflow_is_an_error_and_the_group_goes_on(ranks):
    for text in ranks.run("overflow"):
        assert "the sum of int32 left the range" in text


@pytest.mark.parametrize("case", ["different_types", "different_reductions"])
def test_ranks_that_disagree_are_named(ranks, case):
    texts = ranks.run(case)
    for text in texts:
        assert re.search(r"rank \d sent 1000 (float32|int32)", text), text


def test_shapes_that_differ_are_named_and_end_the_group(ranks):
    for first, second in ranks.run("different_shapes"):
        assert "1000 float32" in first and "2000 float32" in first, first
        assert "was not done" in second, second


def test_a_root_that_is_no_rank_is_named_with_those_allowed(ranks):
    for texts in ranks.run("roots_that_are_no_ranks"):
        for text, call in zip(texts, ("reduce", "reduce", "broadcast", "broadcast"), strict=True):
            assert re.search(f"{call} with root (-1|4); allowed: 0 to 3", text), text


def test_there_is_no_result_before_the_work_is_done(ranks):
    early = ranks.run("a_result_too_early")[0]
    assert "result() before the work is done; call wait() first" in early, early


def test_a_future_has_the_error(ranks):
    for text in ranks.run("a_future_with_an_error"):
        assert "1000 float32" in text and "2000 float32" in text


def test_a_rank_that_never_calls_is_named(switch, ranks):
    for text in ranks.run("one_never_calls")[:3]:
        assert "rank 3" in text, text
    switch.wait_until_left(1)


@pytest.mark.parametrize("absent", [0, 3])
def test_close_ends_a_join_of_another_thread(switch, ranks, absent):
    for rank, text in enumerate(ranks.run("close_while_joining", absent)):
        assert rank == absent or "this process group has been destroyed" in text, text
    switch.wait_until_left(1)


def test_a_group_is_made_while_all_are_closed(ranks):
    ranks.run("make_a_group_while_all_are_closed")


def test_a_call_keeps_what_close_gives_up(ranks):
    for text in ranks.run("close_within_a_call"):
        # Another rank may have left before this one's communicator has ended its op.
        assert "the communicator was closed" in text or "left while an op was open" in text, text


def test_a_forked_child_is_refused(ranks):
    for text in ranks.run("forked"):
        assert "belongs to process" in text, text


def test_a_wait_has_a_limit(ranks):
    for text in ranks.run("wait_that_is_too_short")[1:]:
        assert re.search("allreduce of 4 B float32 .SUM.: timed out: not done within the timeout of 20 ms", text), text


def lose_a_rank(ranks, running):
    """Rank 2 is killed while all sum; the others' errors name it."""
    os.mkfifo(running)
    ranks.start("sums_for_ever", str(running))
    running.read_text()  # until rank 2 has summed
    ranks.kill(2)
    for rank in (0, 1, 3):
        how, what = ranks.receive(rank)
        assert how == "raised" and "rank 2" in what[1], what


def test_a_killed_rank_is_named_and_a_restart_begins_anew(switch, directory):
    """A torchrun restart: new processes, a new store, the same job."""
    ranks = Ranks(switch, directory)
    try:
        assert ranks.run("sums_once") == [4.0] * 4
        lose_a_rank(ranks, directory / "running")
    finally:
        ranks.stop()
    restarted = Ranks(switch, directory)
    try:
        assert restarted.run("sums_once") == [4.0] * 4
    finally:
        restarted.stop()


def test_an_elastic_restart_goes_on_with_fewer_ranks_and_with_more(directory):
    """torchrun --nnodes 3:4 loses a node, and gets it back: new processes each time, in the same job."""
    folder = directory / "elastic"
    folder.mkdir()
    switch = Switch(folder, {1: 4}, "lease: 5s, min_workers: 3")
    switch.start()
    try:
        for size, killed in ((4, True), (3, False), (4, False)):
            ranks = Ranks(switch, folder, size, TRIBUTARY_JOB="1")
            try:
                assert ranks.run("sums_once") == [float(size)] * size
                if killed:
                    lose_a_rank(ranks, folder / "running")
            finally:
                ranks.stop()
    finally:
        switch.stop()


@contextmanager
def degraded_ranks(directory, **changes):
    """Two ranks of a job whose results may lack late ranks, and a FIFO between them."""
    here = directory / f"degraded{len(list(directory.iterdir()))}"
    here.mkdir()
    switch = Switch(here, {7: 2}, "lease: 20s, deadline: 300ms, stragglers: {degraded_after: 500ms}")
    switch.start()
    ranks = Ranks(switch, here, 2, TRIBUTARY_JOB="7/2", **changes)
    try:
        os.mkfifo(here / "fifo")
        yield ranks, str(here / "fifo")
    finally:
        try:
            ranks.stop()
        finally:
            switch.stop()


def test_a_result_that_lacks_a_rank_is_an_error_that_names_it(directory):
    """DDP would divide what is left of the sum by the number of all ranks."""
    with degraded_ranks(directory) as (ranks, has_failed):
        for text in ranks.run("late_rank", has_failed):
            assert "the result lacks rank 1," in text, text


def test_a_sum_of_floats_that_lacks_a_rank_is_scaled_on_request(directory):
    with degraded_ranks(directory, TRIBUTARY_TORCH_DEGRADED="scale") as (ranks, fifo):
        ranks.run("sums_that_lack_a_rank", fifo)


def test_only_sums_of_floats_are_scaled(directory):
    with degraded_ranks(directory, TRIBUTARY_TORCH_DEGRADED="scale") as (ranks, fifo):
        for texts in ranks.run("results_that_no_count_mends", fifo):
            assert len(texts) == 3
            for text in texts:
                assert "the result lacks rank 1," in text, text
