"""Workers that are late on purpose, and what people see of it, on a small tree (T3, T6, T22)."""

import pytest
from testbed import late_training
from testbed.tree import TOP, binary

FIVE = TOP / "examples/two-level-5.yaml"
LIMIT_S = 40
# The root's deadline is 100 ms more than that of the switches below it.
LATE = {"deadline": "200ms", "on_deadline": "escalate"}


def bench(bed, rank, worker):
    """One rank of four ops; its own first and third begin late if the worker is."""
    command = [binary(bed.build, "tributary"), "bench", "allreduce", "--job", 1, "--size", 5]
    command += ["--rank", rank, "--address", bed.address(worker), "--timeout", LIMIT_S]
    command += ["--min", "64K", "--max", "64K", "--iters", 3, "--warmup", 1]
    return bed.start(f"bench-{worker}", command, worker)


def missed(bed, node, op):
    """{ranks: row} of who missed a switch's deadline in an op."""
    rows = bed.show(node, f"op 1/{op}")
    return {tuple(row["ranks"]): row for row in rows if row["what"].startswith("missed the deadline")}


def test_t3_t22_a_late_worker_holds_no_slot_past_the_deadline(make_tree):
    bed = make_tree(FIVE, job_options=LATE)
    bed.delays.set("w1", "1500ms", 2)
    ranks = [bench(bed, rank, worker) for rank, worker in bed.topology.ranks(1).items()]
    for rank in ranks:
        rank.check_exit(LIMIT_S)
    assert "# wrong elements: 0 OK" in ranks[0].text()
    assert bed.show("root", "completion")[0]["by_deadline"] > 0
    for node, deadline_ms in (("A", 200), ("B", 200), ("root", 300)):
        whole, job = bed.show(node, "holds")[:2]
        assert whole["held"] >= job["held"] > 0 and job["deadline_ms"] == deadline_ms
        assert job["max_ms"] <= job["bound_ms"], "T22"
        histogram = bed.show(node, "holds 1")
        assert sum(row["held"] for row in histogram) == job["held"]
        # Between two sums stands a barrier: op 1 is the first sum.
        rows = bed.show(node, "op 1/1")
        (line,) = (row for row in rows if row["what"] == "deadline of the first chunk")
        assert line["at_ms"] == deadline_ms
    assert bed.show("A", "holds")[1]["max_ms"] >= 200
    assert missed(bed, "A", 1)[(0,)]["late_ms"] > 0
    assert missed(bed, "A", 1)[(0,)]["chunks"] == 8


def test_a_file_that_makes_no_sense_is_named(make_tree):
    bed = make_tree(FIVE)
    bed.delays.path("w1").write_text("soon")
    process = bench(bed, 0, "w1")
    others = [bench(bed, rank, f"w{rank + 1}") for rank in range(1, 5)]
    assert process.wait_exit(LIMIT_S) == 1
    assert "delays/w1: delay 'soon'; allowed: off, or a duration" in process.describe()
    for other in others:
        assert other.wait_exit(LIMIT_S) == 1  # it left, and they were told


@pytest.fixture
def options(tmp_path):
    class Options:
        file = FIVE
        steps, images, hidden = 3, 960, 8
        deadline = "200ms"
        late = (("w3", "500ms", 2),)
        svg = tmp_path / "steps.svg"

    return Options


def test_t6_late_workers_change_no_bit_of_a_training(loop, options, capsys):
    status = late_training.run(loop, options, "veth")
    said = capsys.readouterr().out
    assert status == 0, said
    assert "parameters: equal" in said and "w3 late by 500ms every 2" in said
    assert "no rank is late" in options.svg.read_text()
