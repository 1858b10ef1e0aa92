"""The lateness of the case `degraded`, and how long its training takes where nothing but waiting costs time."""

import numpy as np

LATE_PROBABILITY, LATE_ITERATIONS = 0.16, 2.0


def lateness(order):
    """Seconds by which each rank is late in each step: the same table on all ranks and sides."""
    random = np.random.default_rng(order["seed"])
    shape = (order["steps"], order["size"])
    late = random.random(shape) < LATE_PROBABILITY
    return late * random.random(shape) * LATE_ITERATIONS * order["iteration_s"]


def computing(order, behind):
    """Seconds in which a rank computes that is so far behind the others: it leaves out what nobody waits for."""
    return order["iteration_s"] - min(behind, order["iteration_s"])


def left_behind(order, behind, late, was_missed):
    """How far a rank is behind after a step in which it was so late."""
    skipped = min(behind, order["iteration_s"])
    behind += late - skipped - order["waited_s"]
    return max(behind, 0.0) if was_missed else 0.0


def seconds(order, waits_forever):
    """Of all steps: a result is there when all data is, or `waited_s` after the first; data that comes later gets it
    at once."""
    late = lateness(order)
    at = [0.0] * order["size"]
    behind = [0.0] * order["size"]
    for step in late:
        came = [now + computing(order, b) + extra for now, b, extra in zip(at, behind, step)]
        end = max(came) if waits_forever else min(max(came), min(came) + order["waited_s"])
        behind = [left_behind(order, b, extra, c > end) for b, extra, c in zip(behind, step, came)]
        at = [max(end, c) for c in came]
    return max(at)


def best_ratio(order):
    """What no implementation can exceed with that wait."""
    return seconds(order, True) / seconds(order, False)
