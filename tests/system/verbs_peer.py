"""The rank by UDP beside ranks of examples/verbs_allreduce.c: the same ops, the same integers.

    verbs_peer.py ADDRESS JOB RANK RANKS BYTES OPS
"""

import sys

import numpy as np

import tributary


def value(rank, op, count):
    return (np.arange(count, dtype=np.int64) * 3 + op * 7 + rank).astype(np.int32)


def main(address, job, rank, ranks, size, ops):
    count = size // 4
    with tributary.init(job=job, rank=rank, size=ranks, address=address) as communicator:
        for op in range(ops):
            result = value(rank, op, count)
            communicator.allreduce(result).wait()
            expected = sum(value(r, op, count) for r in range(ranks))
            if not np.array_equal(result, expected):
                sys.exit(f"op {op}: {np.count_nonzero(result != expected)} of {count} elements are wrong")
    print(f"udp: {ops} allreduces of {size} bytes are right")


main(sys.argv[1], *map(int, sys.argv[2:]))
