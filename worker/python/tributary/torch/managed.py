"""Jobs that a cluster's manager gives the process groups of a run (T20), one for each group.

Rank 0 submits a request that names the workers of the group's ranks, waits until the job runs, and
cancels it when the group ends. Jobs of a run that is killed end with the `lease` of the request.
"""

import json
import re
import secrets
import time

from .. import _native

# Pieces of waiting: between them the group may have been destroyed.
_PIECE_S = 0.5
# A job that the manager has and that does not run after so long leaves the group to Gloo.
_ROOM_S = 10
_CALL_S = 2
_REFUSED = ("FAILED_PRECONDITION", "RESOURCE_EXHAUSTED")
_WORDS = ("name", "workers", "members")
_NAME = r"""\bname:\s*["']?([A-Za-z0-9_.-]*{}[A-Za-z0-9_.-]*)"""
_MOST_GROUP_LETTERS = 20


class ManagerError(RuntimeError):
    """`code` is the name of gRPC's status, or USAGE or FAILED (manager/api/helper.h)."""

    def __init__(self, code, text):
        super().__init__(f"manager: {text}")
        self.code = code


class Manager:
    """The calls that a group needs."""

    def __init__(self, target, environment):
        files = {"ca": "TRIBUTARY_TLS_CA", "cert": "TRIBUTARY_TLS_CERT", "key": "TRIBUTARY_TLS_KEY"}
        self._access = {"manager": target, **{key: environment.get(name, "") for key, name in files.items()}}

    def _ask(self, function, **request):
        answer = json.loads(function(json.dumps({**self._access, **request})))
        if not answer["ok"]:
            raise ManagerError(answer["code"], answer["error"])
        return answer["reply"]

    def wait(self, job, request, file, timeout_s):
        """The job, once it runs; submits the request unless the manager has the job."""
        return self._ask(_native._wait_for_job, job=job, request=request, file_name=file, timeout_s=timeout_s)

    def waits_for(self, job):
        """Why a job does not run; None: the manager has no such job, or does not answer."""
        try:
            return self._ask(_native._call_manager, method="Jobs.Show", request={"name": job},
                             timeout_s=_CALL_S)["waits_for"]
        except ManagerError:
            return None

    def cancel(self, job, reason):
        """Nothing is said of a job that has ended, or of a manager that does not answer: the lease ends it."""
        try:
            self._ask(_native._call_manager, method="Jobs.Cancel", request={"name": job, "reason": reason},
                      timeout_s=_CALL_S)
        except ManagerError:
            pass


def check_template(file, text):
    """The text of TRIBUTARY_REQUEST's file. ValueError if it lacks what is to be replaced."""
    for word in _WORDS:
        if "{" + word + "}" not in text:
            raise ValueError(f"TRIBUTARY_REQUEST: {file} has no {{{word}}}; needed are "
                             + ", ".join("{" + one + "}" for one in _WORDS))
    if not re.search(_NAME.format(re.escape("{name}")), text):
        raise ValueError(f"TRIBUTARY_REQUEST: {file}: {{name}} is not the job's name; allowed: such as "
                         "'name: train-{name}'")
    return text


def fill_template(text, name, workers):
    """The request of a group whose rank r is `workers[r]`."""
    members = [{"rank": rank, "worker": worker} for rank, worker in enumerate(workers)]
    values = {"name": name, "workers": str(len(workers)), "members": json.dumps(members)}
    return re.sub(r"\{(" + "|".join(_WORDS) + r")\}", lambda match: values[match[1]], text)


class ManagedJobs:
    """One group's source of a job; see binding.Agreement.

    template: of the request, with {name}, {workers}, {members}; worker: this rank's in the topology.
    """

    def __init__(self, manager, file, template, worker, group):
        self._manager = manager
        self._file = file
        self._template = template
        self._worker = worker
        self._group = group
        self._claim = None

    def offer(self, agreement):
        """Each rank tells rank 0 which worker it is."""
        agreement.store.set(f"tributary/worker/{agreement.rank}", self._worker)

    def take(self, agreement):
        """Rank 0: {job, why_not, addresses}; RuntimeError if the manager cannot be asked."""
        workers = [agreement.wait_for(f"tributary/worker/{rank}", f"rank {rank} to say which worker it is")
                   for rank in range(agreement.size)]
        name = f"{re.sub('[^A-Za-z0-9_.-]', '-', self._group)[:_MOST_GROUP_LETTERS]}-{secrets.token_hex(4)}"
        request = fill_template(self._template, name, workers)
        self._claim = job = re.search(_NAME.format(re.escape(name)), request)[1]
        try:
            reply = self._wait(agreement, job, request)
        except ManagerError as error:
            self._cancel(str(error))
            if error.code not in _REFUSED:
                raise
            return {"job": None, "why_not": str(error)}
        except BaseException:
            self._cancel("its group was destroyed")
            raise
        addresses = {member["rank"]: member["address"] for member in reply["members"]}
        return {"job": reply["id"], "why_not": "", "addresses": [addresses[rank] for rank in range(agreement.size)]}

    def _wait(self, agreement, job, request):
        known_since = None
        end = time.monotonic() + agreement.timeout_s
        while True:
            try:
                return self._manager.wait(job, request, self._file, _PIECE_S)
            except ManagerError as error:
                if error.code != "DEADLINE_EXCEEDED" or time.monotonic() > end:
                    raise
            agreement.check_cancelled("the manager")
            reason = self._manager.waits_for(job)
            if reason is None:
                known_since = None
                continue
            known_since = known_since or time.monotonic()
            if time.monotonic() > known_since + _ROOM_S:
                raise ManagerError(_REFUSED[0], f"job {job} does not run after {_ROOM_S} s: waits for {reason}")

    def address(self, found, rank):
        """Where this rank joins."""
        return found["addresses"][rank]

    def release(self):
        """The job ends."""
        self._cancel("its group has ended")

    def _cancel(self, reason):
        job, self._claim = self._claim, None
        if job is not None:
            self._manager.cancel(job, reason)
