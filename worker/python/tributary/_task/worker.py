"""A worker of a task: gets the data, runs rounds with the other workers, delivers the result.

    receive() ─▶ submit() ⇄ next_round() … final ─▶ deliver()
        │             │                                 │
        └─────────────┴── the workers' meeting ─────────┘   sum job
        └── main's meeting: task ──┘   └── main's meeting: result ──┘   task job

Whenever an epoch of the sum job ends, all workers come to its next one and tell what they have
(records.Hello). From the same list each derives what follows: a holder of the task gives it to a
worker that lacks it, then a worker that has the last round gives it, with the state behind it, to
those that lost it or were restarted. Then each goes on where it was.

A worker that ends the task by an error says so in the same meeting (Hello.failed). Then all workers
go to main with that word, and end. Both last until it is told, or `patience` is over, as for a result.
"""

import secrets
import threading
import warnings

import numpy as np

import tributary

from . import arrays, meeting, results, transfer
from .errors import Again, Error, TaskError, WorkerFailed
from .jobs import SLICE_S, WARN_S, Patience, is_told
from .records import RESULT, ROUNDS, TASK, WORKER, Hello, exchange, shortened, text_of
from .publisher import Publisher
from .rounds import Rounds


class Worker:
    """One worker. Not thread-safe."""

    def __init__(self, task_job, sum_job, patience, memory_bytes, status):
        self._task_job, self._sum_job, self._status = task_job, sum_job, status
        self._patience, self._memory_bytes = patience, memory_bytes
        self._inbox = None
        self._result = None  # (array, blob)
        self._workers = 0  # ranks of the sum job
        self._publisher = None
        self._failed = ""  # why this worker ends the task
        self._over = False  # main has the result, or knows why there is none
        self._alone = False  # the others did not come in time
        self._run = secrets.token_hex(6)  # see meeting.run_of()
        self.rounds = None

    @property
    def task(self):
        """Identity of the task, "" without one."""
        return "" if self._inbox is None else self._inbox.task

    @property
    def run(self):
        """Identity of the run, "" without a task."""
        return self._run if self.task else ""

    # ---- the calls

    def receive(self, into, timeout):
        """See Task.receive(); the data, and the metadata."""
        if self._inbox is None:
            self._inbox = meeting.Inbox(into, self._memory_bytes, self._status)
        patience = Patience(timeout, self._status)
        self._status.event("waits for the task", state="waits")
        while not self._inbox.task:
            self._meet_workers(TASK, patience)
            if not self._inbox.task:
                self._meet_main(TASK, patience)
        self._publisher = Publisher(self._inbox.manifest.publish, self._run, self._status)
        if self.rounds is None:
            self.rounds = Rounds(self._inbox.manifest)
        self._put_task()
        self._status.event("has the task", task=self._inbox.task[:12], state="rounds")
        return self._inbox.value, self._inbox.manifest

    def _put_task(self):
        try:
            self._inbox.keep(self._sum_job.join(SLICE_S))
        except Error as error:
            self._status.event(f"could not put the task by name: {error}")

    def submit(self, array, state):
        """See Task.submit()."""
        self._need_task().submit(array, state)
        try:
            # An epoch that has ended is met again in next_round().
            self.rounds.start(self._sum_job.join(SLICE_S))
        except Error:
            self.rounds.interrupt()
        except BaseException:
            self.rounds.withdraw()
            raise
        self._publish(".state", self.rounds.begun, state)

    def _publish(self, suffix, number, array):
        if array is None or not self._publisher.wanted:
            return
        try:
            self._publisher.put(self._sum_job.join(SLICE_S), suffix, number, array)
        except Error as error:
            self._status.event(f"could not publish: {error}")

    def next_round(self):
        """See Task.next_round()."""
        number = self._need_task().begun
        if not number:
            raise TaskError("no array has been submitted: submit() comes before next_round()")
        patience = Patience(self._patience, self._status)
        while self.rounds.begun == number:
            try:
                comm = self._sum_job.join(patience.left())
                if not self.rounds.started:
                    self.rounds.start(comm)
                self.rounds.finish()
            except (TaskError, tributary.OverflowError):
                self.rounds.withdraw()
                raise
            except Error as error:
                self._lost(error, patience)
        self._tell_round(self.rounds.last)
        self._publish("", self.rounds.last.number, self.rounds.last.sum)
        return self.rounds.last

    def deliver(self, array):
        """See Task.deliver()."""
        progress = self._need_task().progress
        if not progress.final:
            raise TaskError(f"round {progress.completed} of at most {progress.criterion.most_rounds} was "
                            "not final; deliver() comes after the one that is")
        arrays.check(array, "array")
        kept = np.array(array, order="C")
        last = self.rounds.last
        self._result = (kept, results.encode(kept, progress, None if last is None else last.norm))
        patience = Patience(self._patience, self._status)
        self._status.event("offers the result to main", state="delivers")
        while True:
            hellos = self._meet_workers(RESULT, patience)
            if any(hello.stage != RESULT for hello in hellos):
                continue  # a worker that was restarted, or lost the last round, comes later
            if self._meet_main(RESULT, patience):
                self._over = True
                self._status.event("main has the result", state="done", missing="")
                return

    def _tell_round(self, last):
        changes = {"round": last.number, "norm": last.norm,
                   "missing": ", ".join(str(rank) for rank in last.missing)}
        if last.number == 1 or last.final:
            ending = f" is final: {last.why}" if last.final else " is done"
            self._status.event(f"round {last.number}{ending}", **changes)
        else:
            self._status.progress(**changes)

    def close(self):
        """Leaves both jobs, when others are about to; before main has the result, says so first."""
        if self.task and not self._over:
            self.fail("it left before main had the result")
            return
        self._sum_job.part()
        self.leave()

    def fail(self, why):
        """Tells the other workers and main why this worker ends the task, and leaves both jobs.

        Waits for the other workers up to `patience`, and with them for main as long; not if they have
        not come for as long before. An interrupt ends that."""
        warning = threading.Timer(WARN_S, self._warn)
        warning.daemon = True
        warning.start()
        try:
            if not self._over and not self._alone:
                self._failed = shortened(why)
                self._tell_workers()
        finally:
            warning.cancel()
            self.leave()

    def _warn(self):
        limit = "" if self._patience is None else f", for up to {self._patience:g} s"
        warnings.warn(f"a worker of a task tells the others why it ends{limit}: {self._failed}; "
                      "Ctrl-C ends that at once", RuntimeWarning, stacklevel=2)

    def _tell_workers(self):
        if self.rounds is not None:
            self.rounds.interrupt()
        self._sum_job.leave()  # ends the others' ops, so that they come to the meeting
        try:
            self._meet_workers(ROUNDS, Patience(self._patience, self._status))
        except WorkerFailed as known:
            self._status.event(f"told the others why it ends: {known}")
        except Error as error:
            self._status.event(f"could not tell the others why it ends: {error}")

    def _tell_main(self):
        """With all other workers: main, or its successor, reads in their records why the task ends."""
        patience = Patience(self._patience, self._status)
        while True:
            try:
                self._task_job.leave()
                exchange(self._task_job.join(patience.left()), self._hello(ROUNDS))
                self._status.event("told main")
                self._task_job.part()
                return
            except Error as error:
                try:
                    patience.spend(error)
                except Error:
                    self._status.event(f"could not tell main: {error}")
                    return
            finally:
                self._task_job.leave()

    def leave(self):
        """Leaves both jobs at once."""
        self._task_job.leave()
        self._sum_job.leave()
        if self._inbox is not None:
            self._inbox.close()

    # ---- the sum job

    def _lost(self, error, patience):
        """An op of a round failed: meets the others, who may have its result."""
        self.rounds.interrupt()
        self._sum_job.leave()
        self._spend(patience, error)
        self._meet_workers(ROUNDS, patience)

    def _meet_workers(self, stage, patience):
        """All workers tell what they have, and give what others lack. The records of all."""
        while True:
            try:
                comm = self._sum_job.join(patience.left())
                hellos = exchange(comm, self._hello(stage))
                meeting.need_workers_alone(hellos)
                self._alone = False
                self._need_no_failure(hellos)
                self._run = meeting.run_of(hellos)
                self._workers = len(hellos)
                self._share_task(comm, hellos)
                self._share_round(comm, hellos)
                return hellos
            except Error as error:
                self._sum_job.leave()
                self._spend(patience, error)
            except BaseException:
                self._sum_job.leave()
                raise

    def _need_no_failure(self, hellos):
        """WorkerFailed, on every worker, if one ends the task; main has been told then, if it came in time."""
        failure = meeting.failure_in(hellos, " of the sum job")
        if failure is None:
            return
        self._over = True  # who is interrupted now need not begin anew
        self._status.event(f"{failure}; tells main", state="failed")
        self._tell_main()
        raise failure

    def _spend(self, patience, error):
        """patience.spend(), which notes that the others did not come."""
        try:
            patience.spend(error)
        except Error as last:
            self._alone = not is_told(last)
            raise

    def _hello(self, stage):
        rounds = self.rounds
        begun, completed = (0, 0) if rounds is None else (rounds.begun, rounds.progress.completed)
        return Hello(
            WORKER,
            stage,
            task=self.task,
            begun=begun,
            completed=completed,
            result="" if self._result is None else arrays.digest(self._result[1]),
            each=self.task != "" and self._inbox.manifest.keep == "worker",
            failed=self._failed,
            run=self._run,
        )

    def _next_state(self):
        """The state with which the round after the last one begins; after all of them the result, unless
        each worker has its own: that of one is no other's."""
        if self._result is not None:
            return None if self._inbox.manifest.keep == "worker" else self._result[0]
        return self.rounds.state if self.rounds is not None and self.rounds.begun else None

    def _share_task(self, comm, hellos):
        holders = [rank for rank, hello in enumerate(hellos) if hello.task]
        if not holders or len(holders) == len(hellos):
            _need_one_task(hellos, holders)
            return
        if comm.rank != holders[0]:
            meeting.take(comm, holders[0], self._inbox, by_name=True)
            return
        source = self._inbox.source()
        try:
            meeting.give(comm, self._inbox.encoded, source)
        finally:
            source.close()

    def _share_round(self, comm, hellos):
        top = max(hello.completed for hello in hellos)
        lacking = [rank for rank, hello in enumerate(hellos) if hello.completed < top]
        if not lacking:
            return
        far = [rank for rank in lacking if hellos[rank].begun not in (0, top)]
        if far:
            raise TaskError(f"{text_of(far)} began round {hellos[far[0]].begun}, and another worker has "
                            f"completed round {top}: they are not of one run")
        root = next(rank for rank, hello in enumerate(hellos) if hello.completed == top)
        own = self.rounds.encode(self._next_state()) if comm.rank == root else None
        blob = transfer.small(comm, root, own, wanted=comm.rank in lacking)
        if comm.rank in lacking:
            rounds = self.rounds or Rounds(self._inbox.manifest)
            rounds.adopt(blob)
            self.rounds = rounds

    # ---- the task job

    def _meet_main(self, stage, patience):
        """Main and all workers; True if it gave the task, or took the result."""
        try:
            comm = self._task_job.join(min(SLICE_S, patience.left()))
            self._status.joined(comm.rank)
            hellos = exchange(comm, self._hello(stage))
            main = meeting.find_main(hellos)
            meeting.need_same_workers(hellos, self._workers)
            if any(hello.stage != stage for rank, hello in enumerate(hellos) if rank != main):
                raise Again("the workers are at different stages")
            if stage == TASK:
                self._take_task(comm, main, hellos[main])
            else:
                self._give_result(comm, main, hellos)
            self._task_job.part()
            return True
        except (Again, Error, OSError) as error:  # OSError: of the file that takes the task
            self._task_job.leave()
            self._over = self._over or getattr(error, "main_sees", False)
            if isinstance(error, OSError):
                raise
            self._spend(patience, error)
            return False
        finally:
            self._task_job.leave()

    def _take_task(self, comm, main, hello):
        if hello.stage != TASK:
            raise Again("main waits for a result, and the workers have no task")
        meeting.take(comm, main, self._inbox)

    def _give_result(self, comm, main, hellos):
        if hellos[main].task not in ("", self._inbox.task):
            raise Again(f"main has another task, {hellos[main].task[:12]}")
        results.give(comm, main, results.senders(hellos, main), self._result[1])

    def _need_task(self):
        if self.rounds is None:
            raise TaskError("this worker has no task: receive() comes first")
        return self.rounds


def _need_one_task(hellos, holders):
    tasks = {hellos[rank].task for rank in holders}
    if len(tasks) > 1:
        raise TaskError("the workers have different tasks: " + ", ".join(
            f"{hellos[rank].task[:12]} at rank {rank}" for rank in holders))
