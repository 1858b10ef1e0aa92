"""tributary-loadgen against the real switch: a fixed number of ops, every result verified."""

import contextlib
import json
import signal

import pytest
import yaml
from testbed.namespace import Namespace, add_veth
from testbed.process import Process
from testbed.tree import binary, build_directory

LIMIT_S = 60
OPS = 150
CHUNKS = 16  # of an op, which is the default
MEMIF = '"net_memif{0},id={0},socket={1}/memif.sock,socket-abstract=no,rsize=10,role=server"'


def _program(name):
    return binary(build_directory(), name)


class Stress:
    """A switch with `ports`, its configuration, and runs of the generator against it."""

    def __init__(self, loop, stack, directory, ports, jobs, slots=4096, namespace=None):
        self.loop = loop
        self._directory = directory
        self._namespace = namespace
        self._runs = 0
        self.config = directory / "switch.yaml"
        lines = ["switch:", "  address: 10.77.0.254", f"  slots: {slots}",
                 "  memory: {megabytes: 128}", "ports:"]
        lines += [f"  - {{name: p{i}, devargs: {devargs}}}" for i, devargs in enumerate(ports)]
        lines += ["jobs:", *(f"  - {{{job}}}" for job in jobs)]
        lines += [f"control: {{socket: {directory}/control.sock}}"]
        self.config.write_text("\n".join(lines) + "\n")
        argv = [_program("tributary-switchd"), "--config", self.config]
        self.switch = stack(Process(loop, "switch", argv, directory / "switch.log", namespace))
        self.switch.wait_line("^ready", LIMIT_S)

    def start(self, *options, config=None):
        self._runs += 1
        report = self._directory / f"report{self._runs}.json"
        argv = [_program("tributary-loadgen"), "--config", config or self.config, "--json", report]
        process = Process(self.loop, f"loadgen{self._runs}", [*argv, *options],
                          self._directory / "loadgen.log", self._namespace)
        return process, report

    def run(self, *options, status=0, **where):
        """The report of a run that ends with this status."""
        process, report = self.start(*options, **where)
        with process:
            assert process.wait_exit(LIMIT_S) == status, process.describe()
        return json.loads(report.read_text())

    def part(self, name, ports, jobs):
        """A configuration of these ports and jobs alone: their generator leaves the others' ends to another one."""
        whole = yaml.safe_load(self.config.read_text())
        path = self._directory / f"{name}.yaml"
        path.write_text(yaml.safe_dump({**whole, "ports": [whole["ports"][i] for i in ports],
                                        "jobs": [whole["jobs"][i] for i in jobs]}))
        return path

    def show(self, what, *options):
        return self.client("show", what, *options)

    def client(self, *words):
        """What `tributary` says; it must succeed."""
        argv = [_program("tributary"), *words, "--socket", self._directory / "control.sock"]
        with Process(self.loop, words[0], argv, self._directory / f"{words[0]}.log") as process:
            process.check_exit(LIMIT_S)
            return process.text()


@pytest.fixture
def stress(loop, tmp_path):
    with contextlib.ExitStack() as stack:

        def make(ports, jobs, **options):
            return Stress(loop, stack.enter_context, tmp_path, ports, jobs, **options)

        yield make


@pytest.fixture
def memif(stress, tmp_path):
    """So many memif ports, and jobs."""

    def make(ports, *jobs, **options):
        return stress([MEMIF.format(i, tmp_path) for i in range(ports)], jobs, **options)

    return make


def expect_all(report, workers, ops=OPS):
    total = report["total"]
    assert total["results_verified"] == workers * ops * CHUNKS, total
    assert total["results_wrong"] == 0 and report["status"] == 0, total


def test_every_result_is_verified(memif):
    report = memif(4, "id: 1, workers: 4, shards: 2").run("--ops", OPS)
    expect_all(report, 4)
    latency = report["total"]["latency_us"]
    assert 0 < latency["p50"] <= latency["p99"] <= latency["p999"] <= latency["max"]
    assert report["total"]["goodput_gbytes_per_s"] > 0


def test_memif_over_dpdks_driver(memif, tmp_path):
    """An end that is given is DPDK's; one that follows from the configuration needs no driver."""
    bed = memif(2, "id: 1, workers: 2")
    client = MEMIF.format(0, tmp_path).strip('"').replace("role=server", "role=client")
    expect_all(bed.run("--ops", OPS, "--lose", "0.5%", "--port", f"p0={client}"), 2)


