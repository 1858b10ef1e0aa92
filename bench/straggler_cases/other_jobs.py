"""A straggling job and another one share few slots: what the other one gets.

Three sides take turns in one run: switches with a deadline; switches that wait forever, as long as anybody
asks; and the former with nobody late (both ranks of the first job begin each op as late). Each switch has four
ports and one pool of slots, and runs all the time.

Slots are scarce when a job holds those that others are entitled to. A job may borrow what nobody needs: the
first one, which begins before the other, takes the whole pool for its first op, and one of its ranks is late by
longer than the other job is measured. The other one's window is its fair share, so it finds all the slots that
it can use where the first one has given its own back.

What finds no slot is summed by the completion engine inside the switch. With plenty of memory that costs other
jobs some throughput, with little memory it is what they wait for; so both are measured. A row says, too, how
much of the other job was summed in slots. Where the engine is elsewhere, all the rest would have to go there.
"""

import contextlib
import json
import statistics
import sys

from testbed.bed import Bed
from testbed.loop import Loop
from testbed.switch import Job
from testbed.tree import binary

SLOTS = 128  # and the first job's window
WINDOW = 64  # of the other one: its fair share
LATE = "20s"  # a hundred deadlines
# The first ops of the other job come while the first one's deadline runs: so many more ops are measured where
# that is to be felt as little as in a whole LATE.
LONGER = 6
LIMIT_S = 120
DEADLINE, FOREVER, NOBODY = "deadline", "waits forever", "nobody late"
# By MiB for the completion engine, of which 64 is the default: what the other job's algbw should be.
BARS = {1: {FOREVER: 3, NOBODY: 0.9}, 64: {FOREVER: 1, NOBODY: 0.9}}


def make_bed(loop, stack, deadline, completion_mib):
    options = (("slots", "dynamic"), ("deadline", deadline), ("on_deadline", "escalate"))
    jobs = [Job(job, 2, (*options, ("window", window))) for job, window in ((1, SLOTS), (2, WINDOW))]
    return stack.enter_context(Bed(loop, "veth", 4, jobs=jobs, slots=SLOTS,
                                   completion={"megabytes": completion_mib}))


def client(bed, name, port, job, rank, *options):
    command = [binary(bed.build, "tributary"), "bench", "allreduce", "--job", job, "--size", 2]
    command += ["--rank", rank, "--address", bed.address(port), "--timeout", LIMIT_S, "--warmup", 1]
    return bed.start(name, [*command, *options], port)


class Rounds:
    """One side after the other: algbw of job 2 in GB/s, and its share of chunks summed in slots."""

    def __init__(self, bed):
        self._bed, self._count = bed, 0
        self.right = True

    def run(self, late, iterations):
        """`late`: ranks of job 1 that begin their ops late; `iterations`: ops of job 2."""
        self._count += 1
        size = ("--min", "1M", "--max", "1M")
        first = [
            client(self._bed, f"first{self._count}-{rank}", rank, 1, rank, *size, "--iters", 10_000,
                   *(("--delay", LATE) if rank in late else ()))
            for rank in (0, 1)
        ]
        before = self._job(1)
        given_up = self._job(0)[1]
        try:
            self._bed.loop.wait(lambda: self._straggles(late, given_up), LIMIT_S, "job 1 straggles")
            second = [
                client(self._bed, f"second{self._count}-{rank}", 2 + rank, 2, rank, *size, "--json",
                       "--iters", iterations)
                for rank in (0, 1)
            ]
            for process in second:
                process.check_exit(LIMIT_S)
        finally:
            for process in first:
                process.stop()
        (figures,) = json.loads(second[0].text())
        self.right = self.right and figures["wrong"] == 0
        in_slots, elsewhere = (now - then for now, then in zip(self._job(1), before))
        return figures["algbw_gbps"], 100 * in_slots / (in_slots + elsewhere)

    def _job(self, index):
        job = self._bed.switch.show("jobs")[index]
        return job["completions"], job["escalations"]

    def _straggles(self, late, given_up):
        """It runs; where one rank is late, it has all slots, or had them until the deadline."""
        if len(late) == 2:
            return self._bed.switch.show("jobs")[0]["present"] == 2
        held = sum(slot["job"] == 1 for slot in self._bed.switch.show("slots"))
        return held >= SLOTS or self._job(0)[1] - given_up >= SLOTS


def measure(quick, row):
    for completion_mib in BARS:
        yield from measure_with(completion_mib, quick, row)


def measure_with(completion_mib, quick, row):
    rounds, iterations = (3 if quick else 9), 150
    samples = {DEADLINE: [], FOREVER: [], NOBODY: []}
    with Loop() as loop, contextlib.ExitStack() as stack:
        with_deadline = Rounds(make_bed(loop, stack, "200ms", completion_mib))
        forever = Rounds(make_bed(loop, stack, "3600s", completion_mib))
        sides = [(DEADLINE, with_deadline, (1,)), (FOREVER, forever, (1,)),
                 (NOBODY, with_deadline, (0, 1))]
        for number in range(rounds):
            for name, side, late in sides if number % 2 == 0 else reversed(sides):
                share = 1 if name == FOREVER else LONGER
                samples[name].append(side.run(late, iterations * share))
        right = with_deadline.right and forever.right
    case = (f"1 MiB ops beside a job late by {LATE}, {SLOTS} slots for both, "
            f"{completion_mib} MiB for completion")
    for reference, bar in BARS[completion_mib].items():
        pairs = [(ours[0], theirs[0])
                 for ours, theirs in zip(samples[DEADLINE], samples[reference])]
        yield row(case, "algbw of the other job", "GB/s", pairs, reference, right, bar)
    # Waiting forever leaves it none, so that there is no ratio to that.
    pairs = [(ours[1], theirs[1]) for ours, theirs in zip(samples[DEADLINE], samples[NOBODY])]
    yield row(case, "the other job's chunks summed in slots", "%", pairs, NOBODY, right, 0.9)
    waiting = statistics.median(theirs[1] for theirs in samples[FOREVER])
    print(f"stragglers: {waiting:.1f} % in slots where switches wait forever", file=sys.stderr)
