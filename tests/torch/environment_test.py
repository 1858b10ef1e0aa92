"""What the backend reads from the environment, and what it says of mistakes; no process group."""

import os
import subprocess
import sys

import pytest
from tributary.torch import environment

from conftest import MODULE

NEVER = environment.NEVER


def test_job_lists():
    assert environment.parse_jobs("1") == [(1, None)]
    assert environment.parse_jobs("1-3, 7/2") == [(1, None), (2, None), (3, None), (7, 2)]
    assert environment.parse_jobs("5-6/4") == [(5, 4), (6, 4)]


@pytest.mark.parametrize("text", ["", "x", "1,", "-1", "1-", "3-2", "1/", "4294967296", "0-9999"])
def test_bad_job_lists_are_named(text):
    with pytest.raises(ValueError, match="TRIBUTARY_JOB"):
        environment.parse_jobs(text)


def test_thresholds():
    defaults = environment.default_thresholds("memif:///run/s?id=1&switch=10.0.0.1")
    assert set(defaults) == set(environment.COLLECTIVES)
    assert environment.parse_thresholds("", defaults) == defaults
    changed = environment.parse_thresholds("allreduce=64K-1M, barrier=never,broadcast=1", defaults)
    assert changed["allreduce"] == (65536, 2**20)
    assert changed["barrier"] == (NEVER, NEVER) and changed["broadcast"] == (1, NEVER)


def test_default_thresholds_are_the_transports():
    """Where tools/bench torch has found Gloo to be faster, calls are Gloo's."""
    udp = environment.default_thresholds("udp://10.77.0.254")
    memif = environment.default_thresholds("memif:///run/s?id=1&switch=10.0.0.1")
    assert set(udp) == set(memif) == set(environment.COLLECTIVES)
    assert udp["allreduce"] == (0, 512 << 10)
    assert memif["allreduce"] == environment.ALWAYS
    for defaults in (udp, memif):
        assert defaults["reduce_scatter"] == environment.ALWAYS, "Gloo has none"
        assert all(least <= most for least, most in defaults.values())
    assert environment.default_thresholds("nonsense") == udp, "refused when a rank joins"


@pytest.mark.parametrize("text", ["allreduce", "sum=1", "allreduce=-1", "allreduce=1T", "barrier=",
                                  "allreduce=2-1", "allreduce=1-"])
def test_bad_thresholds_are_named(text):
    with pytest.raises(ValueError, match="TRIBUTARY_TORCH_THRESHOLDS.*allowed are"):
        environment.parse_thresholds(text, environment.default_thresholds("udp://1.2.3.4"))


def test_addresses_have_places():
    places = {"rank": 3, "local_rank": 1, "job": 7}
    filled = environment.fill("memif:///run/s?id={job}{rank}&x={local_rank}", "TRIBUTARY_ADDRESS", places)
    assert filled == "memif:///run/s?id=73&x=1"
    with pytest.raises(ValueError, match=r"TRIBUTARY_ADDRESS: \{host\}.*allowed are \{rank\}, \{local_rank\}"):
        environment.fill("udp://{host}", "TRIBUTARY_ADDRESS", places)


def init(**changes):
    """Standard error of a script that makes a process group of one rank."""
    script = (
        "import torch.distributed as dist, tributary.torch\n"
        "dist.init_process_group('tributary', rank=0, world_size=1, store=dist.HashStore())\n"
    )
    cleared = {k: v for k, v in os.environ.items() if not k.startswith("TRIBUTARY_")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", script], capture_output=True, text=True, check=False,
        env={**cleared, "PYTHONPATH": MODULE, "TRIBUTARY_ADDRESS": "udp://127.0.0.1", **changes},
    )
    return done.returncode, done.stderr


def test_a_group_of_one_needs_no_switch():
    assert init() == (0, "")


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"TRIBUTARY_ADDRESS": ""}, "TRIBUTARY_ADDRESS is not set"),
        ({"TRIBUTARY_ADDRESS": "udp://{host}"}, "{host}"),
        ({"TRIBUTARY_JOB": "one"}, "'one' in 'one' is no job"),
        ({"TRIBUTARY_TORCH_LOG": "yes"}, "TRIBUTARY_TORCH_LOG is 'yes'; allowed are 0 and 1"),
        ({"TRIBUTARY_TORCH_DEGRADED": "half"},
         "TRIBUTARY_TORCH_DEGRADED is 'half'; allowed are error and scale"),
        ({"TRIBUTARY_TORCH_THRESHOLDS": "all=1"}, "'all' is no collective"),
        ({"TRIBUTARY_REQUEST": "/none"}, "needed as well: TRIBUTARY_MANAGER"),
        ({"TRIBUTARY_REQUEST": "/none", "TRIBUTARY_MANAGER": "unix:/m", "TRIBUTARY_JOB": "1"}, "allowed: one"),
        ({"TRIBUTARY_REQUEST": "/none", "TRIBUTARY_MANAGER": "unix:/m"}, "/none: No such file or directory"),
        ({"TRIBUTARY_REQUEST": "/dev/null", "TRIBUTARY_MANAGER": "unix:/m"}, "/dev/null has no {name}"),
    ],
)
def test_mistakes_are_told_when_the_group_is_made(changes, text):
    status, told = init(**changes)
    assert status == 1 and text in told.splitlines()[-1], told
