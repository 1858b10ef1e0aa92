"""A topology file (docs/configuration/trees.md) as the testbed needs it.

Only what cables take is read here; tributary-switchd checks the file before anything is built.
"""

from dataclasses import dataclass

import yaml


class TopologyError(Exception):
    """The file is good, but cannot run on one machine; the text says why."""


@dataclass(frozen=True)
class Cable:
    """From a switch's port down to a worker, a parameter server or another switch's uplink."""

    switch: str
    port: str
    below: str
    uplink: str  # the lower switch's own port; empty for other nodes
    mtu: int
    other: bool = False  # not the way up that the file says first

    @property
    def name(self):
        return f"{self.switch}-{self.below}"


class Topology:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.tree = yaml.safe_load(file)
        if "switches" not in self.tree:
            raise TopologyError(f"{path} is a single switch's file; allowed: a topology")
        self.switches = {s["name"]: s for s in self.tree["switches"]}
        self.workers = {w["name"]: w for w in self.tree.get("workers") or []}
        self.servers = {s["name"]: s for s in self.tree.get("servers") or []}
        self.jobs = {j["id"]: j for j in self.tree.get("jobs") or []}
        clash = sorted((self.switches.keys() | self.servers.keys()) & self.workers.keys())
        if clash:
            raise TopologyError(f"{', '.join(clash)}: is the name of a worker and of another node")
        self.cables = [*self._cables_to_switches(), *self._cables_to_hosts()]
        taken = set()
        for cable in self.cables:
            if (cable.switch, cable.port) in taken:
                raise TopologyError(
                    f"port {cable.port} of {cable.switch} leads to several children: "
                    "the testbed has one cable a port"
                )
            taken.add((cable.switch, cable.port))

    def _cables_to_switches(self):
        for switch in self.switches.values():
            if switch.get("parent"):
                parent, port = switch["parent"], switch["parent_port"]
                yield Cable(parent, port, switch["name"], switch["uplink"], self.mtu(parent, port))
            for way in switch.get("other_uplinks") or []:
                parent, port = way["parent"], way["parent_port"]
                yield Cable(parent, port, switch["name"], way["uplink"], self.mtu(parent, port), True)

    def has_choices(self):
        """Whether some switch has several ways up."""
        return any(cable.other for cable in self.cables)

    def _cables_to_hosts(self):
        for host in [*self.workers.values(), *self.servers.values()]:
            mtu = self.mtu(host["switch"], host["port"])
            yield Cable(host["switch"], host["port"], host["name"], "", mtu)

    def add_cables(self, cables):
        for switch, port, below, uplink in cables:
            self.cables.append(Cable(switch, port, below, uplink, self.mtu(switch, port)))

    def port(self, switch, name):
        return next(p for p in self.switches[switch]["ports"] if p["name"] == name)

    def mtu(self, switch, port):
        return self.port(switch, port).get("mtu", 1500)

    def top_down(self):
        """Names of the switches, each after its parent."""
        names = []
        left = list(self.switches)
        while left:
            ready = [n for n in left if self.switches[n].get("parent", "") not in left]
            names += ready
            left = [n for n in left if n not in ready]
        return names

    def level(self, switch):
        """0 for the root."""
        parent = self.switches[switch].get("parent")
        return 0 if not parent else 1 + self.level(parent)

    def serving(self, worker):
        """The switch that a worker sends to: the next one above that aggregates."""
        return self._summing(self.switches[self.workers[worker]["switch"]])

    def summing_above(self, switch):
        """The name of the next switch above that aggregates."""
        return self._summing(self.switches[self.switches[switch]["parent"]])["name"]

    def _summing(self, switch):
        while not switch.get("aggregate", True):
            switch = self.switches[switch["parent"]]
        return switch

    def ranks(self, job):
        """{rank: worker's name} of a job."""
        entry = self.jobs[job]
        if entry.get("members"):
            return {m["rank"]: m["worker"] for m in entry["members"]}
        return dict(enumerate(list(self.workers)[: entry["workers"]]))
