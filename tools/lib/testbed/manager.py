"""The manager of a tree on one machine: tributary-managerd, an agent that speaks for every switch, and what
the client says. Control sockets are paths, so both run outside the switches' namespaces.
"""

import json
import subprocess

from .process import Process
from .tree import binary

_READY_S = 60
_ANSWER_S = 10
# For jobs that come later, of a switch whose file reserves nothing.
_RESERVE_MEGABYTES = 16
_TENANTS = "tenants: [{name: default}]\n"


def prepare(topology):
    """Leaves to the manager which jobs there are, and room for them."""
    topology.tree.pop("jobs", None)
    topology.jobs.clear()
    for switch in topology.switches.values():
        memory = switch.setdefault("memory", {})
        memory["reserve_megabytes"] = memory.get("reserve_megabytes") or _RESERVE_MEGABYTES


class ManagerRefused(Exception):
    """The client failed; the text is its error."""


class Manager:
    """The manager and the agent of one bed, started when its switches run."""

    def __init__(self, bed, enter):
        self._bed = bed
        self.address = f"unix:{bed.run / 'manager.sock'}"
        (bed.run / "tenants.yaml").write_text(_TENANTS)
        self._start(enter, "tributary-managerd", "--store", f"sqlite:{bed.run / 'manager.db'}",
                    "--topology", bed.run / "topology.yaml", "--tenants", bed.run / "tenants.yaml",
                    "--socket", bed.run / "manager.sock", "--http", "127.0.0.1:0")
        sockets = [word for name in bed.topology.switches for word in ("--switch", bed.socket(name))]
        self._start(enter, "tributary-agentd", "--manager", self.address, "--state", bed.run / "agent", *sockets)

    def _start(self, enter, name, *arguments):
        command = [binary(self._bed.build, name), *arguments]
        process = Process(self._bed.loop, name, command, self._bed.run / f"{name}.log")
        enter(process)
        process.wait_line("^ready", _READY_S)

    def _job(self, name):
        command = [binary(self._bed.build, "tributary"), "job", "show", name, "--json", "--manager", self.address]
        try:
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=_ANSWER_S, check=False)
        except subprocess.TimeoutExpired:
            raise ManagerRefused("the manager does not answer") from None
        if done.returncode != 0:
            raise ManagerRefused(done.stderr.strip())
        return json.loads(done.stdout)

    def ranks(self, name):
        """Id and number of workers of a job that runs, and {rank: worker}."""
        job = self._job(name)
        if job["state"] != "RUNNING":
            raise ManagerRefused(f"job {name} is {job['state'].lower()}: tributary job show {name} says why")
        return job["id"], job["workers"], {member["rank"]: member["worker"] for member in job["members"]}
