"""An honest rank: sums of its job, each checked, until it is ended.

    rank.py ADDRESS JOB SIZE RANK

Prints how many bytes have been summed rightly. Ends with an error at the first wrong element.
"""

import json
import sys
import time

import numpy
import tributary

COUNT = 16384
JOIN_S, OP_S = 60.0, 30.0


def main():
    address, job, size, rank = sys.argv[1], *map(int, sys.argv[2:])
    mine = numpy.arange(COUNT, dtype=numpy.int32) * (rank + 1)
    total = numpy.arange(COUNT, dtype=numpy.int32) * (size * (size + 1) // 2)
    values = numpy.empty_like(mine)
    done, op, look = 0, 0, time.monotonic()
    with tributary.init(job=job, rank=rank, size=size, address=address, join_timeout=JOIN_S, op_timeout=OP_S) as ranks:
        while True:
            numpy.add(mine, op % 7, out=values)
            ranks.allreduce(values, op="sum").wait()
            if not numpy.array_equal(values, total + size * (op % 7)):
                sys.exit(f"op {op}: a wrong sum")
            op, done = op + 1, done + values.nbytes
            if time.monotonic() > look:
                look = time.monotonic() + 0.2
                print(json.dumps({"done": done}), flush=True)


main()
