"""The main of a task: gives the data to all workers, and takes the final result.

Main is in the task job only while it gives or takes: between the two it may be absent, or end and
come back, and no round of the workers waits for it.
"""

from .errors import Again, Error, NotConverged, TaskError
from . import meeting, results
from .criterion import Criterion
from .jobs import Patience
from .manifest import Manifest, identity
from .pieces import Source
from .records import MAIN, RESULT, TASK, Hello, exchange
from .store import Store


class Main:
    """One main. Not thread-safe."""

    def __init__(self, job, patience, state, status):
        self._job, self._patience, self._status = job, patience, status
        self._store = Store(state)
        self.task, self.run = self._store.task, self._store.run
        self._result = self._store.result()

    def distribute(self, data, metadata, criterion, keep, piece_bytes, publish, cache):
        """See Task.distribute()."""
        source = Source(data)
        try:
            manifest = Manifest(source.length, source.digest, piece_bytes, keep,
                                Criterion.of(criterion), metadata, publish or "", cache)
            encoded = manifest.encode()
            known = self._store.expect(identity(encoded))
            self.task = identity(encoded)
            self._status.event("has the task", task=self.task[:12], state="waits", of_bytes=source.length,
                               most_rounds=manifest.criterion.most_rounds, criterion=str(manifest.criterion))
            if known:
                return
            self._status.watch(source)
            hello = Hello(MAIN, TASK, task=self.task)
            self._until_done(Patience(self._patience, self._status), hello,
                             lambda comm, hellos: self._give(comm, hellos, encoded, source))
            self._store.distributed(self.task, self.run)
            self._status.event("all workers have the task", state="waits")
        finally:
            source.close()

    def result(self, timeout):
        """See Task.result()."""
        if self._result is None:
            hello = Hello(MAIN, RESULT, task=self.task)
            self._status.event("waits for the result", state="waits")
            self._until_done(Patience(timeout, self._status), hello, self._take)
        found = self._result
        self._status.event(f"has the result of {found.rounds} rounds", state="done", round=found.rounds,
                           norm=found.norm, missing="")
        if found.converged:
            return found
        raise NotConverged(f"the criterion did not hold in {found.rounds} rounds, the most that the "
                           f"task allows; the last norm is {found.norm}", found)

    def close(self):
        """Leaves the task job."""
        self.leave()

    def fail(self, _):
        """The same: the workers wait for a successor."""
        self.leave()

    def leave(self):
        """The same."""
        self._job.leave()

    def _until_done(self, patience, hello, step):
        """Meets the workers until step(comm, hellos) succeeds."""
        while True:
            try:
                comm = self._job.join(patience.left())
                self._status.joined(comm.rank)
                hellos = exchange(comm, hello)
                main = meeting.find_main(hellos)
                self.run = meeting.run_of(hellos[:main] + hellos[main + 1 :])
                failure = meeting.failure_in(hellos)
                if failure is None:
                    step(comm, hellos)
                self._job.part()
                if failure is not None:
                    raise failure
                return
            except (Again, Error) as error:
                patience.spend(error)
            finally:
                self._job.leave()

    def _give(self, comm, hellos, encoded, source):
        others = [hello for rank, hello in enumerate(hellos) if rank != comm.rank]
        stages = {hello.stage for hello in others}
        if stages == {TASK}:
            self._status.event(f"gives the task to {len(others)} workers", state="gives", missing="")
            meeting.give(comm, encoded, source)
        elif stages == {RESULT} and {hello.task for hello in others} == {self.task}:
            self._take(comm, hellos)  # an earlier main has given it, and the rounds are over
        elif stages == {RESULT}:
            raise TaskError(f"the workers hold the result of task {others[0].task[:12]}, and this is "
                            f"{self.task[:12]}; allowed: result() first, or the data of that task")
        else:
            raise Again("workers give a result while others want the task")

    def _take(self, comm, hellos):
        others = [hello for rank, hello in enumerate(hellos) if rank != comm.rank]
        stages = {hello.stage for hello in others}
        if stages == {TASK}:
            raise TaskError("the workers have no task yet: distribute() comes before result()")
        if stages != {RESULT}:
            raise Again("workers give a result while others want the task")
        tasks = {hello.task for hello in others}
        if len(tasks) != 1 or self.task not in ("", *tasks):
            raise TaskError(f"the workers deliver the result of task {sorted(tasks)[0][:12]}, and this "
                            f"main waits for {self.task[:12]}")
        ranks = results.senders(hellos, comm.rank)
        self._status.event("takes the result", state="takes", missing="")
        self._result = results.take(comm, ranks, lambda blobs: self._store.keep(*tasks, blobs))
