"""How the ranks of a process group agree, through the group's store.

    settings   at the start: rank 0's thresholds, and what it does with degraded results, hold for all
    binding    at the first call for the switch: rank 0 takes a job that no other group has, a listed
               one (ListedJobs) or one of a cluster's manager (managed.ManagedJobs), and names this
               run of it, so that a rank of an earlier one that still waits is not met
    epoch      when joined: all ranks are in the incarnation of the job that rank 0 is in
    end        no rank leaves before all have what they asked for

Listed jobs are claimed in the default group's store, which all groups share, by an atomic compare-and-set
of a key for each job. A restart by torchrun has another prefix there, and claims anew.
"""

import json
import os
import secrets
import sys
import threading
import time
from datetime import timedelta

from .environment import fill

_LINGER = timedelta(seconds=5)
_LOOK_S, _LONGEST_LOOK_S = 0.01, 0.2
_ABSENT = "tributary: no value"


def share_settings(store, rank, settings, timeout):
    """Rank 0's settings, on every rank."""
    if rank == 0:
        store.set("tributary/settings", json.dumps(settings))
        return settings
    store.wait(["tributary/settings"], timeout)
    return json.loads(store.get("tributary/settings"))


class ListedJobs:
    """One group's source of a job: those of TRIBUTARY_JOB that no other group has.

    address: where ranks join, with words that `places` replaces.
    """

    def __init__(self, jobs, address, places, group):
        self._jobs = jobs
        self._address = address
        self._places = places
        self._group = group
        self._claim = None

    def offer(self, agreement):
        """Tells rank 0 nothing: what is listed is the same for all."""

    def take(self, agreement):
        """Rank 0: {job, why_not}."""
        fitting = [job for job, size in self._jobs if size in (None, agreement.size)]
        root = _root_store(agreement.store)
        owner = f"group {self._group} of process {os.getpid()}"
        for job in fitting:
            key = f"tributary/job/{job}"
            for free in ("", "free"):
                if root.compare_set(key, free, owner) == owner.encode():
                    self._claim = (root, key, owner)
                    return {"job": job, "why_not": ""}
        listed = ", ".join(str(job) for job in fitting) or "none"
        return {"job": None, "why_not": f"no job is left for a group of {agreement.size} ranks "
                                        f"(TRIBUTARY_JOB has {listed})"}

    def address(self, found, _rank):
        """Where this rank joins."""
        return fill(self._address, "TRIBUTARY_ADDRESS", {**self._places, "job": found["job"]})

    def release(self):
        """The job may be another group's."""
        if self._claim is None:
            return
        root, key, owner = self._claim
        self._claim = None
        try:
            root.compare_set(key, owner, "free")
        except RuntimeError:
            pass  # the store has gone, and the claim with it


class Agreement:
    """One process group's. The extension module calls it, on one thread, and cancel() on any.

    jobs: the group's ListedJobs or ManagedJobs.
    """

    def __init__(self, store, rank, size, timeout, jobs, group):
        self.store = store
        self.rank = rank
        self.size = size
        self.timeout_s = timeout.total_seconds()
        self._jobs = jobs
        self._group = group
        self._cancelled = threading.Event()

    def cancel(self):
        """bind() and joined() raise RuntimeError from now on, also those that block now."""
        self._cancelled.set()

    def check_cancelled(self, what, pause_s=0):
        """RuntimeError if the group was destroyed, at the latest after a pause."""
        if self._cancelled.wait(pause_s):
            raise RuntimeError(f"group {self._group} was destroyed while rank {self.rank} "
                               f"waited for {what}")

    def wait_for(self, key, what):
        """The value of a key that another rank sets. The store's own wait() cannot be ended, and not every
        version of PyTorch has check(): an exchange that changes nothing is what all of them have."""
        end = time.monotonic() + self.timeout_s
        pause = _LOOK_S
        while (value := self.store.compare_set(key, _ABSENT, _ABSENT).decode()) in ("", _ABSENT):
            self.check_cancelled(what, pause)
            if time.monotonic() > end:
                raise RuntimeError(f"rank {self.rank} of group {self._group} has waited "
                                   f"{self.timeout_s:g} s for {what}")
            pause = min(2 * pause, _LONGEST_LOOK_S)
        return value

    def bind(self):
        """{job: int or None, address, run, why_not}; blocks until rank 0 has chosen."""
        self._jobs.offer(self)
        if self.rank == 0:
            try:
                found = {**self._jobs.take(self), "run": secrets.token_hex(8)}
            except Exception as error:
                self.store.set("tributary/binding", json.dumps({"error": str(error)}))
                raise
            self.store.set("tributary/binding", json.dumps(found))
        else:
            found = json.loads(self.wait_for("tributary/binding", "rank 0 to choose a job"))
        if "error" in found:
            raise RuntimeError(f"rank 0 of group {self._group} could not choose a job: "
                               + found["error"])
        if found["job"] is None:
            if self.rank == 0:
                print(f"tributary: group {self._group}: {found['why_not']}; all its calls go to "
                      "Gloo", file=sys.stderr, flush=True)
            return {**found, "address": ""}
        return {**found, "address": self._jobs.address(found, self.rank)}

    def joined(self, epoch):
        """Raises RuntimeError if rank 0 is in another epoch: some other process is in this one."""
        self.store.set(f"tributary/epoch/{self.rank}", str(epoch))
        first = int(self.wait_for("tributary/epoch/0", "the epoch that rank 0 is in"))
        if first != epoch:
            raise RuntimeError(
                f"rank {self.rank} of group {self._group} joined epoch {epoch} of its job, and rank "
                f"0 epoch {first}: processes that name no run use the same job"
            )

    def wait_for_all(self):
        """Blocks until every rank has called it, for a few seconds."""
        try:
            if self.store.add("tributary/leaving", 1) == self.size:
                self.store.set("tributary/left", "")
            self.store.wait(["tributary/left"], _LINGER)
        except RuntimeError:
            pass  # a rank is late, or the store has gone with the process that had it

    def release(self):
        """The job may be another group's, or ends."""
        self._jobs.release()


def _root_store(own):
    """The store that all groups of this run share; a group's own one where there is no other."""
    from torch.distributed import distributed_c10d

    try:
        return distributed_c10d._get_default_store()
    except (RuntimeError, ValueError, KeyError):
        return own
