"""Steps of a meeting that both roles know: who is main, and the task from a holder to the others."""

from . import cache, pieces, transfer
from .errors import MainConflict, TaskError, TaskTooLarge, WorkerFailed
from .manifest import MOST_BYTES, Manifest, identity
from .records import MAIN, WORKER, text_of

# Pieces of a rank that needs none.
_ALL = (1 << 62) - 1


def find_main(hellos):
    """The rank of main in the task job; MainConflict, on every rank, unless there is one."""
    mains = [rank for rank, hello in enumerate(hellos) if hello.role == MAIN]
    if len(mains) == 1:
        return mains[0]
    if not mains:
        raise MainConflict(f"none of the {len(hellos)} ranks of the task job is main")
    raise MainConflict(f"{text_of(mains)} of the task job all say that they are main; allowed: one")


def need_workers_alone(hellos):
    """MainConflict if a main is in the sum job."""
    mains = [rank for rank, hello in enumerate(hellos) if hello.role != WORKER]
    if mains:
        raise MainConflict(f"{text_of(mains)} of the sum job is main; its members are the workers alone")


def failure_in(hellos, job=""):
    """A WorkerFailed that names the ranks which say that they end the task; None: all go on."""
    failures = {rank: hello.failed for rank, hello in enumerate(hellos) if hello.failed}
    if not failures:
        return None
    ranks = {}  # text → ranks
    for rank, text in failures.items():
        ranks.setdefault(text, []).append(rank)
    said = "; ".join(f"{text_of(some)}{job} ended: {text}" for text, some in ranks.items())
    return WorkerFailed(said, failures)


def run_of(workers):
    """The run that all of these go on in, by their records: that of the first which has the task, or
    else of the first. So a restarted worker is in the others' run, and where all are restarted, the run
    is a new one. Workers that are in the task job at once were in the same meeting before."""
    return next((hello.run for hello in workers if hello.task), workers[0].run if workers else "")


def need_same_workers(hellos, workers):
    """TaskError, on every worker, unless the task job has main and the sum job's workers."""
    if len(hellos) != workers + 1:
        error = TaskError(f"the task job has {len(hellos)} ranks, and the sum job has {workers}; allowed: "
                          "one more in the task job, main")
        error.main_sees = False  # it does not know the sum job
        raise error


def give(comm, encoded, source):
    """Sends a task: its manifest, then the pieces from the first one that a rank lacks."""
    piece_bytes = Manifest.decode(encoded).piece_bytes
    transfer.small(comm, comm.rank, encoded, most=MOST_BYTES)
    first = transfer.agree(comm, None, held=_ALL)
    transfer.run(comm, comm.rank, source.length, piece_bytes, source, first)


def take(comm, root, inbox, by_name=False):
    """Receives what give() of rank `root` sends into `inbox`; one that has it all takes part.

    by_name: in the sum job, whose switches may have the task in their caches."""
    encoded = transfer.small(comm, root, most=MOST_BYTES)
    refuse = sink = None
    try:
        manifest = Manifest.decode(encoded)
        sink = inbox.sink_of(encoded, manifest)
    except (ValueError, TaskError, OSError) as error:
        refuse = error
    except MemoryError:
        refuse = TaskTooLarge(f"no memory for the task's {manifest.length} bytes; allowed: receive(into=PATH)")
    if refuse is None and manifest.cache and by_name:
        inbox.fetch(comm, encoded, manifest)
    held = _ALL if isinstance(sink, pieces.Nowhere) else getattr(sink, "held", 0)
    first = transfer.agree(comm, refuse, held=held)
    transfer.run(comm, root, manifest.length, manifest.piece_bytes, sink, first)
    inbox.finish(encoded, manifest)


class Inbox:
    """Where a worker's task arrives. It keeps a part of it for as long as the process lives.

    into: a path for the data, or None: memory, at most memory_bytes. status: follows it.
    task: identity, "" until all of it is here with the right digest."""

    def __init__(self, into, memory_bytes, status):
        self._into, self._memory_bytes, self._status = into, memory_bytes, status
        self._sink = None
        self._sink_of = ""
        self.task, self.encoded, self.manifest = "", b"", None

    def sink_of(self, encoded, manifest):
        """The sink for that task, with the pieces that it has of it."""
        name = identity(encoded)
        if self.task:
            if self.task != name:
                raise TaskError(f"this worker has task {self.task[:12]}, and is offered {name[:12]}")
            return pieces.Nowhere()
        if self._sink_of != name:
            if self._into is None and manifest.length > self._memory_bytes:
                raise TaskTooLarge(
                    f"the task has {manifest.length} bytes, and a worker takes {self._memory_bytes} into "
                    "memory; allowed: receive(into=PATH), or a larger memory_bytes")
            self.close()
            self._sink = pieces.Sink(manifest.length, manifest.digest, manifest.piece_bytes, self._into)
            self._sink_of = name
            self._status.watch(self._sink)
            self._status.event("receives the task", task=name[:12], state="receives", missing="",
                               of_bytes=manifest.length, most_rounds=manifest.criterion.most_rounds,
                               criterion=str(manifest.criterion))
        return self._sink

    def fetch(self, comm, encoded, manifest):
        """Gets by name what is not here; as much of it as the switches have."""
        if not self.task:
            cache.fetch(comm, identity(encoded), manifest, self._sink, self._status)

    def keep(self, comm):
        """Puts the task into the switches' caches, if it asks for that and this rank is to."""
        if not self.manifest.cache or comm.rank != 0:
            return
        source = self.source()
        try:
            cache.keep(comm, self.task, self.manifest, source, self._status)
        finally:
            source.close()

    def finish(self, encoded, manifest):
        """All of the task is here."""
        self.task, self.encoded, self.manifest = identity(encoded), encoded, manifest

    @property
    def value(self):
        """The data: a read-only memoryview, or the path."""
        return self._sink.value if self._into is not None else memoryview(self._sink.value).toreadonly()

    def source(self):
        """A pieces.Source of the data, for a worker that was restarted."""
        return pieces.Source(self.value)

    def close(self):
        """Closes the file."""
        if self._sink is not None:
            self._sink.close()
