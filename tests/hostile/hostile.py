#!/usr/bin/python3
"""Daemons under AddressSanitizer and UBSan, with seeded hostile clients, nodes and stores around them.

    tests/hostile/hostile.py [DAEMON...] [--seconds N] [--seed N] [--rate N] [--build FOLDER] [--tools FOLDER]
                             [--least-goodput RATIO] [--keep FOLDER]

Each DAEMON (switchd, telemetryd, poold; default: all) is a real process. Honest clients use it all the time, and
check what they get. The run fails if the daemon ends, or a sanitizer reports at its end or before; if an honest
client gets a wrong answer, or none for 30 s; or if memory, descriptors or threads grow without bound. What attacks
sent last is then kept, with the seed. Goodput is measured by turns, with attacks and without. Needs root.
"""

import argparse
import os
import random
import sys
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tools/lib"), str(TOP / "tests/data"), str(Path(__file__).resolve().parent)]

import poold  # noqa: E402  (needs the path above)
import switchd  # noqa: E402
import telemetryd  # noqa: E402
from ground import Bed  # noqa: E402
from testbed.loop import Loop  # noqa: E402

SETUPS = {"switchd": switchd.set_up, "telemetryd": telemetryd.set_up, "poold": poold.set_up}
_NICE = 10
_LEAST_TURN_S, _MOST_TURN_S = 2.0, 10.0  # of peace; attacks last twice as long


def attack(bed, seconds):
    """Runs the attacks; returns (goodput in peace, goodput under attack), by honest client."""
    turn = min(max(_LEAST_TURN_S, seconds / 30), _MOST_TURN_S)
    bed.wait_for_clients()
    for daemon in bed.daemons:
        daemon.mark_quiet()
    sums = [[0.0] * len(bed.tenants), [0.0] * len(bed.tenants)]
    begin, turns = time.monotonic(), 0
    while time.monotonic() < begin + seconds:
        for hostile in (False, True):
            bed.set_hostile(hostile)
            rates = bed.watch(turn if not hostile else 2 * turn)
            sums[hostile] = [total + rate for total, rate in zip(sums[hostile], rates)]
        turns += 1
        if bed.daemons[0].warm is None and time.monotonic() > begin + seconds / 3:
            for daemon in bed.daemons:
                daemon.mark_warm()
    bed.set_hostile(False)
    for each in bed.attacks:
        each.stop()
    bed.settle()
    return [[total / turns for total in row] for row in sums]


def yield_cores():
    """Attacks come from other machines: here they leave the cores to daemons and honest clients."""
    for thread in threading.enumerate():
        os.setpriority(os.PRIO_PROCESS, thread.native_id, _NICE)


def run(name, options, build):
    with Loop() as loop, Bed(loop, build, options.tools, options.seed, options.rate) as bed:
        try:
            SETUPS[name](bed)
            yield_cores()
            names = [tenant.name for tenant in bed.tenants]
            peace, war = attack(bed, options.seconds)
            bed.end_tenants()
            report(bed)
            for daemon in bed.daemons:
                daemon.end()
        except BaseException:
            report(bed)
            options.keep.mkdir(parents=True, exist_ok=True)
            kept = options.keep / f"{name}-{options.seed}.messages"
            kept.write_text(bed.last_messages() + "\n", encoding="utf-8")
            print(f"{name}: FAILED with seed {options.seed}; what was sent last is in {kept}", flush=True)
            raise
    good = True
    for tenant, before, under in zip(names, peace, war):
        ratio = under / before if before else 0.0
        print(f"  {tenant}: {before:,.0f} a second in peace, {under:,.0f} under attack: {ratio:.2f}", flush=True)
        good = good and ratio >= options.least_goodput
    if not good:
        print(f"{name}: an honest client had less than {options.least_goodput} of its goodput", flush=True)
    return good


def report(bed):
    for each in bed.attacks:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(each.sent.items()))
        print(f"  {each.name}: {sum(each.sent.values())} sent ({kinds}), {each.refused} refused")
    for daemon in bed.daemons:
        if daemon.quiet is not None:
            print(f"  {daemon.report()}")
    for fact in bed.facts:
        print(f"  {fact()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("daemons", nargs="*", metavar="DAEMON", help="switchd, telemetryd, poold")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--rate", type=float, default=100, help="turns of each attack a second")
    parser.add_argument("--build", type=Path, default=TOP / "build/meson-sanitized", help="of the daemons")
    parser.add_argument("--tools", type=Path, default=TOP / "build/release", help="of honest clients")
    parser.add_argument("--least-goodput", type=float, default=0.0)
    parser.add_argument("--keep", type=Path, default=TOP / "build/hostile")
    options = parser.parse_args()
    for name in options.daemons:
        if name not in SETUPS:
            parser.error(f"no daemon is called '{name}'; allowed: {', '.join(SETUPS)}")
    options.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    good = True
    for name in options.daemons or SETUPS:
        print(f"{name}: seed {options.seed}, {options.seconds:g} s, {options.rate:g} turns a second", flush=True)
        try:
            good = run(name, options, options.build) and good
        except Exception as error:
            print(f"{name}: {error}", flush=True)
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
