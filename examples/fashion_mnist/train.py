#!/usr/bin/env -S OPENBLAS_NUM_THREADS=1 /usr/bin/python3
"""One rank of the data-parallel training: its gradients are summed by the switch.

    train.py --rank 0 --workers 4 --job 1 --address udp://10.77.0.254

Left out, these are RANK, WORLD_SIZE, TRIBUTARY_JOB and TRIBUTARY_ADDRESS of the environment, as
`tributary run` and containers of a job have them. Needs the module `tributary` on PYTHONPATH. Prints events (joined, epoch, done, error) as JSON
lines; exits non-zero if the job fails.
"""

import argparse
import os
import sys

import tributary

from data import DataError
from late import LateError, OpDelay
from training import (
    ModelLost,
    NetworkSum,
    OptimizerAtServer,
    OptimizerHere,
    Settings,
    emit,
    fail,
    train,
)


def of_environment(name):
    value = os.environ.get(name)
    return {"default": value, "required": value is None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rank", type=int, **of_environment("RANK"))
    parser.add_argument("--job", type=int, default=os.environ.get("TRIBUTARY_JOB", 1))
    parser.add_argument(
        "--address",
        help="the switch, e.g. udp://10.77.0.254",
        **of_environment("TRIBUTARY_ADDRESS"),
    )
    parser.add_argument(
        "--optimizer",
        choices=("here", "server"),
        default="here",
        help="who steps the optimizer; server: the job's parameter server, which has the model and "
        "is configured with SGD, its rate, momentum and schedule",
    )
    parser.add_argument(
        "--rejoin",
        type=int,
        default=0,
        help="with --optimizer server: how often to join again after an error, and go on from the "
        "step that the server's model has reached",
    )
    parser.add_argument(
        "--delay-file",
        default=os.environ.get("TRIBUTARY_DELAY_FILE"),
        metavar="PATH",
        help="be late on purpose: read before each op how late, such as '200ms every 3' (default: "
        "TRIBUTARY_DELAY_FILE)",
    )
    parser.add_argument(
        "--scale-exponent",
        type=int,
        metavar="E",
        help="sum gradients as integers, multiples of 2^E: in no order, with the same bits",
    )
    Settings.add_arguments(parser)
    if "WORLD_SIZE" in os.environ:
        parser.set_defaults(workers=int(os.environ["WORLD_SIZE"]))
    arguments = parser.parse_args()
    settings = Settings.of(arguments)
    for attempt in range(arguments.rejoin + 1):
        try:
            run(arguments, settings, first=attempt == 0)
            return 0
        except (DataError, LateError, ModelLost) as error:
            return fail(f"rank {arguments.rank}: {error}")
        except tributary.Error as error:
            if arguments.optimizer == "here" or attempt == arguments.rejoin:
                return fail(f"rank {arguments.rank}: {error}")
            emit("rejoins", rank=arguments.rank, text=str(error))


def run(arguments, settings, first):
    """Joins, trains until the end, and leaves."""
    with tributary.init(
        job=arguments.job,
        rank=arguments.rank,
        size=settings.workers,
        address=arguments.address,
    ) as communicator:
        emit("joined", rank=arguments.rank)

        def summation(images, labels):
            delay = OpDelay(arguments.delay_file)
            exponent = arguments.scale_exponent
            return NetworkSum(
                settings, images, labels, communicator, arguments.rank, delay, exponent
            )

        def at_server(_settings, model, summed, _steps):
            return OptimizerAtServer(model, summed, communicator, must_exist=not first)

        optimizer = at_server if arguments.optimizer == "server" else OptimizerHere
        report = train(settings, summation, optimizer)
        # No rank leaves while another one may still need an answer.
        communicator.barrier()
        emit("done", rank=arguments.rank, stats=dict(communicator.stats()), **report)


if __name__ == "__main__":
    sys.exit(main())
