#!/usr/bin/env -S OPENBLAS_NUM_THREADS=1 /usr/bin/python3
"""The main server: owns the data and the model's description, and gets the trained model.

    main.py --job 1 --size 5 --address udp://10.77.0.250 --out model.npy

With --state FOLDER a main that was killed can be started again at any time, with the same
arguments. Needs the module `tributary` on PYTHONPATH.
"""

import argparse
import sys

import numpy as np

import tributary
from model import CRITERION, DESCRIPTION, digest, make_data


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", type=int, default=1, help="the task job")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--size", type=int, required=True, help="ranks of the task job")
    parser.add_argument("--address", required=True)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--state", help="folder for a successor")
    parser.add_argument("--out", help="file for the model")
    options = parser.parse_args()
    job = {name: getattr(options, name) for name in ("job", "rank", "size", "address")}
    try:
        with tributary.Task("main", job=job, state=options.state) as task:
            data = make_data(options.samples, options.features)
            task.distribute(data, DESCRIPTION, criterion=CRITERION, publish="gradient")
            print(f"distributed {len(data)} bytes as {task.run}", flush=True)
            result = task.result()
    except tributary.Error as error:
        sys.exit(f"main: {error}")
    if options.out:
        np.save(options.out, result.array)
    print(f"{result.why} {result.norm:.3g} after {result.rounds} rounds, model {digest(result.array)}")


if __name__ == "__main__":
    main()
