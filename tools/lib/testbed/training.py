"""Runs examples/fashion_mnist: its workers on a testbed, and its single-process reference."""

import json
import os

from .process import Process, ProcessFailed
from .tree import PYTHON, TOP

EXAMPLE = TOP / "examples/fashion_mnist"
_LIMIT_S = 3600
_JOIN_LIMIT_S = 120


class Events:
    """The JSON lines of one training process, as they come."""

    def __init__(self, on_event=None):
        self._on_event = on_event
        self.report = None
        self.errors = []
        self.joined = False

    def line(self, _process, text):
        if not text.startswith("{"):
            return
        event = json.loads(text)
        kind = event.pop("event")
        if kind == "joined":
            self.joined = True
        elif kind == "done":
            self.report = event
        elif kind == "error":
            self.errors.append(event["text"])
        if self._on_event is not None:
            self._on_event(kind, event)


def _arguments(settings):
    return [word for name, value in settings.items() for word in (f"--{name}", str(value))]


def run_workers(bed, settings, on_joined, on_event, job=1):
    """All ranks' reports, in rank order; ProcessFailed names every rank that failed and why."""
    places = {rank: rank for rank in range(bed.workers)}
    return _run(bed, job, places, settings, on_joined, on_event)


def run_tree(bed, job, settings):
    """The same on a TreeBed, where each rank has a worker's place."""
    return _run(bed, job, bed.topology.ranks(job), settings, lambda: None, None)


def _run(bed, job, places, settings, on_joined, on_event):
    ranks = []
    for rank, place in sorted(places.items()):
        events = Events(on_event if rank == 0 else None)
        command = [PYTHON, EXAMPLE / "train.py", "--rank", rank, "--job", job]
        command += ["--address", bed.address(place), "--workers", len(places)]
        process = bed.start(
            f"worker{rank}", command + _arguments(settings), place, on_line=events.line
        )
        ranks.append((process, events))

    def failed():
        return any(p.returncode not in (None, 0) for p, _ in ranks)

    def all_joined():
        return all(events.joined for _, events in ranks) or failed()

    bed.loop.wait(all_joined, _JOIN_LIMIT_S, "all workers join")
    if not failed():
        on_joined()
    bed.loop.wait(
        lambda: failed() or all(not p.running for p, _ in ranks), _LIMIT_S, "the workers finish"
    )
    if failed():
        raise ProcessFailed(_explain(bed, ranks))
    return [events.report for _, events in ranks]


def _explain(bed, ranks):
    """The error of each failed rank; the others get a moment to end with their own words."""
    try:
        bed.loop.wait(lambda: all(not p.running for p, _ in ranks), 15, "the other workers end")
    except TimeoutError:
        pass
    failures = []
    for process, events in ranks:
        if process.returncode != 0:
            failures.append(events.errors[-1] if events.errors else process.describe())
    return "\n".join(failures)


def run_single_at(bed, settings, rank=0):
    """The report of the reference, run where a rank is, without a network of its own."""
    events = Events()
    command = [PYTHON, "-B", EXAMPLE / "single.py", "--workers", bed.workers, *_arguments(settings)]
    bed.start("single process", command, rank, on_line=events.line).check_exit(_LIMIT_S)
    return events.report


def run_single(loop, run, settings, workers, on_event):
    """The reference's report."""
    events = Events(on_event)
    command = [PYTHON, "-B", EXAMPLE / "single.py", "--workers", workers, *_arguments(settings)]
    with Process(
        loop,
        "single process",
        command,
        run / "single.log",
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        on_line=events.line,
    ) as process:
        process.check_exit(_LIMIT_S)
    return events.report
