"""A real Prometheus, with the files that are shipped, scrapes a real switch and a real telemetry server: dashboards
and alerts show what has happened there."""

import contextlib
import json
import re
import shutil
import signal
import struct

import pytest
import yaml
from test_telemetry import LEAF, ROOT, STEPS, two_switches
from testbed.fabric import SWITCH_ADDRESS
from testbed.process import Process
from testbed.switch import Job
from testbed.tree import TOP

SHIPPED = TOP / "packaging/prometheus"
BOARDS = TOP / "packaging/grafana"
TARGET = "127.0.0.1:9400"
TELEMETRY = "127.0.0.1:9476"
LIMIT_S = 50
LATE = 2
ABORTS = 3
IDLE = 4  # a port without a rank
STRANGE, DAMAGED, LOST = 3, 2, 4  # datagrams for the telemetry server
# Expressions that show only what must not happen.
SILENT = {"rate(tributary_handover_full_total"}
JOBS = [
    Job(1, 3, (("deadline", "1s"), ("on_deadline", "escalate"), ("stragglers", {"degraded_after": "1s"}))),
    Job(2, 2, (("lease", "1s"), ("planes", 1))),
]


class Prometheus:
    """Scrapes once a second, which is the only thing that the shipped files have otherwise."""

    def __init__(self, bed, namespace):
        self._bed = bed
        self._namespace = namespace
        folder = bed.run / "prometheus"
        folder.mkdir()
        shutil.copy(SHIPPED / "tributary.rules.yml", folder)
        config = yaml.safe_load((SHIPPED / "prometheus.yml").read_text(encoding="utf-8"))
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        self.process = Process(
            bed.loop, "prometheus",
            ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
             "--web.listen-address=127.0.0.1:9090", "--log.level=warn"],
            bed.run / "prometheus.log", namespace=namespace)

    def _ask(self, what, *parameters):
        answer = json.loads(self._namespace.run(
            ["curl", "-s", "--retry", "50", "--retry-connrefused", "--retry-delay", "1", "-G",
             f"http://127.0.0.1:9090/api/v1/{what}", *parameters]))
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression):
        """Samples: labels, less the name, and the value."""
        found = self._ask("query", "--data-urlencode", f"query={expression}")["result"]
        return [({k: v for k, v in row["metric"].items() if k != "__name__"}, float(row["value"][1]))
                for row in found]

    def wait(self, expression, what):
        """Its samples, once there are some."""
        found = []

        def there():
            found[:] = self.query(expression)
            return found

        self._bed.loop.wait(there, LIMIT_S, what)
        return found

    def check_shows(self, board, texts):
        """Each expression of the dashboard has data, but for those of what must not happen."""
        for text in texts:
            if any(text.startswith(start) for start in SILENT):
                assert not self.query(text), text
            else:
                self.wait(text, f"{board} shows {text}")

    def rules(self):
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]

    def firing(self):
        return {(alert["labels"]["alertname"], alert["annotations"]["summary"])
                for alert in self._ask("alerts")["alerts"] if alert["state"] == "firing"}


def expressions(board, instance=TARGET):
    """Of a dashboard, with Grafana's variables in place; the range is as long as the test."""
    shown = json.loads((BOARDS / f"tributary-{board}.json").read_text(encoding="utf-8"))
    for panel in shown["panels"]:
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "10m").replace("$instance", instance)
            yield text.replace("$tributary_job", "1").replace("$node", ".*")


@pytest.fixture
def scraped(make_bed):
    bed = make_bed("veth", 5, jobs=JOBS, metrics=TARGET, lcores=[-1, -1])
    with contextlib.closing(contextlib.ExitStack()) as stack:
        prometheus = Prometheus(bed, bed.fabric.switch_namespace)
        stack.enter_context(prometheus.process)
        prometheus.wait(f'up{{job="tributary", instance="{TARGET}"}} == 1', "the switch is scraped")
        yield bed, prometheus


