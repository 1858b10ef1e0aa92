"""T19: examples/mpi_solver, unmodified: the same solution with the library preloaded and without it."""

import re

from conftest import RANKS, TOP

SOLVER = ["/usr/bin/python3", "-B", TOP / "examples/mpi_solver/solver.py", "--unknowns", "60000"]


def results(run):
    """(largest error, first norm of the gradient) of a run whose ranks agree."""
    assert run.returncode == 0, run.describe()
    text = "\n".join(run.out)
    assert "ranks agree: yes" in text, text
    return float(re.search(r"^error (\S+)", text)[1]), re.search(r"^gradient (\S+)", text, re.M)[1]


def test_the_solver_finds_the_same_through_the_switch(programs):
    # Debian's mpi4py is one of Open MPI.
    alone = programs.run("openmpi", SOLVER, preload=False)
    offloaded = programs.run("openmpi", SOLVER, MPI_THRESHOLD="256K")
    error, gradient = results(alone)
    offloaded_error, offloaded_gradient = results(offloaded)
    assert error < 1e-6 and offloaded_error < 1e-6
    assert gradient == offloaded_gradient
    sums = offloaded.said("^MPI_Allreduce, 480000 bytes of float64, sum: job 1$")
    assert len(sums) == 26 * RANKS
    assert offloaded.said("^MPI_Bcast, 480000 bytes: job 1$")
    assert offloaded.said("^MPI_Allreduce, 8 bytes: MPI, below the threshold") or offloaded.said(
        "^MPI_.*: MPI, below the threshold")
