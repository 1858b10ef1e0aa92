"""C7: how long a job feels a link that becomes bad before its tree has moved to the other way.

examples/diamond.yaml with a telemetry server and an op every 10 ms. The cable between R and the switch in use gets
5 ms, both ways; the switch-over is from then to the end of the last op at which the median of nine was 5 ms or more
above what it was before. Every op has to be done, with exact sums. The clock is one for all ranks: they are processes of one machine.
"""

import json
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools/lib"))

from testbed.loop import Loop  # noqa: E402  (needs the path above)
from testbed.tree import PYTHON, TOP  # noqa: E402
from testbed.tree_bed import TreeBed  # noqa: E402

BAR_MS = 1000
DELAY_MS = 5
LIMIT_S = 120
STEADY = 100  # ops that say what is usual
WINDOW = 9  # ops whose median says what is now: one may be late for other reasons
AFTER_A_MOVE = 600  # ops: the server moves no tree again within five seconds
WAYS = {"a": "A-R", "b": "B-R"}


def uplink(bed):
    return next(r["port"] for r in bed.show("R", "tree") if r["is"] == "parent")


class Ranks:
    def __init__(self, bed):
        self.bed = bed
        self.ops = []  # of rank 0
        self.right = True
        size = len(bed.topology.ranks(1))
        for rank, worker in sorted(bed.topology.ranks(1).items()):
            command = [PYTHON, "-B", HERE / "paced_rank.py", "--job", 1, "--rank", rank, "--size", size,
                       "--address", bed.address(worker)]
            bed.start(f"rank{rank}", command, worker, self._taker(rank))

    def _taker(self, rank):
        def take(_process, text):
            if not text.startswith("{"):
                return
            op = json.loads(text)
            self.right = self.right and op["right"]
            if rank == 0:
                self.ops.append(op)
        return take

    def wait(self, condition, what):
        self.bed.loop.wait(condition, LIMIT_S, what)

    def wait_on(self, ops):
        target = len(self.ops) + ops
        self.wait(lambda: len(self.ops) >= target, f"{ops} further ops")


def typical_s(ops):
    return statistics.median(op["took_s"] for op in ops)


def switch_over_ms(bed, ranks):
    """One move; both ways are good before and after it."""
    ranks.wait_on(STEADY)
    way = uplink(bed)
    slow_s = typical_s(ranks.ops[-STEADY:]) + DELAY_MS / 1000  # the delay counts up and down
    since = len(ranks.ops)
    bed.set_cable_delay(WAYS[way], f"{DELAY_MS}ms")
    begin = time.monotonic()
    bed.loop.wait(lambda: uplink(bed) != way, LIMIT_S, "the tree moves")
    ranks.wait_on(WINDOW)
    ranks.wait(lambda: typical_s(ranks.ops[-STEADY:]) < slow_s, "ops are fast again")
    ops = ranks.ops[since:]
    ends = [ops[i]["end_s"] for i in range(WINDOW, len(ops)) if typical_s(ops[i + 1 - WINDOW:i + 1]) >= slow_s]
    bed.set_cable_delay(WAYS[way], "off")
    return 1000 * (max(ends, default=begin) - begin)


def measure(quick):
    rounds = 2 if quick else 6
    with Loop() as loop, TreeBed(loop, TOP / "examples/diamond.yaml", telemetry=16) as bed:
        ranks = Ranks(bed)
        times = []
        for _ in range(rounds):
            times.append(switch_over_ms(bed, ranks))
            ranks.wait_on(AFTER_A_MOVE)
        aborts = bed.show("L", "jobs")[0]["aborts"]
    times.sort()
    value = times[len(times) // 2]
    return {"suite": "telemetry", "case": f"a link of the tree gets {DELAY_MS} ms, an op every 10 ms",
            "metric": f"switch-over, bar {BAR_MS}", "value": value, "unit": "ms", "reference": "the bar",
            "reference_value": BAR_MS, "ratio": BAR_MS / value, "runs": rounds, "min": times[0], "max": times[-1],
            "verified": ranks.right and aborts == 0}
