"""Trains a classifier on Fashion-MNIST with its gradients summed by the switch.

Worker processes, each behind a switch port of its own, train on their shard of the 60,000 images;
tributary-switchd sums the gradients of every step. Then the same training runs in one process
without a network, and both are compared. With --pool the workers load each batch out of a memory pool,
one node beside each of them, and training out of the pool has to give the bits that the files give.
With --torch it is a PyTorch script under DDP, which trains through the switch, and then with Gloo over
the same links. Exit status: 0 if they agree, 1 if they do not or
something failed, 2 for a wrong call, 128 + n after signal n.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from testbed import report, rights, torch_training, training  # noqa: E402  (needs the path above)
from testbed.bed import Bed  # noqa: E402
from testbed.build import build  # noqa: E402
from testbed.loop import Interrupted, Loop  # noqa: E402
from testbed.namespace import NamespaceError  # noqa: E402
from testbed.pool_nodes import PoolNodes  # noqa: E402
from testbed.process import ProcessFailed  # noqa: E402
from testbed.run_directory import RunDirectory, sweep  # noqa: E402


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/quickstart", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--ports",
        choices=("veth", "memif"),
        help="veth: a network namespace per worker, kernel UDP, needs root; "
        "memif: shared memory, needs no privilege (default: veth)",
    )
    parser.add_argument("--workers", type=int, default=4, help="default: 4")
    parser.add_argument("--epochs", type=int, help="default: 5, with --quick 1")
    parser.add_argument("--quick", action="store_true", help="one epoch")
    parser.add_argument("--torch", action="store_true", help="a PyTorch script, beside Gloo")
    parser.add_argument("--pool", action="store_true", help="data from a memory pool, beside files")
    parser.add_argument("--skip-install", action="store_true", help="install no packages")
    parser.add_argument("--skip-build", action="store_true", help="run what is built")
    options = parser.parse_args(arguments)
    if not 1 <= options.workers <= 32:
        parser.error("--workers: 1 to 32")
    if options.pool and options.torch:
        parser.error("--pool: not with --torch")
    if options.epochs is None:
        options.epochs = 1 if options.quick else 5
    if options.epochs < 1:
        parser.error("--epochs: at least 1")
    return options


def ports_or_reason(options):
    """The kind of ports to use, or what this user lacks for veth ports, in words."""
    if options.ports == "memif":
        return "memif", None
    missing = rights.missing_for_veth()
    if not missing:
        return "veth", None
    return None, (
        f"quickstart: veth ports need {', '.join(missing)}, which this user does not have.\n"
        "Run it as root, or without privileges over shared memory:\n"
        "  tools/quickstart --ports memif"
    )


def run_build(loop):
    started = time.monotonic()
    print("build      Release, build/release", flush=True)
    with RunDirectory() as run:
        build(loop, run)
    print(f"           done in {time.monotonic() - started:.0f} s", flush=True)


def show(bed):
    return {what: bed.switch.show(what) for what in ("jobs", "drops")}


def run_training(loop, options, ports, settings):
    """(the ranks' reports, the reference's, that of one process with the pool's data or None, what the
    switch says of itself)"""
    with Bed(loop, ports, options.workers) as bed:
        print(f"switch     ready, {options.workers} ports ({ports})", flush=True)
        of_workers = dict(settings)
        if options.pool:
            of_workers["pool"] = PoolNodes(bed, ports).config
            print(f"pool       filled, {options.workers} nodes", flush=True)

        def on_joined():
            print(f"workers    {options.workers} joined, training starts", flush=True)

        table = report.EpochTable("through the switch")
        try:
            reports = training.run_workers(bed, of_workers, on_joined, table.event)
        except (ProcessFailed, TimeoutError):
            # Its counters tell where to look; if it is what failed, its own words must do.
            if not bed.switch.process.running:
                raise ProcessFailed(bed.switch.process.describe()) from None
            report.print_switch(show(bed))
            raise
        shown = show(bed)
        table = report.EpochTable("one process, no network")
        reference = training.run_single(loop, bed.run, settings, options.workers, table.event)
        pooled = training.run_single_at(bed, of_workers) if options.pool else None
    return reports, reference, pooled, shown


def run_torch(loop, options, ports):
    """(checks, what the switch says of itself)"""
    arguments = ["--steps", 20 if options.quick else 60 * options.epochs]
    with Bed(loop, ports, options.workers) as bed:
        print(f"switch     ready, {options.workers} ports ({ports})", flush=True)
        print("training   through the switch", flush=True)
        switch = torch_training.run(bed, "tributary", arguments)
        shown = show(bed)
        print("training   with Gloo", flush=True)
        gloo = torch_training.run(bed, "gloo", arguments)
    torch_training.print_curves(switch, gloo)
    return torch_training.compare(switch, gloo, shown), shown


def run_numpy(loop, options, ports):
    settings = {"epochs": options.epochs}
    reports, reference, pooled, shown = run_training(loop, options, ports, settings)
    checks = report.compare(reports, reference, shown)
    if pooled is not None:
        checks.append(report.compare_bits("from the pool", pooled, reference))
    return checks, shown


def main_job(options):
    ports, reason = ports_or_reason(options)
    if reason is not None:
        print(reason, file=sys.stderr)
        return 2
    with Loop() as loop:
        sweep()
        if not options.skip_build:
            run_build(loop)
        started = time.monotonic()
        checks, shown = (run_torch if options.torch else run_numpy)(loop, options, ports)
    report.print_switch(shown)
    report.print_checks(checks)
    agreed = all(check.ok for check in checks)
    verdict = "agree" if agreed else "DO NOT AGREE"
    print(f"the trainings {verdict} ({time.monotonic() - started:.0f} s)")
    return 0 if agreed else 1


def main():
    options = parse(sys.argv[1:])
    try:
        return main_job(options)
    except Interrupted as interrupt:
        print(f"\nquickstart: {interrupt}: stopped, everything is cleaned up", file=sys.stderr)
        return 128 + interrupt.number
    except (ProcessFailed, NamespaceError, TimeoutError, OSError) as error:
        print(f"quickstart: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
