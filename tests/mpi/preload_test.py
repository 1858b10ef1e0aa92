"""Programs that know nothing of Tributary, with the library preloaded, through a real switch (T19)."""

import subprocess

import pytest

from conftest import LIBRARY, RANKS, program, tool

COLLECTIVES = ["allreduce", "integers", "complex", "reduce", "bcast", "allgather",
               "reduce_scatter", "barrier", "own", "halves"]


def test_every_collective_is_right_and_goes_through_the_switch(programs, mpi):
    run = programs.run(mpi, [program("collectives", mpi)])
    assert run.returncode == 0, run.describe()
    assert run.passed() == COLLECTIVES
    for name in ("Allreduce", "Reduce", "Bcast", "Allgather", "Reduce_scatter_block",
                 "Reduce_scatter", "Barrier"):
        assert run.said(f"^MPI_{name}(,.*)?: job 1$"), name
    # Each half has a job of its own, in each of three rounds.
    assert len(run.said("^MPI_Barrier: job 2$")) == len(run.said("^MPI_Barrier: job 3$")) == 6
    for why in ("a type that the switch does not sum", "an operation that the switch does not do",
                "an intercommunicator", "a group of one rank"):
        assert run.said(f": MPI, {why}$"), why


def test_nonblocking_collectives_complete_in_every_wait_and_test(programs, mpi):
    run = programs.run(mpi, [program("requests", mpi)])
    assert run.returncode == 0, run.describe()
    assert run.passed() == ["waits", "messages", "progress", "others"]
    for name in ("Iallreduce", "Ireduce", "Ibcast", "Iallgather", "Ireduce_scatter_block",
                 "Ibarrier"):
        assert len(run.said(f"^MPI_{name}(,.*)?: job 1$")) >= RANKS, name


def test_fortran_goes_the_same_way(programs, mpi, tmp_path):
    binary = tmp_path / "sums"
    fortran = __file__.replace("preload_test.py", "sums.f90")
    subprocess.run([f"mpif90.{mpi}", "-w", "-fallow-argument-mismatch", "-J", tmp_path, fortran,
                    "-o", binary], check=True, timeout=120)
    run = programs.run(mpi, [binary])
    assert run.returncode == 0, run.describe()
    assert run.passed() == ["fortran"]
    for call in ("MPI_Allreduce, 160000 bytes of float64, sum",
                 "MPI_Allreduce, 80000 bytes of int32, max",
                 "MPI_Iallreduce, 160000 bytes of float64, sum", "MPI_Bcast, 80000 bytes"):
        assert len(run.said(f"^{call}: job 1$")) == RANKS, call


def test_nonblocking_calls_wait_for_no_rank_however_many_are_open(programs, mpi):
    run = programs.run(mpi, [program("requests", mpi), "many"])
    assert run.returncode == 0 and run.passed() == ["many"], run.describe()
    assert run.said("^MPI_Ibarrier: job 1$")


@pytest.mark.parametrize("threshold, to_switch", [("1K", 1), ("off", 0)])
def test_a_tool_behind_the_library_sees_what_is_left_to_mpi(programs, mpi, threshold, to_switch):
    """Each call once, from MPI_Init to MPI_Finalize, and none of the library's own."""
    run = programs.run(mpi, [program("profiled", mpi)], behind=[tool(mpi)],
                       MPI_THRESHOLD=threshold)
    assert run.returncode == 0 and run.passed() == ["profiled"], run.describe()
    assert len(run.said("^MPI_Allreduce, 120000 bytes of float32, sum: job 1$")) == to_switch * RANKS
    seen = dict(line.split()[1:] for line in run.out if line.startswith("tool "))
    assert seen == {"Init": "4", "Send": "4", "Allreduce": str(RANKS * (2 - to_switch)),
                    "Barrier": "4", "Waitall": "4", "Finalize": "4"}


def test_small_calls_stay_with_mpi(programs, mpi):
    run = programs.run(mpi, [program("collectives", mpi)], MPI_THRESHOLD="40029")
    assert run.returncode == 0, run.describe()
    assert run.said("^MPI_Allreduce, 40028 bytes of float32, sum: MPI, below the threshold of "
                    "40029 bytes$")
    assert run.said("^MPI_Barrier: MPI, barrier is off$")
    assert run.said("^MPI_Allgather, 320224 bytes: job 1$")


