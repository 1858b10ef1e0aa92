"""Tests that MPI's own authors wrote, with the library preloaded: MPICH's of collectives, and mpi4py's
of collectives on buffers. They are no part of this tree: docs/testing.md says how to have them."""

import os
import re
from pathlib import Path

import pytest

from conftest import RANKS, Programs
from testbed.bed import Bed
from testbed.loop import Loop
from testbed.switch import Job

SUITES = os.environ.get("TRIBUTARY_MPI_SUITES")
MOST_RANKS = 8
LIMIT_S = 300  # eight ranks on two cores take long
# Programs of MPICH's folder coll whose collectives the switch has; coll_large needs tens of GB.
SUBJECTS = re.compile(
    r"allred\w*|allgather(\d|_struct)|bcast\w*|red\w*|op\w+|uop\w*|longuser|nonblocking|iallred|ibarrier|"
    r"ic(allreduce|allgather|bcast|reduce|barrier)")

pytestmark = pytest.mark.skipif(SUITES is None, reason="TRIBUTARY_MPI_SUITES names no folder")


def cases(folder):
    """(program, ranks, arguments) of the subjects, by MPICH's own list."""
    found = []
    for line in (folder / "testlist").read_text().splitlines():
        words = line.split()
        if words and SUBJECTS.fullmatch(words[0]):
            arguments = [word[4:] for word in words[2:] if word.startswith("arg=")]
            found.append((words[0], min(int(words[1]), MOST_RANKS), tuple(arguments)))
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def programs():
    """Jobs for groups of 2 to 8 ranks, several of each size."""
    options = (("arithmetic", "modular"), ("lease", "20s"))
    sizes = [size for size in range(2, MOST_RANKS + 1) for _ in range(3)]
    jobs = [Job(number, size, options) for number, size in enumerate(sizes, 1)]
    with Loop() as loop, Bed(loop, "veth", 1, jobs) as bed:
        yield Programs(bed)


def run(programs, mpi, argv, ranks, preload=None):
    return programs.run(mpi, argv, ranks, preload, limit_s=LIMIT_S, JOBS="1-21", MPI_LOG="0")


def contributions(programs):
    return sum(row["contributions"] for row in programs.bed.switch.show("jobs"))


def passes(done):
    return done.returncode == 0 and [line.strip() for line in done.out if line.strip()] == ["No Errors"]


@pytest.mark.parametrize("mpi", ["openmpi"])
def test_mpichs_tests_of_collectives_pass_as_without_the_library(programs, mpi):
    """What fails without the library, too, is a defect of that MPI."""
    folder = Path(SUITES) / mpi / "coll"
    listed = cases(folder)
    failed, failed_alike = [], []
    before = contributions(programs)
    for name, ranks, arguments in listed:
        argv = [folder / name, *arguments]
        done = run(programs, mpi, argv, ranks)
        if passes(done):
            continue
        alone = run(programs, mpi, argv, ranks, preload=False)
        (failed if passes(alone) else failed_alike).append((name, ranks, arguments, done.describe()))
    assert not failed, failed
    assert len(failed_alike) < len(listed) / 10, failed_alike
    assert contributions(programs) - before > 1000, "the tests' calls went elsewhere"


@pytest.mark.parametrize("subject", ["cco_buf", "cco_nb_buf", "cco_vec"])
def test_mpi4pys_tests_of_buffers_pass(programs, subject):
    # Debian's mpi4py is one of Open MPI.
    tests = Path(SUITES) / "mpi4py/test/runtests.py"
    before = contributions(programs)
    done = run(programs, "openmpi", ["/usr/bin/python3", "-B", tests, "-q", "-i", subject], RANKS)
    assert done.returncode == 0, done.describe()
    assert sum(line == "OK" for line in done.err) == RANKS, done.describe()
    assert contributions(programs) - before > 100, "the tests' calls went elsewhere"
