"""The field's straggler experiment: what results without the late are worth, and what they cost.

Eight workers train a classifier on one switch; in each iteration each of them is late with probability
16 %, by up to twice the time of an iteration. Trio-ML (SIGCOMM 2022) has made this experiment with timers
in a programmable router, and published 1.8 x. Here: the time of the whole training with `degraded_after`,
against that of switches that wait for everybody, in the same run, alternating; and the accuracy of both.

All ranks draw the same lateness in both sides, from a seed. A rank computes for as long as the iteration
takes (it sleeps), so that eight fit on a few cores. The task is a softmax classifier of noisy prototypes,
whose gradients are one allreduce (mean) a step; nothing of it has to be fetched. Every rank checks every
result of both sides: that as many are counted as it says, and that it is the mean of those.

How much there is to win depends on how long results wait for the late, 400 ms being the shortest that a job
may ask for, and on who is late in so few steps. So the ratio stands beside the best that the same table of
lateness allows, with results that cost no time and that wait (straggler_model).
"""

import contextlib
import json
import sys
from pathlib import Path

from straggler_model import best_ratio, seconds
from testbed.bed import Bed
from testbed.loop import Loop
from testbed.switch import Job
from testbed.tree import PYTHON

WORKERS = 8
TRIO_ML = 1.8  # published, of another machine and network
ITERATION_S = 4.0
WAITED_S = 0.4  # deadline and degraded_after together, no shorter than a job may have them
RANK = Path(__file__).resolve().with_name("degraded_rank")
SIDES = {
    "degraded": (("deadline", "200ms"), ("on_deadline", "escalate"),
                 ("stragglers", {"degraded_after": "200ms"})),
    "waits": (("deadline", "3600s"),),
}
LIMIT_S = 900


def plan(steps, seed):
    return {"size": WORKERS, "steps": steps, "iteration_s": ITERATION_S, "waited_s": WAITED_S,
            "seed": seed}


def train(bed, name, steps, seed):
    """Seconds of the slowest rank, the accuracy that all have reached, and whether all results were right."""
    ranks = []
    for rank in range(WORKERS):
        order = {"rank": rank, "address": bed.address(rank), **plan(steps, seed)}
        ranks.append(bed.start(f"{name}-{rank}", [PYTHON, RANK, json.dumps(order)], rank))
    ends = []
    for process in ranks:
        process.check_exit(LIMIT_S)
        ends.append(json.loads(process.text().splitlines()[-1]))
    right = len({end["digest"] for end in ends}) == 1 and all(end["wrong"] == 0 for end in ends)
    print(f"stragglers: {name}: {max(end['lacking'] for end in ends)} of {steps} results lack ranks",
          file=sys.stderr, flush=True)
    return max(end["seconds"] for end in ends), ends[0]["accuracy"], right


def measure(quick, row):
    rounds, steps = (1, 6) if quick else (2, 40)
    times, accuracies, ceilings = [], [], []
    right = True
    with Loop() as loop, contextlib.ExitStack() as stack:
        beds = {name: stack.enter_context(
            Bed(loop, "veth", WORKERS, jobs=[Job(1, WORKERS, options)]))
            for name, options in SIDES.items()}
        for number in range(rounds):
            ends = {}
            for name in sorted(SIDES, reverse=number % 2 == 1):
                took, accuracy, all_right = train(beds[name], f"{name}{number}", steps, number)
                ends[name] = (steps / took, accuracy)
                right = right and all_right
                print(f"stragglers: {name}: {took:.1f} s, accuracy {accuracy:.1f} %",
                      file=sys.stderr, flush=True)
            times.append((ends["degraded"][0], ends["waits"][0]))
            accuracies.append((ends["degraded"][1], ends["waits"][1]))
            fastest = steps / seconds(plan(steps, number), waits_forever=False)
            ceilings.append((ends["degraded"][0], fastest))
            most = best_ratio(plan(steps, number))
            print(f"stragglers: at most {most:.2f} x with this wait and lateness", file=sys.stderr)
    case = f"{WORKERS} workers, each late with 16 % by up to two iterations, {steps} steps"
    yield row(case, f"steps a second (Trio-ML published {TRIO_ML} x)", "1/s", times,
              "waits forever", right, TRIO_ML)
    yield row(case, "steps a second", "1/s", ceilings, "the best with this wait", right, 0.95)
    yield row(case, "accuracy", "%", accuracies, "waits forever", right, 0.98)
