"""A straggling job and another one share few slots: what the other one gets.

Three sides take turns in one run: switches with a deadline; switches that wait forever, as long as
anybody asks; and the former with nobody late (both ranks of the first job begin each op as late). Each
switch has four ports, one pool of as many slots as one job's window, and runs all the time.

What finds no slot is summed by the completion engine inside the switch. With plenty of memory it costs
other jobs little throughput, with little memory it is what they wait for; so both are measured, and a
row says, too, how much of the other job was summed in slots. Where the engine is elsewhere, all the rest
would have to go there.
"""

import contextlib
import json

from testbed.bed import Bed
from testbed.loop import Loop
from testbed.switch import Job
from testbed.tree import binary

WINDOW = 64
LATE = "1s"
LIMIT_S = 120
COMPLETION_MIB = (1, 64)  # of the completion engine; the latter is the default
DEADLINE, FOREVER, NOBODY = "deadline", "waits forever", "nobody late"
BARS = ({FOREVER: 3, NOBODY: 0.9}, {FOREVER: 1.2, NOBODY: 0.7})


def make_bed(loop, stack, deadline, completion_mib):
    options = (("slots", "dynamic"), ("window", WINDOW), ("deadline", deadline),
               ("on_deadline", "escalate"))
    jobs = [Job(1, 2, options), Job(2, 2, options)]
    return stack.enter_context(Bed(loop, "veth", 4, jobs=jobs, slots=WINDOW,
                                   completion={"megabytes": completion_mib}))


def client(bed, name, port, job, rank, *options):
    command = [binary(bed.build, "tributary"), "bench", "allreduce", "--job", job, "--size", 2]
    command += ["--rank", rank, "--address", bed.address(port), "--timeout", LIMIT_S, "--warmup", 1]
    return bed.start(name, [*command, *options], port)


class Rounds:
    """One side after the other: algbw of job 2 in GB/s, and its share of chunks summed in slots."""

    def __init__(self, bed, iterations):
        self._bed, self._iterations, self._count = bed, iterations, 0
        self.right = True

    def run(self, late):
        """`late`: ranks of job 1 that begin their ops late."""
        self._count += 1
        size = ("--min", "1M", "--max", "1M")
        first = [
            client(self._bed, f"first{self._count}-{rank}", rank, 1, rank, *size, "--iters", 10_000,
                   *(("--delay", LATE) if rank in late else ()))
            for rank in (0, 1)
        ]
        before = self._second_job()
        try:
            self._bed.loop.wait(self._straggles, LIMIT_S, "job 1 runs")
            second = [
                client(self._bed, f"second{self._count}-{rank}", 2 + rank, 2, rank, *size, "--json",
                       "--iters", self._iterations)
                for rank in (0, 1)
            ]
            for process in second:
                process.check_exit(LIMIT_S)
        finally:
            for process in first:
                process.stop()
        (figures,) = json.loads(second[0].text())
        self.right = self.right and figures["wrong"] == 0
        in_slots, elsewhere = (now - then for now, then in zip(self._second_job(), before))
        return figures["algbw_gbps"], 100 * in_slots / (in_slots + elsewhere)

    def _second_job(self):
        job = self._bed.switch.show("jobs")[1]
        return job["completions"], job["escalations"]

    def _straggles(self):
        return self._bed.switch.show("jobs")[0]["present"] == 2


def measure(quick, row):
    for completion_mib in COMPLETION_MIB:
        yield from measure_with(completion_mib, quick, row)


def measure_with(completion_mib, quick, row):
    rounds, iterations = (3, 400) if quick else (9, 1500)
    samples = {DEADLINE: [], FOREVER: [], NOBODY: []}
    with Loop() as loop, contextlib.ExitStack() as stack:
        with_deadline = Rounds(make_bed(loop, stack, "200ms", completion_mib), iterations)
        forever = Rounds(make_bed(loop, stack, "3600s", completion_mib), iterations)
        sides = [(DEADLINE, with_deadline, (1,)), (FOREVER, forever, (1,)),
                 (NOBODY, with_deadline, (0, 1))]
        for number in range(rounds):
            for name, side, late in sides if number % 2 == 0 else reversed(sides):
                samples[name].append(side.run(late))
        right = with_deadline.right and forever.right
    case = (f"1 MiB ops beside a job late by {LATE}, {WINDOW} slots for both, "
            f"{completion_mib} MiB for completion")
    metrics = (("algbw of the other job", "GB/s"), ("the other job's chunks summed in slots", "%"))
    for index, (metric, unit) in enumerate(metrics):
        for reference, bar in BARS[index].items():
            pairs = [(ours[index], theirs[index])
                     for ours, theirs in zip(samples[DEADLINE], samples[reference])]
            yield row(case, metric, unit, pairs, reference, right, bar)
