#!/usr/bin/python3
"""Solves a sparse least-squares problem by conjugate gradients, with mpi4py.

    mpirun -n 4 solver.py [--unknowns N] [--iterations N]

Each rank holds a block of rows, as in tomography: every measurement is a weighted sum of a few
unknowns. A step multiplies with the block and with its transpose, and adds the ranks' vectors up:
one MPI_Allreduce of all unknowns, and one of a few numbers. Rank 0 prints what came out.
"""

import argparse
import hashlib

import numpy as np
from mpi4py import MPI

TERMS = 6  # of one measurement


class Rows:
    """This rank's measurements: which unknowns, with what weights."""

    def __init__(self, rank, size, unknowns):
        generator = np.random.default_rng((1, rank))
        rows = 3 * unknowns // size
        self.columns = generator.integers(0, unknowns, (rows, TERMS))
        # The first term makes every unknown be seen.
        self.columns[:, 0] = (np.arange(rows) * size + rank) % unknowns
        self.weights = generator.uniform(0.1, 1.0, (rows, TERMS))
        self.weights[:, 0] += 4
        self._unknowns = unknowns

    def times(self, vector):
        return (self.weights * vector[self.columns]).sum(axis=1)

    def transposed(self, vector):
        terms = (self.weights * vector[:, None]).ravel()
        return np.bincount(self.columns.ravel(), weights=terms, minlength=self._unknowns)


def solve(comm, rows, measured, unknowns, iterations):
    """Conjugate gradients on the normal equations; (solution, norm of the gradient by step)."""
    solution = np.zeros(unknowns)
    residual = measured.copy()
    gradient = np.empty(unknowns)
    comm.Allreduce(rows.transposed(residual), gradient)
    direction = gradient.copy()
    norms = [float(gradient @ gradient)]
    for _ in range(iterations):
        image = rows.times(direction)
        step = norms[-1] / comm.allreduce(float(image @ image))
        solution += step * direction
        residual -= step * image
        comm.Allreduce(rows.transposed(residual), gradient)
        norms.append(float(gradient @ gradient))
        direction = gradient + norms[-1] / norms[-2] * direction
    return solution, np.sqrt(norms)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unknowns", type=int, default=200_000)
    parser.add_argument("--iterations", type=int, default=25)
    arguments = parser.parse_args()
    comm = MPI.COMM_WORLD
    truth = np.random.default_rng(2).standard_normal(arguments.unknowns)
    comm.Bcast(truth, root=0)
    rows = Rows(comm.rank, comm.size, arguments.unknowns)
    begun = MPI.Wtime()
    solution, norms = solve(comm, rows, rows.times(truth), arguments.unknowns,
                            arguments.iterations)
    seconds = MPI.Wtime() - begun
    digests = comm.gather(hashlib.sha256(solution.tobytes()).hexdigest())
    if comm.rank == 0:
        print(f"error {np.abs(solution - truth).max():.3e}")
        print(f"gradient {norms[0]:.6e} to {norms[-1]:.3e} in {arguments.iterations} steps")
        print(f"ranks agree: {'yes' if len(set(digests)) == 1 else 'no'}")
        print(f"seconds {seconds:.2f}")


if __name__ == "__main__":
    main()
