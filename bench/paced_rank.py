"""A rank of suite `telemetry`: an allreduce every so many milliseconds, until it is ended.

Prints a JSON line for each: the time at its end, how long it took, and whether every element was right.
"""

import argparse
import json
import time

import numpy
import tributary

COUNT = 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", type=int, required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--every-ms", type=float, default=10)
    arguments = parser.parse_args()
    communicator = tributary.init(job=arguments.job, rank=arguments.rank, size=arguments.size,
                                  address=arguments.address)
    own = numpy.arange(COUNT, dtype=numpy.int32)
    expected = own * arguments.size + sum(range(arguments.size))
    begin = time.monotonic()
    while True:
        time.sleep(max(0.0, begin - time.monotonic()))
        start = time.monotonic()
        result = own + arguments.rank
        communicator.allreduce(result, op="sum").wait()
        end = time.monotonic()
        print(json.dumps({"end_s": end, "took_s": end - start,
                          "right": bool(numpy.array_equal(result, expected))}), flush=True)
        begin = max(begin + arguments.every_ms / 1000, end)


if __name__ == "__main__":
    main()
