"""What one rank does wrong, or differently, with the library preloaded: mistakes in its arguments, and
buffers in a GPU's memory."""

import pytest

from conftest import RANKS, built, program

WRONG = 1
ALONE = ["null", "alias", "overlap", "in place at another root", "alias at the root",
         "part in the input", "null at the root", "null at another rank", "bcast in place",
         "sends too little", "negative count", "no type", "own part", "type that is not committed",
         "in use"]
BY_ALL = 6  # mistakes of all ranks, and three more with MPICH


def test_a_mistake_of_one_rank_fails_that_call_alone_on_all(programs, mpi):
    """The others had waited for TRIBUTARY_MPI_TIMEOUT: an hour."""
    run = programs.run(mpi, [program("mistakes", mpi), "alone"])
    assert run.returncode == 0, run.describe()
    assert run.passed() == ALONE
    whole = run.said("^MPI_Allreduce, job 1: one of its buffers is null$")
    assert len(whole) == 1, "the rank that made it"
    told = run.said(f"^MPI_Allreduce, job 1: rank {WRONG} could not take part: "
                    "one of its buffers is null$")
    assert len(told) == RANKS - 1, "the others"


def test_what_mpi_judges_stays_with_mpi(programs, mpi):
    """Type and operation, root and negative counts: the errors are MPI's, on every rank."""
    run = programs.run(mpi, [program("mistakes", mpi), "all"])
    plain = programs.run(mpi, [program("mistakes", mpi), "all"], preload=False)
    assert run.returncode == plain.returncode == 0, run.describe() + plain.describe()
    assert sorted(run.out) == sorted(plain.out)
    assert len(run.out) == RANKS * (BY_ALL + (3 if mpi == "mpich" else 0))
    for line in run.out:
        assert "MPI_SUCCESS" not in line, line
    for name in ("a root that is no rank", "an operation that the switch does not do"):
        assert run.said(f": MPI, {name}$"), name


def test_a_job_that_cannot_vote_is_not_used(programs, mpi):
    """Its reductions leave out what tells ranks of each other's mistakes."""
    run = programs.run(mpi, [program("mistakes", mpi), "all"], JOBS="4", MPI_JOIN_TIMEOUT="2")
    assert run.returncode == 0, run.describe()
    assert run.said("stays with MPI: job 4 does not vote: its reductions must have int64 max")
    assert not run.said(": job 4$")


@pytest.fixture
def driver(tmp_path):
    """A folder with the tests' libcuda.so.1."""
    (tmp_path / "libcuda.so.1").symlink_to(built("lib/libfake_cuda.so", "tests/libfake_cuda.so"))
    return tmp_path


def test_buffers_may_be_in_the_memory_of_a_gpu(programs, mpi, driver):
    """On some ranks, of some calls; where they are decides no route."""
    run = programs.run(mpi, [program("device", mpi)], environment={"LD_LIBRARY_PATH": str(driver)})
    assert run.returncode == 0, run.describe()
    assert run.passed() == ["device", "broken copy"]
    assert len(run.said("^MPI_Allreduce, 160088 bytes of float64, sum: job 1$")) == 6 * RANKS
    assert not run.said(": MPI, ")
    assert run.said(f"rank {WRONG} could not take part: one of its buffers could not be copied$")
