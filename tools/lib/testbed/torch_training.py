"""Runs examples/torch_ddp twice on one testbed: through the switch, and with Gloo over its links."""

import json

from .fabric import free_address, worker_address
from .process import ProcessFailed
from .report import Check
from .tree import PYTHON, TOP

EXAMPLE = TOP / "examples/torch_ddp/train.py"
LOSS_TOLERANCE = 0.05
# TRIBUTARY_TORCH_THRESHOLDS: what the switch can do, it does, also where Gloo would be faster.
ALL_TO_THE_SWITCH = "allreduce=0,reduce=0,broadcast=0,all_gather=0,barrier=0"
_LIMIT_S = 1800
_PORT = 29500


def run(bed, backend, arguments, gloo=None, thresholds=ALL_TO_THE_SWITCH):
    """([(step, loss)], digests by rank, median step in ms); ProcessFailed says which rank failed.

    gloo: (interface, rank 0's address) for Gloo, if they are not those of the switch's ports.
    """
    command = [PYTHON, "-B", EXAMPLE, "--backend", backend, *arguments]
    if backend == "tributary":
        # From torch 2.5 on the backend is found by itself; before, this package runs the script.
        command = [PYTHON, "-B", "-m", "tributary.torch", *command[2:]]
    one_machine = bed.fabric.namespace(0) is None
    if gloo is None:
        gloo = ("lo", "127.0.0.1") if one_machine else ("eth0", worker_address(0))
    port = free_address().rpartition(":")[2] if one_machine else _PORT
    lines = {rank: [] for rank in range(bed.workers)}
    processes = []
    for rank in range(bed.workers):
        environment = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(bed.workers),
            "MASTER_ADDR": gloo[1],
            "MASTER_PORT": str(port),
            "GLOO_SOCKET_IFNAME": gloo[0],
            "OMP_NUM_THREADS": "1",
            "TRIBUTARY_ADDRESS": bed.address(rank),
            "TRIBUTARY_TORCH_THRESHOLDS": thresholds,
        }
        processes.append(
            bed.start(
                f"{backend}{rank}", command, rank, env=environment,
                on_line=lambda _process, text, rank=rank: lines[rank].append(text),
            )
        )

    def failed():
        return [p for p in processes if p.returncode not in (None, 0)]

    bed.loop.wait(lambda: failed() or all(not p.running for p in processes), _LIMIT_S,
                  f"training with {backend}")
    if failed():
        raise ProcessFailed("\n".join(process.describe() for process in failed()))
    return _collect(lines)


def _collect(lines):
    events = {
        rank: [json.loads(text) for text in texts if text.startswith("{")]
        for rank, texts in lines.items()
    }
    curve = [(e["step"], e["loss"]) for e in events[0] if "loss" in e]
    digests = [events[rank][-1]["digest"] for rank in sorted(events)]
    return curve, digests, events[0][-1]["step_ms"]


def print_curves(switch, gloo):
    print("\n  step  loss through the switch  loss with Gloo")
    for (step, ours), (_, theirs) in zip(switch[0], gloo[0]):
        print(f"  {step:>4}  {ours:>23.4f}  {theirs:>14.4f}")
    print(f"  median step: {switch[2]:.1f} ms through the switch, {gloo[2]:.1f} ms with Gloo")


def compare(switch, gloo, shown):
    """The checks that decide the exit status."""
    apart = max(abs(a - b) for (_, a), (_, b) in zip(switch[0], gloo[0]))
    summed = shown["jobs"][0]["completions"]
    steps = switch[0][-1][0]
    checks = [
        Check("loss curves", f"{apart:.4f} apart", f"at most {LOSS_TOLERANCE}",
              apart <= LOSS_TOLERANCE and len(switch[0]) == len(gloo[0]) > 0)
    ]
    for name, (_, digests, _) in (("the switch", switch), ("Gloo", gloo)):
        found = sorted(set(digests))
        checks.append(Check(f"parameters' bits, {name}", " ".join(d[:12] for d in found),
                            f"one SHA-256 on all {len(digests)}", len(found) == 1))
    checks.append(Check("chunks summed by the switch", str(summed), "at least one per step",
                        summed >= steps))
    return checks
