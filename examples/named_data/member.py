#!/usr/bin/python3
"""A member of job 7: rank 0 gives its weights a name, and all ask for them by that name."""
import argparse

import numpy
import tributary

WEIGHTS = numpy.arange(100_000, dtype=numpy.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--address", required=True)
    options = parser.parse_args()
    with tributary.init(job=7, rank=options.rank, size=options.size, address=options.address) as comm:
        if options.rank == 0:
            comm.put("weights/v=1", WEIGHTS)
            print(f"put /job/7/run={comm.run}/weights/v=1", flush=True)
        comm.barrier()
        weights = comm.get("weights/v=1")
        same = numpy.array_equal(weights, WEIGHTS)
        print(f"got {weights.size} {weights.dtype}: {'the same' if same else 'others'}", flush=True)
        comm.barrier()


if __name__ == "__main__":
    main()
