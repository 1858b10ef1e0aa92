"""tributary.Task: one member of a task, main or worker."""

from . import pieces
from .criterion import norm
from .errors import WrongRole
from .jobs import Job, is_told
from .main import Main
from .records import MAIN, WORKER
from .status import Status
from .worker import Worker

_MOST_SECONDS = 1e6


class Task:
    """One member of a task: main, which owns the data and wants the result, or a worker.

    role: "main" or "worker".
    job: a dict of arguments of tributary.init() for the task job, whose ranks are main and all
        workers; for example {"job": 3, "rank": 0, "size": 5, "address": "udp://10.77.0.250"}.
    sums: the same for the sum job, whose ranks are the workers alone. For workers only.
    state: a folder in which main keeps which task it gave, and the result, for a successor on the
        same machine; one folder a task. None: nothing outlives the process. For main only.
    patience: seconds in which members come back after a failure, and the longest that a round may
        take; None: as long as it takes.
    memory_bytes: the largest task that a worker takes into memory.
    report: a folder of this machine into which the member writes how far it is, for `tributary show
        tasks` and for metrics; made if it is missing. None: that of the environment variable
        TRIBUTARY_TASKS; without it, nothing is written. A folder that cannot be written is a warning.

    The members join the task job for the two meetings with main alone, and leave it between them:
    main may be absent while the rounds go on. A context manager; close() leaves the jobs.

    Not thread-safe: one thread a Task. Every call may raise tributary.Error for a job that cannot be
    joined, and TaskError or one of its subclasses, as its text says. A call of the other role is a
    WrongRole. docs/tasks.md is the guide."""

    def __init__(self, role, *, job, sums=None, state=None, patience=600.0, memory_bytes=1 << 30,
                 report=None):
        if role not in (MAIN, WORKER):
            raise ValueError(f"role is {role!r}; allowed: 'main', 'worker'")
        if (sums is None) != (role == MAIN):
            raise ValueError("sums is the workers' job: allowed for a worker, which needs it")
        if state is not None and role != MAIN:
            raise ValueError("state is main's; allowed: without it")
        if sums is not None:
            _check_ports(job.get("address"), sums.get("address"))
        _check_seconds("patience", patience)
        if isinstance(memory_bytes, bool) or not isinstance(memory_bytes, int) or memory_bytes < 0:
            raise ValueError(f"memory_bytes is {memory_bytes!r}; allowed: an integer of at least 0")
        self._role = role
        if role == MAIN:
            self._status = Status(report, job, role)
            self._member = Main(Job(job, patience), patience, state, self._status)
        else:
            self._status = Status(report, job, role, sums.get("job"))
            self._member = Worker(Job(job, patience), Job(sums, patience), patience, memory_bytes,
                                  self._status)

    # ---- main's calls

    def distribute(self, data, metadata=None, *, criterion, keep="sum", piece_bytes=pieces.DEFAULT,
                   publish=None, cache=False):
        """Main: gives data and metadata to all workers; returns when each has them.

        data: an object with the buffer protocol, a path, or a binary file that can seek; any length,
            0 included. A file is read twice, by pieces: hashed, then sent. It must not change.
        metadata: what JSON can hold, at most 64 KiB with the rest of the manifest.
        criterion: when the rounds end, a dict: "most_rounds" (required; 0: a task without rounds),
            "norm_below", "relative_change_below" with "over_rounds" (default 1).
        keep: "sum": each round's arrays are summed; "worker": they are kept by worker; "both".
        piece_bytes: bytes of a broadcast, 1 to 64 MiB.
        publish: a tensor's name; then rank 0 of the sum job, which has `names`, puts each round's sum
            as /job/SUMS/run=RUN/PUBLISH/v=ROUND, and the state with which a round begins as
            PUBLISH.state; RUN is `Task.run`. None: sums get no name.
        cache: True: rank 0 of the sum job, which has `names`, puts the data into the switches' caches,
            by pieces, and a worker that is restarted gets them from the nearest switch that has them;
            only what no cache has the other workers send again, to all.

        Each piece has a CRC-32, the whole a SHA-256 digest, which every worker confirms. After a
        failure it goes on with the first piece that some worker lacks. A successor of main, with a
        `state` folder of the same task, returns at once if the first one was done.

        Raises ValueError or TypeError for bad arguments, TaskError with the rank of a worker that
        refuses, DigestMismatch if data arrived damaged as often as it was sent, MainConflict."""
        self._need(MAIN, "distribute").distribute(data, metadata, criterion, keep, piece_bytes, publish,
                                              cache)

    def result(self, timeout=None):
        """Main: waits for the workers' final result and acknowledges it; a TaskResult.

        timeout: seconds; None: as long as the rounds take.

        The workers send it again until main has data with their digest; with a `state` folder, until
        it is on disk. A second call, or a successor with that folder, gets the same result at once.
        A successor without a folder may call it, too. Raises NotConverged, which has the result,
        where the rounds were over before the criterion held, and WorkerFailed where a worker ended with an
        error, or left. Workers that are killed, or hang, for good tell main nothing: then `timeout` alone
        ends the wait, by a tributary.Error."""
        _check_seconds("timeout", timeout)
        return self._need(MAIN, "result").result(timeout)

    # ---- a worker's calls

    def receive(self, into=None, timeout=None):
        """Worker: waits for the task; returns (data, metadata).

        into: a path, to which the data goes; data is then this path. None: data is a read-only
            memoryview of bytes.
        timeout: seconds; None: until main comes.

        A worker that was restarted gets the task from another worker, without main; then `last` and
        `state` are not None if the others have rounds behind them, and submit() goes on with the
        round that they are at. Raises TaskTooLarge if the task exceeds memory_bytes and `into` is
        None; TaskError if another worker refused."""
        _check_seconds("timeout", timeout)
        data, manifest = self._need(WORKER, "receive").receive(into, timeout)
        return data, manifest.metadata

    def submit(self, array, state=None):
        """Worker: begins the next round with this worker's array.

        array: numpy.ndarray, C-contiguous, of one shape and dtype on all workers; bool, integers or
            floats of up to 64 bits. It stays as it is; don't change it before next_round() returns.
        state: numpy.ndarray of any shape, or None: what a restarted worker needs to begin this
            round, the same on every worker, such as the model's parameters. It is copied.

        Does not wait. Raises TaskError after the final round, or before the last one has ended."""
        self._need(WORKER, "submit").submit(array, state)

    def next_round(self):
        """Worker: waits for the round that submit() began; a Round, the same on every worker.

        If a worker, or a switch, fails meanwhile, it waits for all workers to be there again, and
        does the round again with the same arrays. Raises NormError, on every worker, if the norm
        that the criterion needs is not finite; tributary.OverflowError if an integer sum leaves its
        range; tributary.Error if the workers are not back within `patience`."""
        return self._need(WORKER, "next_round").next_round()

    def deliver(self, array):
        """Worker: gives main the final result; returns when main has acknowledged it.

        array: numpy.ndarray as in submit(), the same on every worker; where the task keeps arrays by
            worker, each delivers its own, of any shape. It is copied.

        Waits for main, or its successor, up to `patience`. Raises TaskError if no final round is
        behind this worker, or if the workers' results differ: then every member names the ranks."""
        self._need(WORKER, "deliver").deliver(array)

    @property
    def last(self):
        """Worker: the last Round, or None before there is one."""
        rounds = self._need(WORKER, "last").rounds
        return None if rounds is None else rounds.last

    @property
    def state(self):
        """Worker: the state of the round that begins, for a restarted worker; else what it gave.

        A read-only numpy.ndarray, or None."""
        rounds = self._need(WORKER, "state").rounds
        return None if rounds is None else rounds.state

    @property
    def final(self):
        """Worker: no round follows; deliver() is next."""
        rounds = self._need(WORKER, "final").rounds
        return rounds is not None and rounds.progress.final

    # ---- both roles' calls

    @staticmethod
    def norm(array):
        """The norm of an array of any shape, as the criterion has it: a float with the same bits
        wherever it is computed."""
        return norm(array)

    @property
    def task(self):
        """The task's short identity, 12 hexadecimal digits, equal on all members; "" without one."""
        return self._member.task[:12]

    @property
    def run(self):
        """The run's identity, 12 hexadecimal digits, equal on all members, also on those that are
        restarted: the workers agree on it when they get the task. "" before; on a main without a `state`
        folder that follows another one, until result() has begun to take the result."""
        return self._member.run

    @property
    def role(self):
        """"main" or "worker"."""
        return self._role

    def close(self):
        """Leaves the jobs. A worker waits up to 5 s for others that may still need it.

        A worker that leaves before main has the result, or whose `with` block an exception ends, tells
        the other workers and main first; all raise WorkerFailed with its rank and words. It waits up to
        `patience` for the workers, and with them as long for main, as with a result; a warning says so after
        5 s, and an interrupt (Ctrl-C) ends it. Not so after a tributary.Error of the job itself, by which it
        has given the others up."""
        self._member.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if kind is None:
            self.close()
            return
        said = f"{kind.__name__}: {error}"
        if is_told(error):
            self._member.fail(said)
        self._member.leave()
        if isinstance(error, Exception):
            self._status.event(f"ends: {said}", state="failed")

    def _need(self, role, call):
        if self._role != role:
            raise WrongRole(f"{call} is of role {role}, and this member is {self._role}")
        return self._member


def _check_ports(address, other):
    if address is not None and address == other and address.startswith("memif:") and "{" not in address:
        raise ValueError(f"job and sums have one memif port, {address}, which takes one connection; "
                         "allowed: a port for each, or UDP")


def _check_seconds(name, value):
    if value is not None and not 0 < value <= _MOST_SECONDS:
        raise ValueError(f"{name} is {value!r}; it is in seconds, above 0 and at most 1e6, or None")
