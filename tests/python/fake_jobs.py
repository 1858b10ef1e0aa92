"""Jobs without a network: communicators of threads, with the epochs of the real ones.

Jobs.init() stands for tributary.init(): it waits until all ranks of a job have joined. Ops match by
their place in each rank's order. A rank that leaves, or is killed, ends the epoch: every op that is
not done fails on all ranks, and they join again.
"""

import threading
import time

import numpy as np
import tributary

LIMIT_S = 30  # nothing takes this long unless it hangs


class Killed(BaseException):
    """The end of a member, as by kill -9."""


def error(text, reason, ranks=()):
    made = tributary.Error(text)
    made.reason = reason
    made.missing_ranks = list(ranks)
    return made


class Jobs:
    """All jobs of a test.

    before_op(job, rank, kind, root, array): called before each op of each rank; may raise Killed.
    damage(job, rank, array): called for what a rank gets by broadcast; may change it.
    missing(job, number): ranks that the number-th allreduce of a job lacks.
    before_put(job, rank, name): called before each put, before_get before each get; may raise.
    named: what was put."""

    def __init__(self):
        self.changed = threading.Condition()
        self.forming = {}  # job → rank → communicator
        self.before_op = lambda *op: None
        self.damage = lambda job, rank, array: None
        self.missing = lambda job, number: ()
        self.before_put = self.before_get = lambda job, rank, name: None
        self.named = {}  # name → array

    def init(self, *, job, rank, size, join_timeout, op_timeout, address=None, fail_if_taken=False):
        assert op_timeout > 0
        end = time.monotonic() + min(join_timeout, LIMIT_S)
        comm = Comm(self, job, rank, size)
        with self.changed:
            there = self.forming.setdefault(job, {})
            there[rank] = comm
            if len(there) == size:
                epoch = Epoch(self, job, size)
                for member in there.values():
                    member.epoch_of = epoch
                del self.forming[job]
                self.changed.notify_all()
            while comm.epoch_of is None:
                # The epoch may begin as the time runs out.
                if not self.changed.wait(end - time.monotonic()) and comm.epoch_of is None:
                    self.forming.get(job, {}).pop(rank, None)
                    lacking = sorted(set(range(size)) - set(self.forming.get(job, {})) - {rank})
                    raise error(f"job {job}: waiting for ranks {lacking}", None, lacking)
        return comm


class Epoch:
    """One incarnation of a job."""

    def __init__(self, jobs, job, size):
        self.jobs, self.job, self.size = jobs, job, size
        self.ops = []  # rank → (kind, root, input); "out" → result
        self.ended = None
        self.reductions = 0

    def add(self, index, rank, kind, root, array):
        """With the lock. Completes the op when all ranks are in it."""
        while len(self.ops) <= index:
            self.ops.append({})
        op = self.ops[index]
        op[rank] = (kind, root, array)
        if len(op) < self.size:
            return
        if len({(one[0], one[1], one[2].size) for one in op.values()}) > 1:
            self.end(error("ranks call different ops", "op-mismatch", range(self.size)))
            return
        op["missing"] = ()
        op["out"] = self.result(kind, root, op)
        self.jobs.changed.notify_all()

    def result(self, kind, root, op):
        inputs = [op[rank][2] for rank in range(self.size)]
        if kind == "broadcast":
            return inputs[root].copy()
        if kind == "all_gather":
            return np.stack(inputs)
        if kind == "allreduce":
            self.reductions += 1
            op["missing"] = self.jobs.missing(self.job, self.reductions)
            return sum(one for rank, one in enumerate(inputs) if rank not in op["missing"])
        return None

    def end(self, cause):
        """With the lock."""
        if self.ended is None:
            self.ended = cause
        self.jobs.changed.notify_all()


class Request:
    def __init__(self, comm, index, kind, array):
        self._comm, self._index, self._kind, self._array = comm, index, kind, array
        self.missing = []

    def wait(self, timeout=None):
        epoch, jobs = self._comm.epoch_of, self._comm.jobs
        end = time.monotonic() + (LIMIT_S if timeout is None else timeout)
        with jobs.changed:
            while "out" not in epoch.ops[self._index]:
                if epoch.ended is not None:
                    raise error(str(epoch.ended), epoch.ended.reason, epoch.ended.missing_ranks)
                if not jobs.changed.wait(end - time.monotonic()):
                    raise TimeoutError(self._kind)
            op = epoch.ops[self._index]
        self.missing = list(op["missing"])
        return self._take(op["out"])

    def _take(self, out):
        if self._kind == "all_gather":
            return out.copy()
        if self._kind == "allreduce" or (self._kind == "broadcast" and self._array.flags.writeable):
            self._array[...] = out
            if self._kind == "broadcast":
                self._comm.jobs.damage(self._comm.job, self._comm.rank, self._array)
        return self._array


class Comm:
    """A rank's communicator: the part of tributary.Communicator that tasks use."""

    def __init__(self, jobs, job, rank, size):
        self.jobs, self.job, self.rank, self.size = jobs, job, rank, size
        self.epoch_of = None
        self._issued = 0
        self._closed = False

    def put(self, name, value, timeout):
        assert timeout > 0
        self.jobs.before_put(self.job, self.rank, name)
        kept = self.jobs.named.setdefault(name, np.array(value))
        if kept.tobytes() != np.asarray(value).tobytes():
            raise error(f"put of {name}", "name-taken")

    def get(self, name, timeout):
        assert timeout > 0
        self.jobs.before_get(self.job, self.rank, name)
        if name not in self.jobs.named:
            raise error(f"get of {name}", "name-unknown")
        return self.jobs.named[name].copy()

    def _op(self, kind, array, root=None):
        self.jobs.before_op(self.job, self.rank, kind, root, array)
        with self.jobs.changed:
            if self.epoch_of.ended is not None:
                raise error(str(self.epoch_of.ended), self.epoch_of.ended.reason)
            index, self._issued = self._issued, self._issued + 1
            self.epoch_of.add(index, self.rank, kind, root, np.array(array))
        return Request(self, index, kind, array)

    def allreduce(self, array):
        return self._op("allreduce", array)

    def broadcast(self, array, root):
        return self._op("broadcast", array, root)

    def all_gather(self, array):
        return self._op("all_gather", array)

    def barrier(self, timeout=None):
        self._op("barrier", np.zeros(0, np.uint8)).wait(timeout)

    def close(self):
        if self._closed:
            return
        self._closed = True
        with self.jobs.changed:
            self.epoch_of.end(error(f"rank {self.rank} left", "rank-left", [self.rank]))


class Member(threading.Thread):
    """function(*arguments) in a thread; result() is what it returned, or raises what it raised."""

    def __init__(self, function, *arguments):
        super().__init__(daemon=True)
        self._call = (function, arguments)
        self._value = self._raised = None
        self.start()

    def run(self):
        function, arguments = self._call
        try:
            self._value = function(*arguments)
        except BaseException as raised:
            self._raised = raised

    def result(self):
        self.join(LIMIT_S)
        assert not self.is_alive(), "the member hangs"
        if self._raised is not None:
            raise self._raised
        return self._value

    def raised(self, kind):
        """The exception of that kind which it must have raised."""
        self.join(LIMIT_S)
        assert not self.is_alive(), "the member hangs"
        assert isinstance(self._raised, kind), (self._raised, self._value)
        return self._raised
