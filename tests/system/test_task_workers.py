"""Tasks whose workers are in C++ and in Python (C3), on a tree of real switches."""

import json
import os
import signal
from pathlib import Path

import numpy
from testbed.fabric import Impairment
from testbed.tree import PYTHON, TOP, binary

TOPOLOGY = TOP / "examples/remote_training/topology.yaml"
MEMBER = Path(__file__).resolve().parent / "task_member.py"
WORKERS = ("w1", "w2", "w3", "w4")
LIMIT_S = 100


class Members:
    """Starts members, each at its place in the tree."""

    def __init__(self, bed):
        self._bed, self._starts = bed, 0

    def _start(self, place, *command):
        self._starts += 1
        return self._bed.start(f"{self._starts}-{place}", list(map(str, command)), place)

    def main(self, *options):
        return self._start("main", PYTHON, MEMBER, "main", "--workers", len(WORKERS), "--address",
                           self._bed.address("main"), *options)

    def in_python(self, place, *options):
        return self._start(place, PYTHON, MEMBER, "worker", "--rank", WORKERS.index(place), "--workers",
                           len(WORKERS), "--address", self._bed.address(place), *options)

    def in_cpp(self, place, *options):
        role = place if place == "main" else WORKERS.index(place)
        return self._start(place, binary(self._bed.build, "task_worker_tool"), role, len(WORKERS),
                           self._bed.address(place), *options)


def ends_well(processes):
    for process in processes:
        assert process.wait_exit(LIMIT_S) == 0, process.describe()


def result_of(main):
    line = main.stdout[-1]
    assert line.startswith("norm after "), main.describe()
    return line


def test_c3_workers_in_both_languages_have_the_same_result(make_tree):
    """Main takes a result only if all workers' digests agree, so every bit of theirs does."""
    bed = make_tree(TOPOLOGY, impairment=Impairment(("--drop", "1%", "--duplicate", "1%"), seed=3))
    members = Members(bed)
    mixed = [members.main(), *map(members.in_cpp, WORKERS[::2]), *map(members.in_python, WORKERS[1::2])]
    ends_well(mixed)
    pure = [members.main(), *map(members.in_cpp, WORKERS)]
    ends_well(pure)
    assert result_of(mixed[0]) == result_of(pure[0])
    led = [members.in_cpp("main"), *map(members.in_cpp, WORKERS[:2]), *map(members.in_python, WORKERS[2:])]
    ends_well(led)
    assert result_of(led[0]) == result_of(pure[0])
    assert pure[1].stdout[0] == 'task of 2304000 bytes, {"rate":1}, round 0'


def test_c3_a_killed_worker_in_cpp_comes_back_with_the_round(make_tree, tmp_path):
    bed = make_tree(TOPOLOGY)
    members = Members(bed)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    others = [members.main(), members.in_python("w1", "--gate", gate), members.in_cpp("w2"),
              members.in_cpp("w3")]
    victim = members.in_cpp("w4")
    others[1].wait_line("^waits", LIMIT_S)
    victim.signal(signal.SIGKILL)
    victim.wait_exit(LIMIT_S)
    again = members.in_cpp("w4")
    gate.write_text("go", encoding="ascii")
    ends_well([*others, again])
    # The victim may have sent its part of round 6 before it died.
    assert again.stdout[0].endswith(("round 5", "round 6")), again.describe()
    result_of(others[0])


def test_c3_main_and_the_others_are_told_of_a_worker_that_ends(make_tree):
    """One in each language, and a main in the other one."""
    bed = make_tree(TOPOLOGY)
    members = Members(bed)
    runs = ((members.main, lambda: members.in_cpp("w4", 7), 4, "no such sample"),
            (lambda: members.in_cpp("main"), lambda: members.in_python("w4", "--fail-in", 7), 4,
             "KeyError: 'no such sample'"))
    for main, failing, rank, said in runs:
        told = [main(), members.in_cpp("w1"), members.in_python("w2"), members.in_cpp("w3")]
        failing()
        for process in told:
            assert process.wait_exit(LIMIT_S) == 1, process.describe()
        assert f"rank {rank} ended: {said}" in told[0].stderr[-1], told[0].describe()
        for process in told[1:]:
            assert f"rank {rank - 1} of the sum job ended: {said}" in process.stderr[-1], process.describe()


