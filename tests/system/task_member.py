"""A member of a task for test_task_workers.py: main, or a worker that does what task_worker_tool does."""
import argparse
import sys

import numpy
import tributary

DATA = bytes(range(256)) * 9000


def run_main(options):
    job = {"job": 1, "rank": 0, "size": options.workers + 1, "address": options.address}
    with tributary.Task("main", job=job) as task:
        criterion = {"most_rounds": 3} if options.keep == "worker" else {"most_rounds": 500, "norm_below": 1e-9}
        task.distribute(DATA, {"rate": 1}, criterion=criterion,
                        keep=options.keep, publish=options.publish, cache=options.cache)
        print("distributed", flush=True)
        result = task.result()
        print(f"{result.why} after {result.rounds} rounds: {result.array.tolist()}", flush=True)
        for array in result.arrays[1:]:
            print(array.tolist(), flush=True)


def run_worker(options):
    job = {"job": 1, "rank": options.rank + 1, "size": options.workers + 1, "address": options.address}
    sums = {"job": 2, "rank": options.rank, "size": options.workers, "address": options.address}
    with tributary.Task("worker", job=job, sums=sums, report=options.report) as task:
        data, _ = task.receive()
        assert bytes(data) == DATA
        print(f"task of {len(data)} bytes", flush=True)
        state = numpy.zeros(5) if task.state is None else task.state.copy()
        while not task.final:
            if options.gate and task.last is not None and task.last.number == 5:
                print("waits", flush=True)
                with open(options.gate, encoding="ascii") as gate:
                    gate.read()
            task.submit(state - (options.rank + numpy.arange(5.0)), state=state)
            done = task.next_round()
            if done.number == options.fail_in:
                raise KeyError("no such sample")
            state = state - 0.0625 * (sum(done.parts) if done.sum is None else done.sum)
        if task.last.sum is None:
            state[0] = options.rank  # its own
        task.deliver(state)
        print("delivered", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("main", "worker"))
    parser.add_argument("--rank", type=int)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--keep", default="sum")
    parser.add_argument("--publish")
    parser.add_argument("--cache", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--gate")
    parser.add_argument("--fail-in", type=int, help="round")
    options = parser.parse_args()
    try:
        run_main(options) if options.role == "main" else run_worker(options)
    except tributary.Error as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