def plant_late_rank(bed, launch, gate):
    """An op of job 1 ends without its last rank, whose data comes later."""
    op = {"do": "allreduce", "count": 1000, "dtype": "int32", "seed": 1}
    workers = launch(bed).start(
        lambda rank: ([gate.step] if rank == LATE else []) + [op, {"do": "barrier"}, op], ports=[0, 1, LATE])
    for worker in workers[:LATE]:
        worker.wait_event("progress")
    gate.open()
    for worker in workers:
        worker.finish()


def plant_aborts(bed, launch):
    """Epochs of job 2 that end because a rank is killed."""
    op = {"do": "allreduce", "count": 1000, "dtype": "int32", "repeat": 10**6}
    for _ in range(ABORTS):
        ranks = launch(bed).start([op], job=2, ports=[0, 1])
        for rank in ranks:
            rank.wait_event("progress")
        ranks[1].process.signal(signal.SIGKILL)
        ranks[0].fail()


def plant_drops(bed):
    text = f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x' * 100, ('{SWITCH_ADDRESS}', 47000))"
    bed.start("junk", ["/usr/bin/python3", "-c", text], rank=0).check_exit(LIMIT_S)


def test_c5_dashboards_and_alerts_show_what_has_happened(scraped, launch, gate):
    bed, prometheus = scraped
    plant_late_rank(bed, launch, gate)
    plant_aborts(bed, launch)
    plant_drops(bed)
    bed.fabric.namespace(IDLE).run(["ip", "link", "set", "dev", "eth0", "down"])

    said = "an epoch of job 2 was aborted: lease-expired"
    bed.loop.wait(lambda: ("TributaryEpochAborted", said) in prometheus.firing(), LIMIT_S, "the alert of the aborts")
    aborts = f'tributary_job_aborts_total{{instance="{TARGET}", job="tributary", job_id="2"}}'
    bed.loop.wait(lambda: sum(value for _, value in prometheus.query(aborts)) == ABORTS, LIMIT_S, "all aborts")
    assert prometheus.query(f'sum(tributary_job_aborts_total{{job_id="1"}})')[0][1] == 0
    bed.loop.wait(lambda: {name for name, _ in prometheus.firing()} ==
                  {"TributaryEpochAborted", "TributaryDegradedResults"}, LIMIT_S, "the alerts that fire")
    for rule in prometheus.rules():
        assert rule["health"] == "ok", rule
    assert not prometheus.query('{exported_job!=""} or {exported_instance!=""}'), "labels of Prometheus' own"

    completions = sum(row["completions"] for row in bed.switch.show("jobs") if row["job"] == 1)
    assert completions > 0
    prometheus.wait(f'sum(tributary_job_completions_total{{job_id="1", job_name="job1"}}) == {completions}',
                    "all results are scraped")
    asked = {board: list(expressions(board)) for board in ("overview", "job", "stragglers", "internals")}
    for board, texts in asked.items():
        prometheus.check_shows(board, texts)
    increase = next(text for text in asked["overview"] if text.startswith("increase(tributary_job_aborts_total"))
    counted = {(labels["job_id"], labels["reason"]): round(value) for labels, value in prometheus.query(increase)}
    assert counted == {("2", "lease-expired"): ABORTS}
    down = next(text for text in asked["overview"] if re.match(r"tributary_port_link_up\{.*\} == 0", text))
    assert [labels["port"] for labels, _ in prometheus.wait(down, "the port is down")] == [f"w{IDLE}"]


def with_capacities(path):
    """Ports to workers say their capacity, without which their utilisation is unknown."""
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    for switch in tree["switches"]:
        ports = [worker["port"] for worker in tree["workers"] if worker["switch"] == switch["name"]]
        switch["telemetry"] = {"ports": [{"port": port, "mbps": 10_000} for port in ports]}
    path.write_text(yaml.safe_dump(tree, sort_keys=False), encoding="utf-8")
    return path


