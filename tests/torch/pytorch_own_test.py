"""PyTorch's own tests of its collectives, on the backend: the part of distributed_test.py that
concerns what the switch serves and what Gloo does for it."""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Switch, environment

DRIVER = Path(__file__).with_name("distributed_subset.py")
REDUCTIONS = ["sum", "product", "min", "max"]
TESTS = {
    "all_reduce": [f"test_all_reduce_{op}" for op in REDUCTIONS] + ["test_all_reduce_sum_async"],
    "groups": [f"test_all_reduce_{kind}_{op}" for kind in ("group", "full_group")
               for op in REDUCTIONS],
    "coalesced": [f"test_all_reduce_coalesced_{op}" for op in REDUCTIONS]
    + [f"test_all_reduce_coalesced_{kind}_sum" for kind in ("group", "full_group")],
    "reduce": [f"test_reduce_{op}" for op in REDUCTIONS]
    + ["test_reduce_group_sum", "test_reduce_full_group_max"],
    "broadcast": ["test_broadcast", "test_broadcast_group", "test_broadcast_full_group",
                  "test_broadcast_object_list"],
    "all_gather": ["test_all_gather", "test_all_gather_group", "test_all_gather_full_group",
                   "test_all_gather_coalesced_simple"],
    "barrier": ["test_barrier", "test_barrier_group", "test_barrier_full_group"],
    "timeouts": ["test_barrier_timeout_global", "test_barrier_timeout_group",
                 "test_barrier_timeout_full_group"],
    "point_to_point": ["test_send_recv", "test_send_recv_any_source", "test_isend", "test_gather",
                       "test_scatter"],
}


@pytest.fixture(scope="module")
def switch(directory):
    # Ranks that a timeout has ended keep their places so long, and the next group waits for them.
    made = Switch(directory, {1: 3, 2: 3, 5: 2}, "lease: 1s")
    made.start()
    yield made
    made.stop()


@pytest.mark.parametrize("subject", TESTS)
def test_subject(switch, subject):
    done = subprocess.run(
        [sys.executable, "-B", DRIVER, *TESTS[subject]], check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=environment(switch, WORLD_SIZE="3", TRIBUTARY_JOB="1-2/3,5/2"),
    )
    assert done.returncode == 0, done.stdout
