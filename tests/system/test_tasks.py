"""Tasks from a main server to workers two switches away, and back (C3), on a tree of real switches.

The example's own programs run; its topology has main at the root and two workers at each of two
leaves. Main is killed where it has nothing to do, a worker wherever it is.
"""

import json
import os
import signal
import subprocess

import numpy as np
from testbed.fabric import Impairment
from testbed.tree import PYTHON, TOP, binary, module_directory

EXAMPLE = TOP / "examples/remote_training"
WORKERS = ("w1", "w2", "w3", "w4")
BAD_NETWORK = ("--drop", "1%", "--duplicate", "1%", "--reorder", "1%")
LIMIT_S = 100


class Members:
    """Starts the example's programs, each at its place in the tree."""

    def __init__(self, bed, folder, *data):
        self._bed, self._data, self._starts = bed, data, 0
        self.out = folder / "model.npy"
        self._state = folder / "state"

    def main(self, *options):
        arguments = ["--size", len(WORKERS) + 1, "--out", self.out, *self._data, *options]
        return self._start("main", "main.py", arguments)

    def successor(self):
        """A main that keeps a state, and one that follows it."""
        return self.main("--state", self._state)

    def worker(self, name):
        return self._start(name, "worker.py", ["--rank", WORKERS.index(name), "--workers", len(WORKERS)])

    def _start(self, place, program, arguments):
        self._starts += 1
        command = [PYTHON, EXAMPLE / program, *arguments, "--address", self._bed.address(place)]
        return self._bed.start(f"start{self._starts}-{place}", list(map(str, command)), place)


def single(bed, *data):
    """The last line of the reference in one process."""
    # BLAS takes its kernels from the environment, too: the same as the workers'.
    environment = {**os.environ, "PYTHONPATH": str(module_directory(bed.build)), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([PYTHON, "-B", EXAMPLE / "single.py", *data], env=environment, check=True,
                          capture_output=True, text=True, timeout=LIMIT_S).stdout.strip()


def kill(process):
    process.signal(signal.SIGKILL)
    process.wait_exit(LIMIT_S)


def show_tasks(bed, folder, *job):
    command = [binary(bed.build, "tributary"), "show", "tasks", *job, "--json", "--reports", folder]
    return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S).stdout)


def get(bed, main, name, folder):
    """What main's host, a reader, gets of the sum job when all members have gone."""
    whole = f"/job/2/run={main.stdout[0].split()[-1]}/{name}"
    out = folder / "got.npy"
    command = [binary(bed.build, "tributary"), "get", whole, "-o", out, "--address", bed.address("main")]
    ends_well([bed.start("get", list(map(str, command)), "main")])
    return np.load(out)


