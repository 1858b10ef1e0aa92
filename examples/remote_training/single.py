#!/usr/bin/env -S OPENBLAS_NUM_THREADS=1 /usr/bin/python3
"""The same training in one process, as the reference: all shares, added in the order of the tree.

topology.yaml declares [[0, 1], [2, 3]] for the sum job: two shares at each leaf, then both leaves.
"""

import argparse

import numpy as np

import tributary
from model import CRITERION, DESCRIPTION, Share, digest, make_data

WORKERS = 4


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--features", type=int, default=20)
    options = parser.parse_args()
    data = make_data(options.samples, options.features)
    shares = [Share(data, DESCRIPTION, rank, WORKERS) for rank in range(WORKERS)]
    weights = np.zeros(options.features)
    for number in range(1, CRITERION["most_rounds"] + 1):
        parts = [share.gradient(weights) for share in shares]
        total = (parts[0] + parts[1]) + (parts[2] + parts[3])
        norm = tributary.Task.norm(total)
        if norm < CRITERION["norm_below"]:
            break
        weights -= DESCRIPTION["rate"] * total
    print(f"norm {norm:.3g} after {number} rounds, model {digest(weights)}")


if __name__ == "__main__":
    main()
