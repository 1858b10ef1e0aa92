"""A training in each storm: nothing is finished at the first try, and no bit of the model differs (T4, O4).

The storms are those of the benchmark (bench/storm_beds.py); their jobs sum in a declared order here.
"""

import dataclasses
import json
import sys

import pytest
from testbed.fabric import Impairment
from testbed.tree import PYTHON, TOP
from testbed.tree_bed import TreeBed

sys.path.insert(0, str(TOP / "bench"))

import storm_beds  # noqa: E402  (needs the path above)

LIMIT_S = 100
STORMS = {storm.name: storm for storm in storm_beds.storms()}
CALM = dataclasses.replace(STORMS["resend"], name="calm", losses=(), lossy=frozenset(), counter="")
TRAIN = TOP / "examples/fashion_mnist/train.py"
STEPS = 40
# 31 bits of multiples of 2^-200: no gradient fits but 0.
OVERFLOWS = -200
DECLARED = (("order", "reproducible"), ("bracketing", [[0, 1], [2, 3]]))

# A rank of the job that holds every slot: rank 0 sends what rank 1 never will.
HOLD = """
import signal, sys, numpy, tributary
rank, address, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with tributary.init(job=%d, rank=rank, size=2, address=address, op_timeout=3600.0) as communicator:
    if rank == 0:
        op = communicator.allreduce(numpy.zeros(count, numpy.float32), op="sum")
    signal.pause()
""" % storm_beds.HOLDER


class Training:
    """Four ranks that train in a storm; what they report."""

    def __init__(self, loop, directory, storm):
        storm = dataclasses.replace(storm, sides=storm.sides[:1], job=(*storm.job, *DECLARED))
        file = directory / "storm.yaml"
        file.write_text(json.dumps(storm_beds.topology(storm)))
        impairment = Impairment(storm.losses, only=storm.lossy) if storm.losses else None
        with TreeBed(loop, file, impairment=impairment) as bed:
            if storm.holder:
                self._hold(loop, bed)
            reports = self._train(bed, storm)
            jobs = bed.show("root", "jobs")
        assert all(report["steps"] == STEPS for report in reports)
        self.models = {report["sha256"] for report in reports}
        self.accuracy = reports[0]["accuracy"]
        self.hit = storm_beds.share_hit(storm, [report["stats"] for report in reports], jobs)

    @staticmethod
    def _train(bed, storm):
        ranks = []
        for rank in range(storm_beds.WORKERS):
            worker = storm_beds.worker(rank)
            command = [PYTHON, TRAIN, "--rank", rank, "--job", storm_beds.STORM]
            command += ["--address", bed.address(worker), "--workers", storm_beds.WORKERS]
            command += ["--epochs", 1, "--steps", STEPS, "--hidden", 64]
            if storm.sides[0].overflows:
                command += ["--scale-exponent", OVERFLOWS]
            ranks.append(bed.start(f"rank{rank}", command, worker))
        for process in ranks:
            process.check_exit(LIMIT_S)
        return [json.loads(process.text().splitlines()[-1]) for process in ranks]

    @staticmethod
    def _hold(loop, bed):
        count = storm_beds.WINDOW * storm_beds.CHUNK_BYTES // 4
        for rank in range(2):
            worker = storm_beds.worker(rank)
            command = [PYTHON, "-c", HOLD, rank, bed.address(worker), count]
            bed.start(f"holder{rank}", command, worker)

        def full():
            return storm_beds.slots_held(bed.show("root", "slots")) == storm_beds.WINDOW

        loop.wait(full, LIMIT_S, "every slot is held")


@pytest.fixture(scope="module")
def calm():
    """How a training without a storm ended, once there was one."""
    return []


@pytest.mark.parametrize("storm", STORMS.values(), ids=STORMS)
def test_t4_o4_a_storm_changes_no_bit_of_a_training(loop, tmp_path, calm, storm):
    if not calm:
        calm.append(Training(loop, tmp_path, CALM))
    training = Training(loop, tmp_path, storm)
    assert calm[0].hit == 0 and training.hit >= storm_beds.LEAST_HIT
    assert training.accuracy > 0.5
    assert len(training.models) == 1, "all ranks have the same"
    assert training.models == calm[0].models