def test_c4_killed_workers_get_the_task_from_the_switches(make_tree, tmp_path):
    """Rank 0, which had put it, is one of them: no process has the pieces that a get could reach."""
    bed = make_tree(TOPOLOGY)
    members = Members(bed)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    others = [members.main("--cache"), members.in_python("w2", "--gate", gate), members.in_cpp("w3")]
    victims = [members.in_python("w1"), members.in_python("w4")]
    others[1].wait_line("^waits", LIMIT_S)
    for victim in victims:
        victim.signal(signal.SIGKILL)
        victim.wait_exit(LIMIT_S)
    again = [members.in_python(place, "--report", tmp_path) for place in ("w1", "w4")]
    gate.write_text("go", encoding="ascii")
    ends_well([*others, *again])
    result_of(others[0])
    for rank in (1, 4):
        line = json.loads((tmp_path / f"1-{rank}.json").read_text(encoding="ascii"))["line"]
        assert "got 3 of 3 pieces by name" in [event["what"] for event in line], line
    assert sum(row["hits"] for row in bed.show("A", "names")) > 0


def test_c3_a_main_in_cpp_is_killed_and_its_successor_gets_the_result(make_tree, tmp_path):
    bed = make_tree(TOPOLOGY)
    members = Members(bed)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    workers = [members.in_python("w1", "--gate", gate), *map(members.in_cpp, WORKERS[1:])]
    main = members.in_cpp("main")
    main.wait_line("^distributed", LIMIT_S)
    workers[0].wait_line("^waits", LIMIT_S)
    main.signal(signal.SIGKILL)
    main.wait_exit(LIMIT_S)
    gate.write_text("go", encoding="ascii")
    workers[1].wait_line("^final", LIMIT_S)  # no main is there
    main = members.in_cpp("main")
    ends_well([main, *workers])
    result_of(main)


def test_c3_arrays_are_kept_by_worker_in_both_languages(make_tree):
    """Each worker delivers a result of its own; with `both`, the sums decide as without parts."""
    bed = make_tree(TOPOLOGY)
    members = Members(bed)
    found = {}
    for keep in ("worker", "both", "sum"):
        for main in (lambda: members.main("--keep", keep), lambda: members.in_cpp("main", keep)):
            led = [main(), *map(members.in_cpp, WORKERS[:2]), *map(members.in_python, WORKERS[2:])]
            ends_well(led)
            found.setdefault(keep, []).append(list(led[0].stdout)[-4:] if keep == "worker" else result_of(led[0]))
    assert found["worker"][0] == found["worker"][1] and len(set(found["worker"][0])) == 4
    assert found["both"] == found["sum"] == [found["sum"][0]] * 2


def test_c4_rank_0_in_cpp_puts_sums_and_data_by_name(make_tree, tmp_path):
    bed = make_tree(TOPOLOGY)
    members = Members(bed)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    others = [members.in_cpp("main", "sum", "gradient", tmp_path / "state"), members.in_cpp("w1"),
              members.in_python("w2", "--gate", gate)]
    victims = [members.in_cpp("w3"), members.in_python("w4")]
    others[2].wait_line("^waits", LIMIT_S)
    for victim in victims:
        victim.signal(signal.SIGKILL)
        victim.wait_exit(LIMIT_S)
    asked = sum(row["hits"] for row in bed.show("B", "names"))
    again = [members.in_cpp("w3"), members.in_python("w4", "--report", tmp_path)]
    gate.write_text("go", encoding="ascii")
    ends_well([*others, *again])
    assert not [line for line in others[1].stdout if line.startswith("refused")]
    line = json.loads((tmp_path / "1-4.json").read_text(encoding="ascii"))["line"]
    assert "got 3 of 3 pieces by name" in [event["what"] for event in line], line
    assert sum(row["hits"] for row in bed.show("B", "names")) > asked
    run = json.loads((tmp_path / "state" / "task.json").read_text(encoding="ascii"))["run"]
    for number, name in enumerate(("gradient/v=2", "gradient.state/v=2")):
        get = bed.start(f"get{number}", [binary(bed.build, "tributary"), "get", f"/job/2/run={run}/{name}",
                                         "--address", bed.address("main"), "-o", tmp_path / f"{number}.npy"], "main")
        ends_well([get])
        assert numpy.load(tmp_path / f"{number}.npy").shape == (5,)
    # A successor of main has the result from the folder alone.
    successor = members.in_cpp("main", "sum", "gradient", tmp_path / "state")
    ends_well([successor])
    assert result_of(successor) == result_of(others[0])
