"""A cable that is too slow for a window says so, and all ranks put less under way (rule 15)."""

import pytest
from testbed.fabric import Impairment
from testbed.switch import Job

RANKS = 3
SLOW = 1  # whose cable it is
# In both directions: 4 MB take a second, and eight chunks of 8 KiB fill the queue.
BOTTLENECK = ("--rate", "40000000", "--queue", "72000")
MARKS = ("--mark", "18000")
WINDOW = 64
# What they have learned in an op ranks know in the next one.
STEPS = [{"do": "allreduce", "count": 500_000, "dtype": "int32", "repeat": 3, "seed": 3}]


class Run:
    """One job over the slow cable; what ranks, switch and cable counted."""

    def __init__(self, make_bed, launch, ports, arguments):
        job = Job(1, RANKS, options=(("window", WINDOW), ("chunk_bytes", 8192), ("deadline", "30s")))
        impairment = Impairment(arguments, only=frozenset({SLOW}))
        bed = make_bed(ports, RANKS, jobs=[job], impairment=impairment)
        self.stats = [worker.finish() for worker in launch(bed).start(STEPS)]
        self.job = bed.switch.show("jobs")[0]
        (cable,) = bed.fabric.cables
        cable.stop()
        counts = [dict(w.split("=") for w in line.split()[1:]) for line in cable.stdout
                  if "frames=" in line]
        assert len(counts) == 2, cable.describe()
        self.lost = sum(int(c["overflowed"]) for c in counts)
        self.queued = sum(int(c["queued"]) for c in counts)

    def of_ranks(self, name):
        return [stats[name] for stats in self.stats]


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_marks_make_windows_smaller_and_losses_fewer(make_bed, launch, ports):
    """Sums are exact either way; what the queue cannot hold is lost, and sent again."""
    deaf = Run(make_bed, launch, ports, BOTTLENECK)
    assert deaf.lost > WINDOW, "the window fits into the queue"
    assert deaf.queued == 0
    assert deaf.of_ranks("least_window") == [WINDOW] * RANKS
    assert deaf.job["marked_data"] == 0

    told = Run(make_bed, launch, ports, (*BOTTLENECK, *MARKS))
    assert told.queued > 0
    assert told.job["marked_data"] > 0, "no mark came to the switch"
    assert told.lost < deaf.lost / 2, f"{told.lost} with marks, {deaf.lost} without"
    # Whoever's cable it is, all take the same decisions.
    assert len(set(told.of_ranks("marked_results"))) == 1
    assert len(set(told.of_ranks("window_decreases"))) == 1
    assert len(set(told.of_ranks("least_window"))) == 1
    assert told.of_ranks("least_window")[0] < WINDOW
