#!/usr/bin/env -S OPENBLAS_NUM_THREADS=1 /usr/bin/python3
"""One rank of the data-parallel training: its gradients are summed by the switch.

    train.py --rank 0 --workers 4 --job 1 --address udp://10.77.0.254

Needs the module `tributary` on PYTHONPATH. Prints events (joined, epoch, done, error) as JSON
lines; exits non-zero if the job fails.
"""

import argparse
import sys

import tributary

from data import DataError
from training import NetworkSum, Settings, emit, fail, train


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--job", type=int, default=1)
    parser.add_argument("--address", required=True, help="the switch, e.g. udp://10.77.0.254")
    Settings.add_arguments(parser)
    arguments = parser.parse_args()
    settings = Settings.of(arguments)
    try:
        communicator = tributary.init(
            job=arguments.job,
            rank=arguments.rank,
            size=settings.workers,
            address=arguments.address,
        )
        try:
            emit("joined", rank=arguments.rank)
            report = train(
                settings,
                lambda images, labels: NetworkSum(
                    settings, images, labels, communicator, arguments.rank
                ),
            )
            # Nobody leaves while another rank may still need an answer.
            communicator.barrier()
            emit("done", rank=arguments.rank, stats=dict(communicator.stats()), **report)
        finally:
            communicator.close()
    except (tributary.Error, DataError) as error:
        return fail(f"rank {arguments.rank}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
