"""One rank of a system test: joins, does the steps it is told, reports each as a JSON line.

    worker.py '{"job": 1, "rank": 0, "size": 4, "address": "udp://...", "steps": [...]}'

Steps:
    {"do": "allreduce", "count": n, "dtype": "int32"|"float32", "repeat": k, "seed": s,
     "compute_s": t}                 the rank's own work before each op, which makes a straggler
                                     "allocate": true: of memory that the communicator allocates;
                                     "skew": e, one rank's array begins e elements later
    {"do": "barrier"}
    {"do": "rejoin"}                 leaves, and joins the next epoch
    {"do": "resize_fails", "size": n, "text": t}   with an error that says so
    {"do": "resize", "size": n}      from the next step on; a rank that is no more ends
    {"do": "wait_fifo", "path": p}   goes on when somebody has opened the FIFO for writing
    {"do": "fork", "until": p}       has a child that lives until then, and keeps what is open
Events: joined, forked, submitted (the first op of a step is on its way), progress (each op done, with the
ranks that its result lacks, a digest of its bits, and how long it took), step (both with "exact": whether every
element was right, as the sum of the ranks that it does not lack), error (reason, missing_ranks,
text), done.

Every rank can compute every rank's data, so each checks all elements of each sum. Floats are small
integers: their sums are exact in any order.
"""

import hashlib
import json
import os
import signal
import sys
import time

import numpy as np

import tributary


def emit(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def data(dtype, count, seed, op, rank):
    generator = np.random.default_rng((seed, op, rank))
    if dtype == "int32":
        # The whole range: sums wrap, and must wrap the same way everywhere.
        return generator.integers(-(2**31), 2**31, count, dtype=np.int32)
    return generator.integers(-1000, 1000, count).astype(np.float32)


def expected(dtype, count, seed, op, ranks):
    total = data(dtype, count, seed, op, ranks[0])
    for rank in ranks[1:]:
        total += data(dtype, count, seed, op, rank)
    return total


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        np.sqrt(np.arange(100_000))


def array_of(communicator, order, step, values):
    if not step.get("allocate"):
        return values
    skew = step.get("skew", 0)
    array = communicator.allocate(len(values) + skew, values.dtype)
    array = array[skew:] if order["rank"] == order["size"] - 1 else array[:len(values)]
    array[:] = values
    return array


def allreduce(communicator, order, step):
    dtype, count, seed = step["dtype"], step["count"], step.get("seed", 1)
    exact = True
    for op in range(step.get("repeat", 1)):
        values = data(dtype, count, seed, op, order["rank"])
        values = array_of(communicator, order, step, values)
        compute(step.get("compute_s", 0))
        begun = time.monotonic()
        request = communicator.allreduce(values, op="sum")
        if op == 0:
            emit("submitted")
        request.wait()
        took = time.monotonic() - begun
        missing = request.missing
        counted = [rank for rank in range(order["size"]) if rank not in missing]
        right = bool(np.array_equal(values, expected(dtype, count, seed, op, counted)))
        exact = exact and right
        digest = hashlib.sha256(values.tobytes()).hexdigest()
        emit("progress", op=op, exact=right, missing=missing, digest=digest, took_s=took)
    emit("step", exact=bool(exact), ops=step.get("repeat", 1))


def fork(fifo):
    if os.fork() == 0:
        os.setsid()  # the bed ends what is left of a rank's process group
        signal.alarm(100)
        for stream in (0, 1, 2):
            os.close(stream)
        with open(fifo, encoding="ascii"):
            os._exit(0)


def run(order):
    options = {name: order[name] for name in ("job", "rank", "size", "address")}
    for name in ("join_timeout", "op_timeout"):
        options[name] = order.get(name, 50.0)
    for name in ("host_config", "host_node"):
        options[name] = order.get(name, "")
    options.update(order.get("opened", {}))  # a job that ranks open: open, units, ...
    options["run"] = order.get("run", "")
    options["address_bits"] = order.get("address_bits")
    options["at_host"] = order.get("at_host", False)
    options["retry"] = order.get("retry", "none")
    options["retry_timeout"] = order.get("retry_timeout", 50.0)
    communicator = tributary.init(**options)
    emit("joined")
    try:
        for step in order["steps"]:
            if step["do"] == "allreduce":
                allreduce(communicator, order, step)
            elif step["do"] == "barrier":
                communicator.barrier()
                emit("step", exact=True, ops=1)
            elif step["do"] == "rejoin":
                communicator.close()
                communicator = tributary.init(**options)
            elif step["do"] == "resize":
                if not communicator.resize(step["size"]):
                    break
                order["size"] = communicator.size
                emit("resized", size=communicator.size, epoch=communicator.epoch)
            elif step["do"] == "resize_fails":
                try:
                    communicator.resize(step["size"])
                    raise AssertionError("resize did not fail")
                except (tributary.Error, ValueError) as error:
                    if step["text"] not in str(error):
                        raise
            elif step["do"] == "wait_fifo":
                with open(step["path"], encoding="ascii"):
                    pass
            elif step["do"] == "fork":
                fork(step["until"])
                emit("forked")
            else:
                raise ValueError(f"unknown step {step}")
        emit("done", stats=dict(communicator.stats()))
    finally:
        communicator.close()


def main():
    try:
        run(json.loads(sys.argv[1]))
    except tributary.Error as error:
        emit(
            "error",
            reason=str(error.reason),
            missing_ranks=list(error.missing_ranks),
            text=str(error),
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
