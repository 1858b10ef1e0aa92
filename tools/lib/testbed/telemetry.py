"""In-band telemetry of a tree on one machine: tributary-telemetryd, and the way of the reports to it.

veth: the server has a namespace of its own, and a cable from every switch's namespace leads there, beside the
ports that switches forward between. memif: all of it is on the machine's loopback.
"""

import json
import sys

import yaml

from .namespace import Namespace, add_veth
from .process import Process
from .tree import binary

SERVER = "10.254.0.1"
_READY_S = 60
# Switches of one machine wait for its cores, which probes see as latency of links.
_LEAST_GAIN = "2ms"


class Telemetry:
    """In-band telemetry of one bed. `every`: one packet in so many of each job is sampled. `http`: where the server
    has its pages, in its namespace; None: at a free port."""

    def __init__(self, bed, every, http=None):
        self._bed = bed
        self._every = every
        self._http = http
        self.namespace = None
        self.http = None
        self._reports_from = {}

    def start(self, enter):
        """Starts the server, and adds to the topology what the switches need to know."""
        topology = self._bed.topology
        if self._bed.ports == "veth":
            self._cable(enter)
        for name, switch in topology.switches.items():
            switch["telemetry"] = {"node_id": switch["id"], **switch.get("telemetry", {})}
        for job in topology.jobs.values():
            job.setdefault("telemetry", {"latency": True, "bandwidth": True, "every": self._every})
        file = self._bed.run / "network.yaml"
        file.write_text(yaml.safe_dump(self._network(), sort_keys=False))
        host = SERVER if self.namespace else "127.0.0.1"
        command = [binary(self._bed.build, "tributary-telemetryd"), "--topology", file]
        command += ["--listen", f"{host}:0", "--http", self._http or f"{host}:0"]
        command += ["--history", self._bed.run / "history.db"]
        process = Process(self._bed.loop, "telemetryd", command, self._bed.run / "telemetryd.log",
                          namespace=self.namespace)
        self._process = enter(process)
        found = process.wait_line(r"UDP port (\d+) of .* HTTP port (\d+)", _READY_S)
        self.http = self._http or f"{host}:{found[2]}"
        for switch in topology.switches.values():
            switch["telemetry"].setdefault("report_to", f"{host}:{found[1]}")

    def stop(self):
        """Ends the server; switches go on."""
        self._process.stop()

    def _cable(self, enter):
        self.namespace = enter(Namespace())
        self.namespace.run(["ip", "link", "add", "reports", "type", "bridge"])
        self.namespace.run(["ip", "addr", "add", f"{SERVER}/16", "dev", "reports"])
        self.namespace.run(["ip", "link", "set", "reports", "up"])
        for number, name in enumerate(self._bed.topology.switches, start=2):
            there = self._bed.namespace(name)
            add_veth(self.namespace, f"s{number}", there, "reports", 1500, offloads=True)
            self.namespace.run(["ip", "link", "set", f"s{number}", "master", "reports"])
            address = f"10.254.{number >> 8}.{number & 255}"
            there.run(["ip", "addr", "add", f"{address}/16", "dev", "reports"])
            self._reports_from[name] = address

    def _network(self):
        """The file of tributary-telemetryd: the tree, and the paths from its root to the workers."""
        topology = self._bed.topology

        def index(switch, port):
            return [p["name"] for p in topology.switches[switch]["ports"]].index(port)

        nodes = [{"name": name, "id": switch["telemetry"]["node_id"],
                  "reports_from": self._reports_from.get(name, "127.0.0.1"),
                  "control": str(self._bed.socket(name))}
                 for name, switch in topology.switches.items()]
        hosts = [*topology.workers, *topology.servers]
        links = [{"from": cable.switch, "port": index(cable.switch, cable.port), "to": cable.below,
                  "port_there": index(cable.below, cable.uplink) if cable.uplink else 0}
                 for cable in topology.cables]
        root = next(name for name, switch in topology.switches.items() if not switch.get("parent"))
        trees = [{"switch": name, "to": topology.summing_above(name), "least_gain": _LEAST_GAIN,
                  "uplinks": [{"name": cable.uplink, "port": index(name, cable.uplink)}
                              for cable in topology.cables if cable.below == name]}
                 for name, switch in topology.switches.items() if switch.get("other_uplinks")]
        return {"nodes": [*nodes, *({"name": name} for name in hosts)], "links": links,
                "paths": self._paths(root, bool(trees)),
                **({"manager": {"address": f"unix:{self._bed.run / 'manager.sock'}"}} if self._bed.managed else {}),
                **({"trees": trees, "decide": {"at": "op-end"}} if trees else {})}

    def _paths(self, root, has_choice):
        """From the root to the workers. Where there are several ways, traffic between the root's own worker and
        others takes the best one."""
        workers = self._bed.topology.workers
        main = next((name for name, worker in workers.items() if has_choice and worker["switch"] == root), None)
        if main is None:
            return [{"from": root, "to": name} for name in workers]

        def path(start, end):
            return {"from": start, "to": end, "least_gain": _LEAST_GAIN}

        others = [name for name, worker in workers.items() if worker["switch"] != root]
        there = [{**path(main, name), "destinations": [workers[name]["address"]]} for name in others]
        return [*there, {**path(others[0], main), "destinations": [workers[main]["address"]]}]

    def client(self, *words):
        """The command of `tributary show` at the server, in its namespace if it has one."""
        return [binary(self._bed.build, "tributary"), "show", *words, "--telemetry", self.http]

    def page(self, name):
        """A JSON page of the server."""
        script = f"import urllib.request; print(urllib.request.urlopen('http://{self.http}/{name}').read().decode())"
        with Process(self._bed.loop, f"page {name}", [sys.executable, "-c", script],
                     self._bed.run / "client.log", namespace=self.namespace) as process:
            return json.loads(process.check_exit(_READY_S).text())

    def show(self, what):
        """The parsed output of `tributary show links` or `paths`."""
        with Process(self._bed.loop, f"show {what}", self.client(what, "--json"),
                     self._bed.run / "client.log", namespace=self.namespace) as process:
            return json.loads(process.check_exit(_READY_S).text())
