"""T22: a worker that is late by a hundred deadlines in every op holds no slot past the deadline.

On each switch of a tree: the longest time that a slot was held, beside the deadline and the longest turn of
that switch's loop. A turn in which more deadlines pass than it has room for messages leaves the rest to the
next one; so what breaks the promise, and makes a row not verified, is more than two turns. All sums are
checked.
"""

from testbed.loop import Loop
from testbed.tree import TOP, binary
from testbed.tree_bed import TreeBed

DEADLINE_MS = 200
LATE_S = 100 * DEADLINE_MS // 1000
LIMIT_S = 300


def measure(quick, row):
    ops = 2 if quick else 5
    options = {"deadline": f"{DEADLINE_MS}ms", "on_deadline": "escalate"}
    with Loop() as loop, TreeBed(loop, TOP / "examples/two-level-5.yaml", job_options=options) as bed:
        bed.delays.set("w1", f"{LATE_S}s")
        ranks = []
        for rank, worker in sorted(bed.topology.ranks(1).items()):
            command = [binary(bed.build, "tributary"), "bench", "allreduce", "--job", 1, "--size", 5,
                       "--rank", rank, "--address", bed.address(worker), "--min", "1M", "--max", "1M",
                       "--iters", ops, "--warmup", 0, "--timeout", LIMIT_S]
            ranks.append(bed.start(f"rank{rank}", command, worker))
        for process in ranks:
            process.check_exit(LIMIT_S)
        right = "# wrong elements: 0 OK" in ranks[0].text()
        for node in bed.topology.switches:
            (job,) = (r for r in bed.show(node, "holds") if r["job"] == 1)
            case = f"{ops} ops of 1 MiB, late by {LATE_S} s, {node} (level {bed.topology.level(node)})"
            turn_ms = job["bound_ms"] - job["deadline_ms"]
            kept = job["max_ms"] <= job["bound_ms"] + turn_ms
            # More is better: how many holds in a second.
            for name in ("max_ms", "p99_ms"):
                pair = (1000 / job[name], 1000 / job["bound_ms"])
                yield row(case, f"1 / slot hold {name[:3]} of {job[name]:.1f} ms", "1/s", [pair],
                          f"1 / (deadline + turn, {job['bound_ms']:.1f} ms)",
                          right and job["held"] > 0 and kept, 1)
