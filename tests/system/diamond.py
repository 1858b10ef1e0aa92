"""Two ways between main server and workers (examples/diamond.yaml), and ranks whose ops go on meanwhile."""

from testbed.tree import TOP

DIAMOND = TOP / "examples/diamond.yaml"
LONG = [{"do": "allreduce", "count": 20_000, "dtype": "int32", "repeat": 100_000, "seed": 3}]


def uplink(bed):
    """The port of R through which its sums go up."""
    return next(row["port"] for row in bed.show("R", "tree") if row["is"] == "parent")


def wait_on(workers, ops=20):
    for worker in workers:
        worker.wait_event("progress", len(worker.of("progress")) + ops)


def check(workers):
    """All ops so far, each once, with exact sums."""
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        done = worker.of("progress")
        assert [op["op"] for op in done] == list(range(len(done)))
        assert all(op["exact"] for op in done), f"rank {worker.rank}: a wrong sum"