def tributary_norm(array):
    """As the members have it: few elements, so that each is alone in its lane."""
    lanes = np.zeros(1024)
    lanes[:array.size] = array * array
    while lanes.size > 1:
        lanes = lanes[:lanes.size // 2] + lanes[lanes.size // 2:]
    return float(np.sqrt(lanes[0]))


def ends_well(processes):
    for process in processes:
        assert process.wait_exit(LIMIT_S) == 0, process.describe()


def test_c3_t15_the_result_has_the_bits_of_one_process_whoever_is_killed(make_tree, tmp_path, monkeypatch):
    """Cables lose, repeat and swap frames; main and a worker get kill -9, and successors."""
    monkeypatch.setenv("TRIBUTARY_TASKS", str(tmp_path / "reports"))
    bed = make_tree(EXAMPLE / "topology.yaml", impairment=Impairment(BAD_NETWORK, seed=5))
    members = Members(bed, tmp_path)
    main = members.successor()
    workers = {name: members.worker(name) for name in WORKERS}
    main.wait_line("^distributed", LIMIT_S)
    kill(main)
    workers["w4"].wait_line("^task of", LIMIT_S)
    kill(workers["w4"])
    workers["w4"] = members.worker("w4")
    workers["w4"].wait_line("^final: norm", LIMIT_S)  # no main is there, and no round needs one
    first = show_tasks(bed, tmp_path / "reports")
    assert [(row["rank"], row["state"]) for row in first if row["role"] == "main"] == [(0, "waits")]
    assert {row["state"] for row in first[1:]} <= {"rounds", "delivers"}, first
    main = members.successor()
    ends_well([main, *workers.values()])
    assert main.stdout[-1] == single(bed), main.describe()
    assert np.load(members.out).dtype == np.float64
    last = show_tasks(bed, tmp_path / "reports")
    assert [(row["rank"], row["state"]) for row in last] == [(rank, "done") for rank in range(5)]
    assert len({(row["task"], row["round"], row["norm"]) for row in last}) == 1, last
    gradient = get(bed, main, f"gradient/v={last[0]['round']}", tmp_path)
    assert tributary_norm(gradient) == last[0]["norm"]
    line = show_tasks(bed, tmp_path / "reports", "1")
    assert any(row["what"] == "takes the result" and row["role"] == "main" for row in line)
    # The worker that was killed left a time-line, which its successor's has replaced.
    assert any(row["what"].startswith("tries again: ") and row["role"] == "worker" for row in line)


def test_c3_t15_every_switch_dies_in_a_task_and_the_result_is_the_same(make_tree, tmp_path):
    """Each gets kill -9 and starts anew: above main while it waits for workers, above workers while
    the task arrives, in the rounds, and while they deliver.
    """
    bed = make_tree(EXAMPLE / "topology.yaml")

    def restart(switch):
        kill(bed.switches[switch])
        bed.start_switch(switch)

    members = Members(bed, tmp_path)
    main = members.main()
    workers = {name: members.worker(name) for name in WORKERS[:-1]}
    bed.loop.wait(lambda: sum(row["present"] for row in bed.show("root", "jobs")) > 0, LIMIT_S, "main has joined")
    restart("root")
    workers["w4"] = members.worker("w4")
    workers["w1"].wait_line("^task of", LIMIT_S)
    restart("B")
    for name in WORKERS:
        workers[name].wait_line("^task of", LIMIT_S)
    rounds = bed.show("A", "jobs")[1]["completions"]
    bed.loop.wait(lambda: bed.show("A", "jobs")[1]["completions"] > rounds, LIMIT_S, "rounds go on")
    restart("A")
    workers["w4"].wait_line("^final: norm", LIMIT_S)
    restart("root")
    ends_well([main, *workers.values()])
    assert main.stdout[-1] == single(bed), main.describe()


def test_c3_a_task_crosses_each_link_once_and_a_second_main_is_refused(make_tree, tmp_path):
    """Links carry at most 5 % more than the task, headers and all."""
    size = ("--samples", "20000", "--features", "25")
    bed = make_tree(EXAMPLE / "topology.yaml")
    members = Members(bed, tmp_path, *size)
    mains = [members.main(), members.main()]
    bed.loop.wait(lambda: not all(one.running for one in mains), LIMIT_S, "one main is refused")
    refused, main = sorted(mains, key=lambda one: one.running)
    assert refused.returncode == 1 and main.running, refused.describe()
    assert "rank 0 is already here, from 10.77.0.10 UDP port" in "\n".join(refused.stderr), refused.describe()
    workers = [members.worker(name) for name in WORKERS]
    ends_well([main, *workers])
    assert main.stdout[-1] == single(bed, *size)
    task = int(main.stdout[0].split()[1])
    assert task > 4_000_000
    for cable in bed.topology.cables:
        port = next(row for row in bed.show(cable.switch, "ports") if row["port"] == cable.port)
        way = "rx_bytes" if cable.below == "main" else "tx_bytes"
        again = sum(row["results_resent"] + row["resends"] for row in bed.show(cable.switch, "jobs"))
        assert task <= port[way] <= 1.05 * task + cable.mtu * again, (cable, port[way] / task)