class Reports:
    """Datagrams for a telemetry server, from the host of a registered switch and from elsewhere."""

    def __init__(self, bed):
        self._bed = bed
        self._to = bed.topology.switches["A"]["telemetry"]["report_to"].split(":")

    def send(self, node, *datagrams):
        """`node`: a switch or a worker, or None for the server's own host."""
        script = ("import socket, sys; s = socket.socket(type=socket.SOCK_DGRAM); "
                  f"[s.sendto(bytes.fromhex(d), ({self._to[0]!r}, {self._to[1]})) for d in sys.argv[1:]]")
        namespace = self._bed.telemetry.namespace if node is None else self._bed.namespace(node)
        namespace.run(["/usr/bin/python3", "-c", script, *(datagram.hex() for datagram in datagrams)])


def group(sequence, version=2, hardware=63):
    """The head of a datagram of the leaf's reports, with none; of a packet loop that it does not have."""
    return struct.pack(">II", version << 28 | hardware << 22 | sequence, LEAF)


def plant_bad_reports(reports, prometheus):
    """Datagrams of no registered switch, damaged ones, and a gap in the numbers."""
    reports.send(None, *[group(0)] * STRANGE)
    reports.send("A", group(1), *[group(1, version=15)] * DAMAGED)
    lost = f'tributary_telemetry_lost_total{{node="{LEAF}", hardware="63"}}'
    prometheus.wait(f"{lost} == 0", "a series that can grow")
    reports.send("A", group(2 + LOST))
    prometheus.wait(f"{lost} == {LOST}", "lost datagrams")


def test_c5_the_telemetry_dashboard_shows_what_switches_report(make_tree, launch_tree, tmp_path):
    bed = make_tree(with_capacities(two_switches(tmp_path)), telemetry=1, telemetry_http=TELEMETRY)
    with contextlib.closing(contextlib.ExitStack()) as stack:
        prometheus = Prometheus(bed, bed.telemetry.namespace)
        stack.enter_context(prometheus.process)
        prometheus.wait(f'up{{job="tributary", instance="{TELEMETRY}"}} == 1', "the telemetry server is scraped")
        for worker in launch_tree(bed).start([{**STEPS[0], "repeat": 10**6}]):  # to the end of the test
            worker.wait_event("progress")
        plant_bad_reports(Reports(bed), prometheus)

        asked = list(expressions("telemetry", TELEMETRY))
        prometheus.check_shows("telemetry", asked)
        shown = {text: prometheus.query(text) for text in asked}

        def values(start):
            (text,) = [text for text in asked if text.startswith(start)]
            return shown[text]

        flows = len(bed.telemetry.page("flows"))
        prometheus.wait(f"tributary_telemetry_flows == {flows}", "as many flows as the server says")
        for name, count in (("unregistered", STRANGE), ("malformed", DAMAGED)):
            assert prometheus.query(f"tributary_telemetry_{name}_total")[0][1] == count
        refused = {labels["reason"]: value for labels, value in values("rate(tributary_telemetry_refused_total")}
        assert refused.pop("unregistered") > 0 and not any(refused.values()), refused
        assert values("rate(tributary_telemetry_malformed_total")[0][1] > 0
        lost = {labels["node"]: value for labels, value in values("sum by (node) (rate(tributary_telemetry_lost_total")}
        assert lost[str(LEAF)] > 0 and lost[str(ROOT)] == 0, lost
        told = {labels["node"] for labels, value in values("sum by (node) (rate(tributary_telemetry_hop_reports_total")
                if value > 0}
        assert told == {str(ROOT), str(LEAF)}
        ways = {(labels["from"], labels["to"]) for labels, value in values("tributary_telemetry_path_latency_seconds")
                if value > 0}
        assert ways == {("root", name) for name in bed.topology.workers}
        # Nothing moved, was dropped or went wrong otherwise.
        for start in ("increase(tributary_telemetry_path_moves", "topk(10, rate(tributary_telemetry_hop_dropped",
                      "rate(tributary_telemetry_overrun", "rate(tributary_telemetry_bad_packets",
                      "rate(tributary_telemetry_refused_links", "rate(tributary_telemetry_history_missed",
                      "rate(tributary_telemetry_history_failed"):
            assert {value for _, value in values(start)} == {0}, start
        assert values("rate(tributary_telemetry_history_rows_total")[0][1] > 0
