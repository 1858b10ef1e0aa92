#!/usr/bin/env -S OPENBLAS_NUM_THREADS=1 /usr/bin/python3
"""The same training in one process without any network: the reference for train.py.

    single.py --workers 4

Every step uses the same global batch as the workers together, and sums the same shard gradients.
"""

import argparse
import sys

from data import DataError
from training import LocalSum, Settings, emit, fail, train


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    Settings.add_arguments(parser)
    settings = Settings.of(parser.parse_args())
    try:
        report = train(settings, lambda images, labels: LocalSum(settings, images, labels))
    except DataError as error:
        return fail(f"single process: {error}")
    emit("done", **report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
