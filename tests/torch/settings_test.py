"""What ranks agree on before their first call, and what they say of it: thresholds, jobs, epochs."""

import os
import re
import threading
import time
from contextlib import ExitStack, contextmanager

from conftest import LIMIT_S, Ranks, Switch


@contextmanager
def made(*arguments, **options):
    ranks = Ranks(*arguments, **options)
    try:
        yield ranks
    finally:
        ranks.stop()


def calls(ranks, rank, size=4):
    """The lines of TRIBUTARY_TORCH_LOG=1, less what all lines of a rank begin with."""
    pattern = re.compile(rf"tributary: rank {rank} of {size}, group \w+: (.*)")
    return [match[1] for match in map(pattern.match, ranks.said(rank)) if match]


def test_thresholds_and_job_of_rank_0_hold_for_all(switch, directory):
    """The other ranks' variables would send each call elsewhere. The log says where each call went."""
    own = {"TRIBUTARY_TORCH_THRESHOLDS": "allreduce=2000-4000", "TRIBUTARY_JOB": "2/4"}
    others = {"TRIBUTARY_TORCH_THRESHOLDS": "allreduce=never", "TRIBUTARY_JOB": "1/4",
              "TRIBUTARY_TORCH_LOG": "1"}
    with made(switch, directory, of_rank={0: own}, **others) as ranks:
        ranks.run("outside_thresholds")
        for rank in range(4):
            assert calls(ranks, rank) == [
                "allreduce of 1000 B float32 (SUM): gloo (below the threshold of 2000 B)",
                "allreduce of 2000 B float32 (SUM): switch, job 2 (within its thresholds)",
                "allreduce of 4004 B float32 (SUM): gloo (above the threshold of 4000 B)",
                "allreduce of 4 B bfloat16 (SUM): switch, job 2 (Gloo does not have it)",
            ], rank


def test_a_group_without_a_job_says_so(switch, directory):
    """Once, on rank 0; the log says it for each call."""
    with made(switch, directory, TRIBUTARY_JOB="2/4", TRIBUTARY_TORCH_LOG="1") as ranks:
        ranks.run("a_second_group_without_a_job")
        why = r"no job is left for a group of 4 ranks \(TRIBUTARY_JOB has 2\)"
        for rank in range(4):
            first, second = calls(ranks, rank)
            assert first == "allreduce of 4 B float32 (SUM): switch, job 2 (within its thresholds)"
            assert re.fullmatch(rf"allreduce of 4 B float32 \(SUM\): gloo \({why}\)", second)
            said = [line for line in ranks.said(rank) if "all its calls" in line]
            assert len(said) == (rank == 0), said
        text = rf"tributary: group \w+: {why}; all its calls go to Gloo"
        assert re.fullmatch(text, *[line for line in ranks.said(0) if "all its calls" in line])


def test_a_group_that_is_larger_than_its_job_is_refused(switch, directory):
    """On every rank, also on those that the job has. Each says what the switch has against it."""
    with made(switch, directory, TRIBUTARY_JOB="5") as ranks:
        ranks.start("sums_once")
        for rank in range(4):
            how, what = ranks.receive(rank)
            assert how == "raised", what
            why = ("(job-size-mismatch): the switch has another worker count for this job" if rank < 2
                   else "(bad-rank): the rank is outside the job, or not allowed on this port")
            assert what[1] == f"job 5: the switch refused rank {rank} of 4 {why}", what


class Run:
    """The ranks of one of two runs that use the same job; each joins when it's told to."""

    def __init__(self, ranks, size, folder):
        gates = [str(folder / f"gate{rank}") for rank in range(size)]
        for path in gates:
            os.mkfifo(path)
        # Open at both ends: neither side waits for the other one to open it.
        self._open = [os.open(path, os.O_RDWR) for path in gates]
        ranks.start("join_when_told", gates)

    def join(self, rank):
        os.write(self._open[rank], b"x")

    def close(self):
        for file in self._open:
            os.close(file)


def test_a_run_waits_until_processes_of_another_one_have_gone(directory):
    """An old run's rank 1 waits for its rank 0; the new run's rank 0 says so, and does not meet it."""
    here = directory / "runs"
    here.mkdir()
    with ExitStack() as stack:
        # A rank that dies is known by its connection's end.
        switch = Switch(here, {5: 2}, "lease: 1000s")
        switch.start()
        stack.callback(switch.stop)

        def start(name, first_port):
            folder = here / name
            folder.mkdir()
            addresses = {rank: {"TRIBUTARY_ADDRESS": switch.address_of(5, first_port + rank)}
                         for rank in range(2)}
            ranks = stack.enter_context(
                made(switch, folder, 2, of_rank=addresses, TRIBUTARY_JOB="5"))
            run = Run(ranks, 2, folder)
            stack.callback(run.close)
            return ranks, run

        (old_ranks, old), (new_ranks, new) = start("old", 0), start("new", 2)
        old.join(1)
        switch.wait_until(5, present=True)
        new.join(0)
        told = re.compile(r"tributary: job 5: rank 1 waits at [\d.]+ UDP port \d+ for ranks of another run; ")
        end = time.monotonic() + LIMIT_S
        while not any(told.match(line) for line in new_ranks.said(0)):
            assert time.monotonic() < end, new_ranks.said(0)
            threading.Event().wait(0.05)
        old_ranks.kill(1)
        new.join(1)
        for rank in range(2):
            how, what = new_ranks.receive(rank)
            assert how == "returned", what
        old_ranks.kill(0)