def test_without_blocking_calls_the_world_can_be_bound_at_start(programs, mpi):
    only = {"MPI_THRESHOLD": "off,barrier=0"}
    run = programs.run(mpi, [program("requests", mpi)], **only)
    assert run.said("^MPI_Ibarrier: job 1$"), "bound by MPI_Barrier"
    run = programs.run(mpi, [program("requests", mpi)], MPI_BIND_WORLD="1", **only)
    assert run.returncode == 0, run.describe()
    assert run.said("^MPI_COMM_WORLD, 4 ranks: job 1$")


@pytest.mark.parametrize("jobs, why", [
    ("1", "other communicators use 1, the switch has other worker counts for 0"),
    ("2,3", "other communicators use 0, the switch has other worker counts for 2"),
])
def test_a_group_without_a_job_stays_with_mpi(programs, mpi, jobs, why):
    """The list is used up, or all its jobs are smaller than the group."""
    run = programs.run(mpi, [program("collectives", mpi)], JOBS=jobs)
    assert run.returncode == 0, run.describe()
    assert run.passed() == COLLECTIVES
    assert run.said(f": MPI, no job is left for a group of . ranks: .*{why}")


def test_without_address_or_switch_all_goes_to_mpi(programs, mpi):
    run = programs.run(mpi, [program("collectives", mpi)], ADDRESS="")
    assert run.returncode == 0 and run.passed() == COLLECTIVES, run.describe()
    assert run.said("^rank 3 has no TRIBUTARY_ADDRESS, such as udp://")
    run = programs.run(mpi, [program("collectives", mpi)], ADDRESS="udp://10.77.0.99",
                       MPI_JOIN_TIMEOUT="1", JOBS="1")
    assert run.returncode == 0 and run.passed() == COLLECTIVES, run.describe()
    assert run.said("^MPI_COMM_WORLD stays with MPI: job 1: .*10.77.0.99")


def test_a_bad_setting_ends_the_program(programs, mpi):
    run = programs.run(mpi, [program("collectives", mpi)], MPI_THRESHOLD="lots")
    assert run.returncode != 0 and run.passed() == []
    assert run.said("^TRIBUTARY_MPI_THRESHOLD=lots: allowed is a size such as ")


def test_the_library_of_the_other_mpi_is_refused(programs, mpi):
    other = "mpich" if mpi == "openmpi" else "openmpi"
    run = programs.run(mpi, [program("collectives", mpi)], preload=other)
    assert run.returncode != 0 and run.passed() == []
    assert any(f"preload libtributary_mpi_{mpi}.so" in line for line in run.err), run.describe()


def test_ranks_that_disagree_fail_alike(programs, mpi):
    run = programs.run(mpi, [program("failures", mpi), "disagree"])
    assert run.returncode == 0, run.describe()
    assert sorted(run.out) == [*(f"failed on rank {r}" for r in range(RANKS)), "passed first"]
    said = run.said("^MPI_Allreduce, job 1: ")
    assert len(said) == RANKS and all("15000 float32" in s and "30000 float32" in s for s in said)


@pytest.mark.parametrize("how", ["abort", "kill"])
def test_after_the_death_of_a_rank_the_next_program_runs(programs, mpi, how):
    run = programs.run(mpi, [program("failures", mpi), how])
    assert run.returncode != 0, run.describe()
    # The starter loses what it has not read when a rank dies; the second sum's lines, often.
    assert run.said("^MPI_Allreduce, 120000 bytes of float32, sum: job 1$"), run.describe()
    run = programs.run(mpi, [program("collectives", mpi)])
    assert run.returncode == 0 and run.passed() == COLLECTIVES, run.describe()
    assert run.said("^MPI_COMM_WORLD, 4 ranks: job 1$")


def test_the_cost_of_a_small_call_is_measurable(programs, mpi):
    """tools/bench mpi takes its figure from this program."""
    run = programs.run(mpi, [program("call_cost", mpi), 2, 1000, LIBRARY[mpi]], ranks=1,
                       MPI_LOG="0", MPI_THRESHOLD="1M")
    assert run.returncode == 0, run.describe()
    assert len([list(map(float, line.split())) for line in run.out]) == 2
