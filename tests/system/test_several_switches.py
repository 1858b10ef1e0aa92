"""A2, A3: one communicator over several switches, which share the work of every op."""

import signal
from pathlib import Path

import pytest
from testbed.switch import Job

FIVE = Path(__file__).resolve().parents[2] / "examples/two-level-5.yaml"

STEPS = [
    {"do": "allreduce", "count": 1, "dtype": "int32", "repeat": 6},
    {"do": "allreduce", "count": 300_001, "dtype": "int32", "repeat": 3, "seed": 4},
    {"do": "allreduce", "count": 100_000, "dtype": "float32", "repeat": 2, "seed": 5},
    {"do": "barrier"},
]


def start_all(launch, beds, steps, **options):
    """All ranks of job 1, each with a port on every bed."""
    launcher = launch(beds[0])
    return [
        launcher.start_rank(rank, beds[0].workers, steps, port=rank,
                            address=",".join(bed.address(rank) for bed in beds), **options)
        for rank in range(beds[0].workers)
    ]


def contributions(bed):
    return sum(row["contributions"] for row in bed.switch.show("jobs"))


def test_a2_two_switches_share_every_op(make_bed, launch):
    beds = [make_bed("memif", 3) for _ in range(2)]
    for worker in start_all(launch, beds, STEPS):
        worker.finish()
    shares = [contributions(bed) for bed in beds]
    assert min(shares) >= 0.45 * sum(shares), shares


def test_a3_the_addresses_of_arrays_choose_the_switch(make_bed, launch):
    """A3: blocks of an array go to the switches in turns."""
    beds = [make_bed("memif", 3) for _ in range(2)]
    steps = [{**step, "allocate": True} for step in STEPS if step["do"] == "allreduce"]
    for worker in start_all(launch, beds, steps, address_bits=(16, 1)):
        worker.finish()
    shares = [contributions(bed) for bed in beds]
    assert min(shares) >= 0.45 * sum(shares), shares


def test_a3_ranks_whose_addresses_differ_are_told(make_bed, launch):
    beds = [make_bed("memif", 3) for _ in range(2)]
    steps = [{"do": "barrier"},
             {"do": "allreduce", "count": 100_000, "dtype": "int32", "allocate": True, "skew": 16_384}]
    errors = [worker.fail() for worker in start_all(launch, beds, steps, address_bits=(16, 1))]
    named = [error for error in errors if error["reason"] == "op-mismatch"]
    assert any({0, 2} == set(error["missing_ranks"]) or {1, 2} == set(error["missing_ranks"])
               for error in named), errors
    assert any("rank 2 sent 100000 int32 in memory whose address ends in 0x10000" in error["text"]
               for error in named), errors


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_a2_each_switch_of_several_has_a_tree_of_its_own(make_tree, launch_tree, tmp_path, ports):
    """Two switches below a root, twice: every shard goes up its own tree."""
    other = tmp_path / "other.yaml"
    other.write_text(FIVE.read_text().replace("10.77.", "10.78."))
    first = make_tree(FIVE, ports)
    trees = [first, make_tree(other, ports, beside=first if ports == "veth" else None)]
    launcher = launch_tree(first)
    ranks = sorted(first.topology.ranks(1).items())
    workers = [
        launcher.start_rank(rank, len(ranks), STEPS, 1, name,
                            address=",".join(tree.address(name) for tree in trees))
        for rank, name in ranks
    ]
    for worker in workers:
        worker.finish()
    for switch in first.topology.switches:
        shares = [row["contributions"] for tree in trees for row in tree.show(switch, "jobs")
                  if row["job"] == 1]
        assert min(shares) >= 0.45 * sum(shares) > 0, (switch, shares)


def test_a2_the_switch_that_died_is_named(make_bed, launch, gate):
    job = Job(1, 2, options=(("lease", "1s"),))
    beds = [make_bed("memif", 2, jobs=[job]) for _ in range(2)]
    steps = [{"do": "barrier"}, gate.step,
             {"do": "allreduce", "count": 100_000, "dtype": "int32", "repeat": 100}]
    workers = start_all(launch, beds, steps, op_timeout=5)
    for worker in workers:
        worker.wait_event("step")
    beds[1].switch.process.signal(signal.SIGKILL)
    gate.open()
    for worker in workers:
        assert beds[1].address(worker.rank) in worker.fail()["text"]


def test_a2_lists_in_another_order_are_refused(make_bed, launch):
    beds = [make_bed("memif", 2) for _ in range(2)]
    launcher = launch(beds[0])
    workers = [
        launcher.start_rank(rank, 2, STEPS, port=rank,
                            address=",".join(bed.address(rank) for bed in order))
        for rank, order in enumerate((beds, beds[::-1]))
    ]
    assert any("at different places" in worker.fail()["text"] for worker in workers)
