"""The values that rank 0 of test_names.py puts, and how they are recognised."""
import hashlib

import numpy


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def values():
    random = numpy.random.default_rng(7)
    return {"small/v=1": random.random(100), "large/v=1": random.random(100_000)}
