"""The same training with and without late workers, on a tree: lateness costs time and changes no bit.

Every switch gives a chunk up at its deadline, the completion engine waits for the late data, and sums
have a declared order (T3, T6, T15); so the parameters must be equal to the last bit.
"""

import argparse
import re
import statistics
from pathlib import Path

from . import figure, training
from .delay import DelayError, line
from .report import print_table
from .tree import TOP
from .tree_bed import TreeBed

_EXACT = {"order": "reproducible", "on_deadline": "escalate"}


def _lateness(text):
    match = re.fullmatch(r"([\w.-]+)=(\w+?)(?:/([0-9]{1,6}))?", text)
    if match is None:
        raise argparse.ArgumentTypeError("allowed: WORKER=TIME or WORKER=TIME/N, such as w112=300ms/3")
    try:
        line(match[2], int(match[3] or 1))
    except DelayError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return match[1], match[2], int(match[3] or 1)


def _count(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("allowed: at least 1")
    return int(text)


def add_arguments(parser):
    parser.add_argument("file", type=Path, nargs="?", default=TOP / "examples/hpcc-12.yaml")
    parser.add_argument("--ports", choices=("veth", "memif"), help="default: veth, if allowed")
    parser.add_argument("--steps", type=_count, default=60, help="steps of each training; default: 60")
    parser.add_argument("--images", type=_count, default=60_000, help="to train on; default: all")
    parser.add_argument("--hidden", type=_count, default=64, help="neurons; default: 64")
    parser.add_argument("--deadline", default="200ms", help="deadline of the job; default: 200ms")
    parser.add_argument(
        "--late", type=_lateness, action="append", metavar="WORKER=TIME[/N]",
        help="late by so much in every Nth op; may be repeated (default: w112=300ms/3)",
    )
    parser.add_argument("--svg", type=Path, default=Path("step-times.svg"), help="drawing")


def _train(loop, options, ports, late):
    """All ranks' reports of one training, and chunks that missed the root's or another's deadline."""
    job_options = {**_EXACT, "deadline": options.deadline}
    with TreeBed(loop, options.file, ports, job_options=job_options) as bed:
        job = next(iter(bed.topology.jobs))
        for worker, time, every in late:
            if worker not in bed.topology.ranks(job).values():
                raise DelayError(f"no worker {worker} in job {job} of {options.file}")
            bed.delays.set(worker, time, every)
        settings = {name: getattr(options, name) for name in ("steps", "images", "hidden")}
        settings["epochs"] = options.steps  # never fewer than the steps need
        reports = training.run_tree(bed, job, settings)
        missed = sum(
            row["missed_deadlines"]
            for name in bed.topology.switches for row in bed.show(name, "stragglers")
        )
    return reports, missed


def run(loop, options, ports):
    """Exit status: 0 if all ranks of both trainings have the same parameters."""
    late = options.late or [("w112", "300ms", 3)]
    names = ", ".join(f"{worker} late by {line(time, every)}" for worker, time, every in late)
    rows = [("", "accuracy", "SHA-256 of parameters", "mean step", "slowest", "missed deadlines")]
    series, digests = {}, set()
    for name, delays in (("no rank is late", []), (names, late)):
        reports, missed = _train(loop, options, ports, delays)
        digests |= {report["sha256"] for report in reports}
        times = series[name] = reports[0]["step_seconds"]
        rows.append((
            name, f"{reports[0]['accuracy']:.2f} %", reports[0]["sha256"],
            f"{statistics.fmean(times) * 1000:.1f} ms", f"{max(times) * 1000:.1f} ms", str(missed),
        ))
    print_table(f"{options.steps} steps on {options.file.name}, deadline {options.deadline}", rows)
    try:
        figure.step_times("time of each step", series, options.svg)
        print(f"step times: {options.svg}")
    except figure.NoMatplotlib as missing:
        print(f"step times: {missing}")
    print("parameters: equal" if len(digests) == 1 else "parameters: DIFFER")
    return 0 if len(digests) == 1 else 1