def test_a_port_whose_rank_is_missed_is_down_and_others_listen(memif, tmp_path):
    """C1: a server of memif without a peer is no fault until a rank behind it is in an epoch."""
    members = "members: [{rank: 0, port: p0}, {rank: 1, port: p1}]"
    bed = memif(3, f"id: 1, workers: 2, lease: 3600s, {members}")

    def links():
        return [row["link"] for row in json.loads(bed.show("ports", "--json"))]

    assert links() == ["listening"] * 3
    ends = [f"--port=p{i}=" + MEMIF.format(i, tmp_path).strip('"').replace("role=server", "role=client")
            for i in range(2)]
    process, _ = bed.start("--duration", "1000s", *ends, config=bed.part("two", [0, 1], [0]))
    with process:
        bed.loop.wait(lambda: json.loads(bed.show("jobs", "--json"))[0]["completions"] > 0, LIMIT_S, "ops are done")
        assert links() == ["up", "up", "listening"]
        process.signal(signal.SIGKILL)
        process.wait_exit(LIMIT_S)
        bed.loop.wait(lambda: "up" not in links(), LIMIT_S, "the peers have gone")
        assert links() == ["down", "down", "listening"]


def test_a_switch_that_is_not_there_is_named(memif):
    bed = memif(2, "id: 1, workers: 2")
    bed.switch.signal(signal.SIGTERM)
    bed.switch.wait_exit(LIMIT_S)
    process, _ = bed.start("--ops", 1, "--join-timeout", "300ms")
    with process:
        assert process.wait_exit(LIMIT_S) == 1, process.describe()
        assert "port p0" in "\n".join(process.stderr) and "memif.sock" in "\n".join(process.stderr)


def test_plain_traffic_comes_from_every_port(memif):
    bed = memif(3, "id: 1, workers: 2")
    report = bed.run("--ops", OPS, "--l2", "100k", "--l2-macs", "12")
    l2 = report["l2"]
    assert 0 < l2["received"] <= l2["sent"] and l2["damaged"] == 0, l2
    # The third port has no worker.
    received = [row["rx_packets"] for row in json.loads(bed.show("ports", "--json"))]
    assert received[2] > l2["sent"] / 6, (received, l2)
    for wrong in (["--l2-macs", "2"], ["--l2-bytes", "9000"]):
        process, _ = bed.start("--ops", OPS, "--l2", "1k", *wrong)
        with process:
            assert process.wait_exit(LIMIT_S) == 1, process.describe()
            assert "--l2" in "\n".join(process.stderr)


def test_plain_traffic_of_some_ports_stays_there(memif):
    bed = memif(4, "id: 1, workers: 2")
    report = bed.run("--duration", "300ms", "--rate", "3200", "--l2", "100k", "--l2-macs", "12",
                     "--l2-port", "p2", "--l2-port", "p3")
    l2 = report["l2"]
    assert 0 < l2["received"] <= l2["sent"] and l2["damaged"] == l2["elsewhere"] == 0, l2
    sent = [row["rx_packets"] for row in json.loads(bed.show("ports", "--json"))]
    assert sent[2] + sent[3] >= l2["sent"] > 2 * (sent[0] + sent[1]), (sent, l2)


def test_jobs_have_rates_of_their_own(memif):
    """One as fast as it can be, the other at a hundred ops a second."""
    bed = memif(2, "id: 1, workers: 2", "id: 2, workers: 2")
    report = bed.run("--duration", "1s", "--job-rate", "2:3200")
    fast, slow = (job["ops"] for job in report["jobs"])
    assert 0 < slow < fast / 4, (fast, slow)
    process, _ = bed.start("--ops", 1, "--job", 1, "--job-rate", "2:3200")
    with process:
        assert process.wait_exit(LIMIT_S) == 1, process.describe()
        assert "job 2" in "\n".join(process.stderr)


def test_faults_of_all_kinds_change_no_result(memif):
    """Loss both ways, duplicates, malformed and foreign packets, a late rank, plain traffic."""
    bed = memif(4, "id: 1, workers: 4")
    report = bed.run("--ops", OPS, "--lose", "1%", "--duplicate", "2%", "--garbage", "5%",
                     "--late", "2:1ms", "--l2", "5k", "--dtype", "int32")
    expect_all(report, 4)
    faults = report["total"]["faults"]
    assert min(faults[k] for k in ("lost_sent", "lost_received", "duplicated", "garbage")) > 0
    assert report["total"]["resends"] > 0 and report["total"]["probes"] > 0
    assert report["l2"]["received"] > 0 and report["l2"]["damaged"] == 0
    drops = bed.show("drops")
    for reason in ("bad-version", "checksum", "unknown-job", "stale-epoch", "beyond-window"):
        assert reason in drops, drops


