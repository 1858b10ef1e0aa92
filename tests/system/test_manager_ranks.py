"""Ranks whose place a manager says (T20): in Python, C++ and C any rank asks, all learn where to join."""

import pytest
from manager_bed import LIMIT_S, RANK, WORKERS, managed_switches, started_cluster
from testbed.tree import binary

JOB = {"name": "train", "workers": 4, "arithmetic": "modular"}


@pytest.fixture
def bed(make_tree, tmp_path):
    return managed_switches(make_tree, tmp_path)


@pytest.fixture
def cluster(bed, tmp_path):
    return started_cluster(bed, tmp_path)


def test_any_rank_asks_and_all_learn_where_to_join(cluster, bed):
    """T20: REQUEST, ALLOCATED to all, data, result; four ranks wait before there is a job."""
    request = cluster.request({**JOB, "workers": 5})
    words = ["/usr/bin/python3", "-c", RANK, f"unix:{cluster.socket}"]
    waiting = [bed.start(f"rank-{name}", [*words, name], name) for name in WORKERS[1:]]
    last = bed.start("rank-a0", [*words, "a0", request], "a0")
    for process in (last, *waiting):
        process.check_exit(LIMIT_S)
    done = cluster.run("job", "cancel", "train")
    assert done.returncode == 0


# The signal comes when init() has released the interpreter's lock: only then does the other thread run.
CTRL_C = """
import signal, sys, threading, tributary
inside, main = threading.Event(), threading.main_thread().ident
def strike():
    inside.wait()
    signal.pthread_kill(main, signal.SIGINT)
threading.Thread(target=strike).start()
sys.setswitchinterval(1000)
try:
    inside.set()
    tributary.init(manager=sys.argv[1], job="none", worker="a0", join_timeout=1000)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_waiting_for_a_job(cluster, bed):
    rank = bed.start("rank-a0", ["/usr/bin/python3", "-c", CTRL_C, f"unix:{cluster.socket}"], "a0")
    rank.check_exit(LIMIT_S)
    assert rank.text() == "interrupted"


def test_ranks_in_c_and_cpp_join_where_the_manager_says(cluster, bed):
    """T20: any rank asks, by the C++ interface, which is that of C; one is refused, and says why."""
    rank, manager = binary(bed.build, "manager_rank"), f"unix:{cluster.socket}"
    request = cluster.request({**JOB, "workers": 5})
    waiting = [bed.start(f"rank-{name}", [rank, manager, "train", name], name) for name in WORKERS[1:]]
    last = bed.start("rank-a0", [rank, manager, "train", "a0", request], "a0")
    for process in (last, *waiting):
        process.check_exit(LIMIT_S)
    assert sorted(process.text() for process in (last, *waiting)) == [f"rank {n} of 5" for n in range(5)]
    stranger = bed.start("stranger", [rank, manager, "train", "zz"], "a0")
    assert stranger.wait_exit(LIMIT_S) == 1
    assert "worker is 'zz', and the job's are a0, a1" in stranger.stderr[-1], stranger.describe()


def test_a_rank_that_cannot_be_placed_says_why(cluster, bed):
    cluster.submit({**JOB, "workers": 5})
    words = ["/usr/bin/python3", "-c", RANK]
    nobody = bed.start("nobody", [*words, f"unix:{cluster.socket}", "zz"], "a0")
    assert nobody.wait_exit(LIMIT_S) == 1
    assert "worker is 'zz', and the job's are a0, a1" in nobody.stderr[-1], nobody.describe()
    words[-1] = RANK.replace("join_timeout=50.0", "join_timeout=2")
    away = bed.start("away", [*words, f"unix:{cluster.folder}/none.sock", "a0"], "a0")
    assert away.wait_exit(LIMIT_S) == 1
    assert "no manager answers at" in away.stderr[-1], away.describe()
