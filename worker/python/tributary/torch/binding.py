"""How the ranks of a process group agree, through the group's store.

    settings   at the start: rank 0's thresholds, and what it does with degraded results, hold for all
    binding    at the first call for the switch: rank 0 takes a job that no other group has
    epoch      when joined: all ranks are in the incarnation of the job that rank 0 is in
    end        no rank leaves before all have what they asked for

Jobs are claimed in the default group's store, which all groups share, by an atomic compare-and-set
of a key for each job. A restart by torchrun has another prefix there, and claims anew.
"""

import json
import os
import sys
import threading
import time
from datetime import timedelta

from .environment import fill_address

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


class Agreement:
    """One process group's. The extension module calls it, on one thread, and cancel() on any."""

    def __init__(self, store, rank, size, timeout, address, jobs, group, places):
        self._store = store
        self._rank = rank
        self._size = size
        self._timeout = timeout
        self._address = address
        self._jobs = jobs
        self._group = group
        self._places = places
        self._claim = None
        self._cancelled = threading.Event()

    def cancel(self):
        """bind() and joined() raise RuntimeError from now on, also those that block now."""
        self._cancelled.set()

    def _wait_for(self, key, what):
        """The value of a key that rank 0 sets. The store's own wait() cannot be ended, and not every
        version of PyTorch has check(): an exchange that changes nothing is what all of them have."""
        end = time.monotonic() + self._timeout.total_seconds()
        pause = _LOOK_S
        while (value := self._store.compare_set(key, _ABSENT, _ABSENT).decode()) in ("", _ABSENT):
            if self._cancelled.wait(pause):
                raise RuntimeError(f"group {self._group} was destroyed while rank {self._rank} "
                                   f"waited for {what}")
            if time.monotonic() > end:
                raise RuntimeError(f"rank {self._rank} of group {self._group} has waited "
                                   f"{self._timeout.total_seconds():g} s for {what}")
            pause = min(2 * pause, _LONGEST_LOOK_S)
        return value

    def bind(self):
        """{job: int or None, address, why_not}; blocks until rank 0 has chosen."""
        if self._rank == 0:
            try:
                found = self._take_job()
            except Exception as error:
                self._store.set("tributary/binding", json.dumps({"error": str(error)}))
                raise
            self._store.set("tributary/binding", json.dumps(found))
        else:
            found = json.loads(self._wait_for("tributary/binding", "rank 0 to choose a job"))
        if "error" in found:
            raise RuntimeError(f"rank 0 of group {self._group} could not choose a job: "
                               + found["error"])
        if found["job"] is None:
            if self._rank == 0:
                print(f"tributary: group {self._group}: {found['why_not']}; all its calls go to "
                      "Gloo", file=sys.stderr, flush=True)
            return {**found, "address": ""}
        address = fill_address(self._address, {**self._places, "job": found["job"]})
        return {**found, "address": address}

    def _take_job(self):
        fitting = [job for job, size in self._jobs if size in (None, self._size)]
        root = _root_store(self._store)
        owner = f"group {self._group} of process {os.getpid()}"
        for job in fitting:
            key = f"tributary/job/{job}"
            for free in ("", "free"):
                if root.compare_set(key, free, owner) == owner.encode():
                    self._claim = (root, key, owner)
                    return {"job": job, "why_not": ""}
        listed = ", ".join(str(job) for job in fitting) or "none"
        return {"job": None, "why_not": f"no job is left for a group of {self._size} ranks "
                                        f"(TRIBUTARY_JOB has {listed})"}

    def joined(self, epoch):
        """Raises RuntimeError if rank 0 is in another epoch: some other process is in this one."""
        self._store.set(f"tributary/epoch/{self._rank}", str(epoch))
        first = int(self._wait_for("tributary/epoch/0", "the epoch that rank 0 is in"))
        if first != epoch:
            raise RuntimeError(
                f"rank {self._rank} of group {self._group} joined epoch {epoch} of its job, and rank "
                f"0 epoch {first}: processes of another run use the same job"
            )

    def wait_for_all(self):
        """Blocks until every rank has called it, for a few seconds."""
        try:
            if self._store.add("tributary/leaving", 1) == self._size:
                self._store.set("tributary/left", "")
            self._store.wait(["tributary/left"], _LINGER)
        except RuntimeError:
            pass  # a rank is late, or the store has gone with the process that had it

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


def _root_store(own):
    """The store that all groups of this run share; a group's own one where there is no other."""
    from torch.distributed import distributed_c10d

    try:
        return distributed_c10d._get_default_store()
    except (RuntimeError, ValueError, KeyError):
        return own
