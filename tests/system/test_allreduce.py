"""Sums through the real switch: exact over every transport, and over a bad network."""

import pytest
from testbed.fabric import Impairment
from testbed.switch import Job

BAD_NETWORK = ("--drop", "1%", "--duplicate", "1%", "--reorder", "1%")
SIZES = [1, 7, 2048, 2049, 1_000_003]  # elements: within, at and beyond a chunk; many windows


@pytest.mark.parametrize("ports", ["veth", "memif"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_sums_are_exact(make_bed, launch, ports, dtype):
    bed = make_bed(ports, 4)
    steps = [{"do": "allreduce", "count": n, "dtype": dtype, "seed": n} for n in SIZES]
    workers = launch(bed).start([*steps, {"do": "barrier"}])
    for worker in workers:
        worker.finish()
        assert len(worker.of("step")) == len(SIZES) + 1


def test_results_are_written_once_for_all_ranks_of_the_host(make_bed, launch):
    """T14: but for those until the ranks have mapped the memory for them."""
    bed = make_bed("memif", 4)
    count, repeat = 250_000, 300
    workers = launch(bed).start([{"do": "allreduce", "count": count, "dtype": "int32", "repeat": repeat}])
    stats = [worker.finish() for worker in workers]
    for port in bed.switch.show("ports"):
        assert port["tx_bytes"] < 4 * count * repeat / 2, port
    # A rank that the processor comes late to asks for what has already come: less than one of the 123
    # results of an op. If results got lost, each would be asked for.
    assert sum(s["probes"] for s in stats) < len(workers) * repeat, "results are not lost"


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_bad_network_every_result_exact_and_every_op_ends(make_bed, launch, ports):
    """1 % dropped, duplicated and reordered in both directions of every worker's cable (O5)."""
    bed = make_bed(ports, 4, impairment=Impairment(BAD_NETWORK, seed=20240601))
    steps = [
        {"do": "allreduce", "count": 400_000, "dtype": "int32", "repeat": 8, "seed": 1},
        {"do": "allreduce", "count": 100, "dtype": "float32", "repeat": 50, "seed": 2},
    ]
    stats = [worker.finish() for worker in launch(bed).start(steps)]
    assert sum(s["probes"] for s in stats) > 0, "losses that nobody noticed"
    for cable in bed.fabric.cables:
        cable.stop()
        lines = [line for line in cable.stdout if "frames=" in line]
        assert len(lines) == 2, cable.describe()
        for line in lines:
            counts = dict(word.split("=") for word in line.split()[1:])
            assert min(int(counts[k]) for k in ("dropped", "duplicated", "reordered")) > 0, line


def test_corrupted_packets_are_counted_and_never_summed(make_bed, launch):
    bed = make_bed("memif", 2, impairment=Impairment(("--corrupt", "2%"), seed=7))
    steps = [{"do": "allreduce", "count": 400_000, "dtype": "int32", "repeat": 5}]
    for worker in launch(bed).start(steps):
        worker.finish()


def test_crc32c_integrity(make_bed, launch):
    job = Job(1, 2, options=(("integrity", "crc32c"),))
    bed = make_bed("veth", 2, jobs=[job], impairment=Impairment(BAD_NETWORK, seed=5))
    steps = [{"do": "allreduce", "count": 300_000, "dtype": "int32", "repeat": 5}]
    for worker in launch(bed).start(steps):
        worker.finish()


def test_two_jobs_at_once_do_not_mix(make_bed, launch):
    """O1: nothing of one job reaches another, even from the same ports."""
    bed = make_bed("veth", 2, jobs=[Job(1, 2), Job(2, 2)])
    launcher = launch(bed)
    workers = []
    for job in (1, 2):
        steps = [
            {"do": "allreduce", "count": 200_000, "dtype": "int32", "repeat": 10, "seed": job}
        ]
        workers += launcher.start(steps, job=job)
    for worker in workers:
        worker.finish()
