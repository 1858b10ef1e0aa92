"""A member of job 7 for test_names.py: rank 0 puts, the others get each time they get SIGUSR1."""
import argparse
import itertools
import signal

import numpy
import tributary

from named_values import digest, values


def put_all(comm):
    for name, array in values().items():
        comm.put(name, array)
        comm.put(name, array)  # the same value again
        print(f"put /job/7/run={comm.run}/{name} {digest(array)}", flush=True)
    try:
        comm.put("small/v=1", numpy.zeros(3))
    except tributary.Error as error:
        print(f"refused {error.reason}", flush=True)


def get_all(comm):
    for name in (*values(), "none/v=1"):
        try:
            print(f"got {name} {digest(comm.get(name))}", flush=True)
        except tributary.Error as error:
            print(f"no {name} {error.reason}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--address", required=True)
    options = parser.parse_args()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    with tributary.init(job=7, rank=options.rank, size=4, address=options.address) as comm:
        print("joined", flush=True)
        if options.rank == 0:
            put_all(comm)
        for asked in itertools.count(1):
            signal.sigwait({signal.SIGUSR1})
            get_all(comm)
            print(f"done {asked}", flush=True)


if __name__ == "__main__":
    main()
