"""A rank of suite `rejoin`: computes, sums, and joins again when an epoch has ended, until it is killed.

Prints a JSON line for each time that it joins: the time after that, how long init() took, the epoch, and
whether every element of its sums so far was right. And one for each epoch that has ended: when it was told, and why.
"""

import argparse
import json
import time

import numpy
import tributary

COUNT = 1000


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        numpy.sqrt(numpy.arange(10_000))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--compute-ms", type=float, required=True)
    arguments = parser.parse_args()
    own = numpy.arange(COUNT, dtype=numpy.int32)
    expected = own * arguments.size + sum(range(arguments.size))
    right = True
    while True:
        begin = time.monotonic()
        communicator = tributary.init(job=1, rank=arguments.rank, size=arguments.size, address=arguments.address)
        end = time.monotonic()
        print(json.dumps({"at_s": end, "took_s": end - begin, "epoch": communicator.epoch, "right": right}),
              flush=True)
        try:
            while True:
                compute(arguments.compute_ms / 1000)
                result = own + arguments.rank
                communicator.allreduce(result, op="sum").wait()
                right = right and bool(numpy.array_equal(result, expected))
        except tributary.Error as error:
            print(json.dumps({"ended_s": time.monotonic(), "why": str(error)}), flush=True)
            communicator.close()


if __name__ == "__main__":
    main()