def test_wrong_data_is_found(memif):
    """The check can fail: a worker that sends other data than it should makes every rank see it."""
    report = memif(2, "id: 1, workers: 2").run("--ops", OPS, "--falsify", "0.5%", status=2)
    total = report["total"]
    assert total["faults"]["falsified"] > 0
    assert 0 < total["results_wrong"] <= 2 * total["faults"]["falsified"]
    assert report["jobs"][0]["first_wrong"].startswith("job 1 rank ")


def test_many_jobs_that_collide(memif):
    """Dynamic jobs share fewer slots than they have chunks in flight; nothing mixes (O1, O7)."""
    jobs = [f"id: {i}, workers: 2, slots: dynamic, window: 16" for i in range(1, 9)]
    bed = memif(2, *jobs, slots=16)
    report = bed.run("--ops", OPS)
    expect_all(report, 2 * len(jobs))
    assert [job["results_verified"] for job in report["jobs"]] == [2 * OPS * CHUNKS] * len(jobs)
    rows = json.loads(bed.show("jobs", "--json"))
    assert sum(row["collisions"] for row in rows) > 0, "none collided"


def test_jobs_that_keep_colliding_are_judged(memif):
    """O7: eight windows of 16 in a pool of 16 slots; the operator is told once, with the remedy."""
    jobs = [f"id: {i}, workers: 2, slots: dynamic, window: 16" for i in range(1, 9)]
    bed = memif(2, *jobs, slots=16)
    process, _ = bed.start()
    with process:
        bed.loop.wait(lambda: any(row["verdict"] == "enlarge"
                                  for row in json.loads(bed.show("collisions", "--json"))),
                      LIMIT_S, "a verdict")
        process.signal(signal.SIGINT)
        assert process.wait_exit(LIMIT_S) == 0, process.describe()
    assert "raise switch.slots by" in bed.show("events")


def test_crc32c_and_jumbo_chunks(stress, tmp_path):
    port = MEMIF.replace("rsize=10", "rsize=10,bsize=9728") + ", mtu: 9000"
    bed = stress([port.format(i, tmp_path) for i in range(2)],
                 ["id: 1, workers: 2, chunk_bytes: 8192, integrity: crc32c"])
    expect_all(bed.run("--ops", OPS, "--lose", "0.5%"), 2)


def test_a_signal_ends_it_with_a_report_and_the_switch_is_told(memif):
    bed = memif(2, "id: 1, workers: 2, lease: 60s")
    process, report = bed.start()
    with process:
        # The first line of progress: it runs.
        bed.loop.wait(lambda: any("contributions/s" in text for text in process.stderr), LIMIT_S,
                       "the generator runs")
        process.signal(signal.SIGINT)
        assert process.wait_exit(LIMIT_S) == 0, process.describe()
    report = json.loads(report.read_text())
    assert report["interrupted"] and report["total"]["results_verified"] > 0
    # It has left, though the lease is long.
    assert json.loads(bed.show("jobs", "--json"))[0]["present"] == 0
    expect_all(bed.run("--ops", OPS, "--join-timeout", "20s"), 2)


def test_ranks_that_never_come_fail_it(memif):
    bed = memif(2, "id: 1, workers: 2, members: [{rank: 1, port: p0}]")
    # The generator's own file has the rank behind another port than the switch's.
    bed.config.write_text(bed.config.read_text().replace("port: p0", "port: p1"))
    report = bed.run("--ops", 1, "--join-timeout", "300ms", status=1)
    assert "waiting for rank 1" in " ".join(report["jobs"][0]["failures"]), report["jobs"]


def test_kernel_interfaces(stress):
    """The same over af_packet, whose other ends are named; both ends in one namespace."""
    with Namespace() as here:
        for i in range(2):
            add_veth(here, f"ve{i}", here, f"wo{i}", mtu=1500)
        bed = stress([f'"net_af_packet{i},iface=ve{i}"' for i in range(2)],
                     ["id: 1, workers: 2"], namespace=here)
        ends = [word for i in range(2) for word in ("--port", f"p{i}=net_af_packet{i},iface=wo{i}")]
        expect_all(bed.run("--ops", OPS, "--lose", "0.5%", *ends), 2)


