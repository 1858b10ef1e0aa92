"""What a flood leaves of other traffic, for suite `isolation`.

The packet loop has a tenth of a CPU (overload.Throttle): it is what lacks, and the generator on the other CPU always has more for it. Eight
ports have a worker of each of four jobs, two have stations that send each other plain frames. What is promised follows from how the loop
takes turns: of each port's queue a burst at most, so that of ten queues which all have frames eight are the jobs', and a sender that
asks for less than its part finds nobody in its way. (A port that cannot keep up has a queue for each class, and half for each:
dataplane/io/fair_backlog.h; its tests count bytes.)

    flood            what is measured        what it asks for         its part of all that is handled
    plain frames     contributions           all that it can have     8 of 10 queues
    four jobs        plain frames            half of its part         2 of 10 queues
    three jobs       goodput of one job      half of its part         1 of 4 jobs

Each in turn alone and beside the flood, on the same switch; which comes first alternates. Its share is fair if it got what it asks for,
which is what it gets alone, or else its part of what the loop handled meanwhile: of that, not of what the loop can do, since
neighbours of a virtual machine may leave it a third from one second to the next.
"""

import dataclasses
from typing import Callable

import dut
import overload

JOBS, WORKERS, PLAIN_PORTS = 4, 8, 2
PORTS = WORKERS + PLAIN_PORTS
CHUNK_BYTES, PLAIN_BYTES = 1024, 64
SLOW_JOB = 2
FLOOD_PPS = "50M"  # more than any generator can
QUEUES = WORKERS / PORTS  # that are the jobs'
BAR = 0.9  # of a fair share: the rest is noise
PART = 0.5


@dataclasses.dataclass
class Case:
    """`alone`, `beside`: options of the generator; `plain`: alone, there are no jobs at all."""
    name: str
    flooded_by: str
    unit: str
    alone: list
    beside: list
    figure: Callable  # of a report: what is measured
    flood: Callable  # what the flood had
    part: float  # of what both had together
    plain: bool = False
    alone_had: list = dataclasses.field(default_factory=list)
    beside_had: list = dataclasses.field(default_factory=list)
    flood_had: list = dataclasses.field(default_factory=list)


def contribution_rate(report):
    return report["total"]["contributions_per_s"] * 1e-3


def plain_rate(report):
    return report["l2"]["received_per_s"] * 1e-3


def goodput_of(job):
    return lambda report: next(one for one in report["jobs"] if one["id"] == job)["goodput_gbytes_per_s"]


def others_than(job):
    return lambda report: report["total"]["goodput_gbytes_per_s"] - goodput_of(job)(report)


def plain(rate):
    ports = [word for i in range(WORKERS, PORTS) for word in ("--l2-port", f"p{i}")]
    return ["--l2", rate, "--l2-bytes", PLAIN_BYTES, *ports]


def cases(most):
    """`most`: contributions a second, when four jobs flood the loop and nothing is beside them."""
    plain_part = most / WORKERS * PLAIN_PORTS  # a queue is as good as another
    modest = plain(max(1, int(plain_part * QUEUES * PART)))
    slow = ["--job-rate", f"{SLOW_JOB}:{max(1, int(most / JOBS * PART))}"]
    return [
        Case(f"{JOBS} jobs", f"{PLAIN_BYTES} B frames through {PLAIN_PORTS} other ports", "k/s",
             [], plain(FLOOD_PPS), contribution_rate, plain_rate, QUEUES),
        Case(f"{PLAIN_BYTES} B frames at half of their part", f"{JOBS} jobs through {WORKERS} other ports", "k/s",
             modest, modest, plain_rate, contribution_rate, 1 - QUEUES, plain=True),
        Case("a job at half of its part", f"{JOBS - 1} others through the same ports", "GB/s",
             ["--job", SLOW_JOB, *slow], slow, goodput_of(SLOW_JOB), others_than(SLOW_JOB), 1 / JOBS),
    ]


def right(report):
    l2 = report.get("l2") or {}
    return report["total"]["results_wrong"] == 0 and l2.get("damaged", 0) == 0


def rows(case, shares_had, exact):
    """Verified: nothing was wrong, the flood was one and the loop lacked CPU; and its share was fair."""
    name = f"{case.name}, beside {case.flooded_by}"
    exact = exact and min(case.flood_had) > 0 and max(shares_had) <= overload.MOST_SHARE
    yield dut.row("isolation", name, "delivered", case.beside_had, case.unit, "alone", case.alone_had, exact)
    fair = [min(alone, case.part * (beside + flood)) for alone, beside, flood in zip(case.alone_had, case.beside_had, case.flood_had)]
    line = dut.row("isolation", name, f"share (bar {BAR})", case.beside_had, case.unit, "a fair one", fair, exact)
    yield {**line, "verified": line["verified"] and line["ratio"] >= BAR}