def test_vhost_user(stress, tmp_path):
    bed = stress([f'"net_vhost{i},iface={tmp_path}/v{i}"' for i in range(2)], ["id: 1, workers: 2"])
    expect_all(bed.run("--ops", OPS, "--duplicate", "1%"), 2)


@pytest.mark.parametrize("ports", ["memif", "vhost"])
def test_a_switch_that_was_killed_starts_again(stress, tmp_path, ports):
    """C1: what it left at its ports' sockets is no hindrance."""
    vhost = [f'"net_vhost{i},iface={tmp_path}/v{i}"' for i in range(2)]
    devices = vhost if ports == "vhost" else [MEMIF.format(i, tmp_path) for i in range(2)]
    bed = stress(devices, ["id: 1, workers: 2"])
    bed.switch.signal(signal.SIGKILL)
    bed.switch.wait_exit(LIMIT_S)
    assert list(tmp_path.glob("v0" if ports == "vhost" else "memif.sock")), "it left nothing"
    expect_all(stress(devices, ["id: 1, workers: 2"]).run("--ops", OPS), 2)


@pytest.mark.parametrize("ports", ["memif", "vhost"])
def test_peers_that_are_killed_come_again(stress, tmp_path, ports):
    """Twice, in the middle of their traffic; the switch runs on."""
    vhost = [f'"net_vhost{i},iface={tmp_path}/v{i}"' for i in range(2)]
    devices = vhost if ports == "vhost" else [MEMIF.format(i, tmp_path) for i in range(2)]
    bed = stress(devices, ["id: 1, workers: 2, lease: 1s"])
    for _ in range(2):
        process, _ = bed.start("--duration", "1h")
        with process:
            bed.loop.wait(lambda p=process: any("contributions/s" in text for text in p.stderr),
                          LIMIT_S, "the generator runs")
            process.signal(signal.SIGKILL)
            process.wait_exit(LIMIT_S)
        expect_all(bed.run("--ops", OPS, "--join-timeout", "30s"), 2)
    assert bed.switch.running


def test_a_vhost_port_is_opened_again_beside_traffic(stress, tmp_path):
    """C1, O1: with a peer and without; who comes anew finds it, and another job's ports lose nothing."""
    vhost = [f'"net_vhost{i},iface={tmp_path}/v{i}"' for i in range(2, 4)]
    bed = stress([*(MEMIF.format(i, tmp_path) for i in range(2)), *vhost],
                 ["id: 1, workers: 2, members: [{rank: 0, port: p0}, {rank: 1, port: p1}]",
                  "id: 2, workers: 2, lease: 1s, members: [{rank: 0, port: p2}, {rank: 1, port: p3}]"])
    first, second = bed.part("first", (0, 1), (0,)), bed.part("second", (2, 3), (1,))

    def wait_traffic(process):
        bed.loop.wait(lambda: any("contributions/s" in text for text in process.stderr), LIMIT_S, process.name)

    steady, report = bed.start("--duration", "1h", config=first)
    with steady:
        wait_traffic(steady)
        for _ in range(3):
            peers, _ = bed.start("--duration", "1h", config=second)
            with peers:
                wait_traffic(peers)
                for change in (("v3", "v3,queues=1"), ("v3,queues=1", "v3")):
                    bed.config.write_text(bed.config.read_text().replace(*change))
                    assert bed.client("reload").strip() == "changed: ports[3].devargs"
                peers.signal(signal.SIGKILL)
                peers.wait_exit(LIMIT_S)
            expect_all(bed.run("--ops", OPS, "--join-timeout", "30s", config=second), 2)
        steady.signal(signal.SIGTERM)
        assert steady.wait_exit(LIMIT_S) == 0, steady.describe()
    total = json.loads(report.read_text())["total"]
    assert total["results_wrong"] == 0 and total["results_verified"] > 0
    drops = [row for row in json.loads(bed.show("drops", "--json")) if row["port"] in ("p0", "p1")]
    assert not drops, drops


@pytest.mark.parametrize("words, why", [
    (("--port", "p9=net_null0"), "no port 'p9'"),
    (("--job", "5"), "no job 5"),
])
def test_mistakes_are_named(memif, words, why):
    process, _ = memif(2, "id: 1, workers: 2").start("--ops", 1, *words)
    with process:
        assert process.wait_exit(LIMIT_S) == 1
        assert why in "\n".join(process.stderr)
