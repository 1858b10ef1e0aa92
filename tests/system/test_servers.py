"""Parameter servers (T10, O4): tributary-psd finishes what the switch does not, over the network.

Four workers and two servers, each behind a port of the switch. With quota 1 nearly every chunk finds no
slot (O8), so the servers sum nearly everything; with verify every sum passes through them.
"""

import json
import os
import random
import re
import signal

import pytest
import yaml
from testbed.fabric import SWITCH_ADDRESS, MemifFabric, free_address, worker_address
from testbed.process import Process
from testbed.switch import Job
from testbed.tree import PYTHON, binary

WORKERS = 4
STORM = (("slots", "dynamic"), ("quota", 1), ("verify", True), ("shards", 2), ("window", 32))
PATIENT = (("lease", "5s"), ("deadline", "20s"))
# Silence of a server after which another one is to follow: where a test awaits that.
SOON = "1s"
INTS = {"do": "allreduce", "count": 60_000, "dtype": "int32"}
FLOATS = {"do": "allreduce", "count": 60_000, "dtype": "float32"}


class Server:
    """A tributary-psd at a port of its own, or a worker's."""

    def __init__(self, bed, number, job, port=None, dpdk=None):
        self._bed, self._job, self._dpdk = bed, dict(job), dpdk or {"mtu": 9000}
        self.name = f"ps{number}"
        self._port = WORKERS + number if port is None else port
        self._starts = 0
        self.socket = bed.run / f"{self.name}.sock"
        self.process = None

    def write_file(self):
        names = ("integrity", "shards", "window", "arithmetic", "deadline", "on_deadline")
        names += ("stragglers", "notify")
        job = {"id": 1, "workers": WORKERS, "chunk_bytes": 8192, "root": SWITCH_ADDRESS}
        job.update({name: self._job[name] for name in names if name in self._job})
        config = {
            "server": {"name": self.name, "address": worker_address(self._port)},
            "jobs": [job],
            "control": {"socket": str(self.socket)},
        }
        if isinstance(self._bed.fabric, MemifFabric):
            devargs = self._bed.fabric.client(self._port)
            config["server"]["dpdk"] = {"devargs": devargs, **self._dpdk}
            self.metrics = free_address()  # all servers of memif share a network
            config["metrics"] = {"listen": self.metrics}
        else:
            config["metrics"] = {"listen": f"{worker_address(self._port)}:9400"}
        file = self._bed.run / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump(config, sort_keys=False))
        return file

    def start(self):
        file = self.write_file()
        self._starts += 1
        command = [binary(self._bed.build, "tributary-psd"), "--config", file]
        self.process = self._bed.start(f"{self.name}-{self._starts}", command, self._port)
        self.process.wait_line("^ready", 30)

    def kill(self):
        self.process.signal(signal.SIGKILL)
        self.process.wait_exit(30)

    def show(self, what):
        with Process(
            self._bed.loop,
            "tributary show",
            [binary(self._bed.build, "tributary"), "show", what, "--json"]
            + ["--socket", self.socket],
            self._bed.run / "server-client.log",
        ) as process:
            return json.loads(process.check_exit(30).text())

    def probe(self, page):
        """What a page for probes says, and its status."""
        command = ["curl", "-s", "-w", "%{http_code}", f"http://{self.metrics}/{page}"]
        return self._bed.start("probe", command).check_exit(30).text()

    def completions(self):
        return sum(row["completions"] for row in self.show("completion"))


@pytest.fixture
def make_servers(make_bed):
    def make(options, hosts=("ps0", "ps1", "root"), ports="veth", dpdk=None, lease="5s", **more):
        options = (("arithmetic", "modular"), *options, ("completion_hosts", list(hosts)))
        named = [
            {"name": f"ps{i}", "address": worker_address(WORKERS + i), "port": f"w{WORKERS + i}"}
            for i in range(2)
        ]
        bed = make_bed(
            ports,
            WORKERS + 2,
            jobs=[Job(1, WORKERS, options=options)],
            completion={"lease": lease, "hosts": named},
            **more,
        )
        return bed, [Server(bed, number, options, dpdk=dpdk) for number in range(2)]

    return make


def hosts(bed):
    return {row["shard"]: row["host"] for row in bed.switch.show("hosts")}


def wait_for_hosts(bed, names):
    def there():
        rows = bed.switch.show("hosts")
        alive = all(row["silent_ms"] is not None or row["host"] == "root" for row in rows)
        return alive and {row["host"] for row in rows} == set(names)

    bed.loop.wait(there, 30, f"hosts are {names}")


def start(bed, launch, steps):
    return launch(bed).start(steps, ports=list(range(WORKERS)))


@pytest.mark.parametrize("integrity", ["udp-checksum", "crc32c"])
def test_servers_sum_a_storm_of_collisions(make_servers, launch, integrity):
    bed, servers = make_servers((*STORM, ("integrity", integrity)))
    for server in servers:
        server.start()
    wait_for_hosts(bed, ["ps0", "ps1"])
    for worker in start(bed, launch, [{**INTS, "repeat": 4}, {**FLOATS, "repeat": 4}]):
        worker.finish()
    # O4: shared out by shard.
    assert all(server.completions() > 50 for server in servers)
    job = bed.switch.show("jobs")[0]
    assert job["escalations"] > 0 and job["host_results"] > 100, job
    assert sum(row["completions"] for row in bed.switch.show("completion")) == 0
    bed.loop.wait(
        lambda: all(row["bytes_held"] == 0 for s in servers for row in s.show("completion")),
        30,
        "the servers hold nothing any more",
    )
    assert {row["serving"] for server in servers for row in server.show("seats")} == {False}


@pytest.mark.parametrize("asking", [{0, 1, 2, 3}, {2}])
def test_o2_ranks_ask_for_the_server(make_servers, launch, asking):
    """Nobody collides, and the server makes every sum all the same, though one rank alone asks for that."""
    bed, servers = make_servers((), hosts=["ps0"])
    servers[0].start()
    wait_for_hosts(bed, ["ps0"])
    launcher = launch(bed)
    workers = [
        launcher.start_rank(rank, WORKERS, [INTS, FLOATS], at_host=rank in asking)
        for rank in range(WORKERS)
    ]
    for worker in workers:
        worker.finish()
    job = bed.switch.show("jobs")[0]
    assert job["completions"] == 0 and job["host_results"] == servers[0].completions() > 50, job
    singles = sum(row["singles"] for row in servers[0].show("completion"))
    assert singles >= len(asking) * servers[0].completions()
    if len(asking) == WORKERS:
        assert job["contributions"] == 0, "none of them in a slot"


def test_a_server_with_a_dpdk_port_sums_a_storm_and_is_followed(make_servers, launch):
    """Both over memif; one is killed in the middle, and comes back."""
    bed, servers = make_servers((*STORM, *PATIENT), ports="memif", lease=SOON)
    for server in servers:
        server.start()
    wait_for_hosts(bed, ["ps0", "ps1"])
    workers = start(bed, launch, [{**INTS, "repeat": 100}, {**FLOATS, "repeat": 4}])
    workers[0].wait_event("progress", 5)
    servers[0].kill()
    assert workers[0].process.running, "the ops were over before the kill was"
    for worker in workers:
        worker.finish()
    assert hosts(bed) == {0: "ps1", 1: "ps1"}
    assert bed.switch.show("jobs")[0]["aborts"] == 0
    servers[0].start()
    wait_for_hosts(bed, ["ps0", "ps1"])
    for worker in start(bed, launch, [FLOATS]):
        worker.finish()
    for server in servers:
        port = server.show("ports")[0]
        assert port["link"] == "up" and server.completions() > 0, port
        assert min(port["rx_packets"], port["tx_packets"]) > server.completions(), port
        lost = {row["reason"] for row in server.show("drops")}
        assert not lost & {"no-mbuf", "tx-full", "mtu-exceeded", "checksum", "frame-multi-segment"}
    servers[0].process.signal(signal.SIGTERM)
    assert servers[0].process.wait_exit(30) == 0, servers[0].process.describe()
    wait_for_hosts(bed, ["ps1"])


def test_c1_a_server_with_a_dpdk_port_cuts_and_puts_together(make_servers, launch):
    """Chunks of 8 KiB between a switch and servers whose ports carry 1,500 bytes, both over memif."""
    fragments = {"datagrams": 512, "timeout": "50ms"}
    bed, servers = make_servers(
        STORM,
        ports="memif",
        dpdk={"mtu": 1500, "fragments": fragments},
        fragments=fragments,
        port_options=[{}] * WORKERS + [{"mtu": 1500}] * 2,
    )
    for server in servers:
        server.start()
    wait_for_hosts(bed, ["ps0", "ps1"])
    for worker in start(bed, launch, [{**INTS, "repeat": 4}, {**FLOATS, "repeat": 4}]):
        worker.finish()
    job = bed.switch.show("jobs")[0]
    assert job["host_results"] > 100 and job["aborts"] == 0, job
    at_switch = {row["port"]: row for row in bed.switch.show("fragments")}
    for number, server in enumerate(servers):
        port, other_end = server.show("ports")[0], at_switch[f"w{WORKERS + number}"]
        assert port["put_together"] > server.completions() > 50, port
        assert port["cut"] > 50 and other_end["put_together"] > 50, (port, other_end)
        metrics = f"http://{server.metrics}/metrics"
        text = bed.start("scrape", ["curl", "-sf", metrics]).check_exit(30).text()
        for shown, name in (("put_together", "reassembled"), ("cut", "fragmented")):
            [exported] = re.findall(rf"^tributary_server_{name}_total (\d+)", text, re.MULTILINE)
            assert int(exported) >= port[shown], (exported, port)
        lost = {row["reason"] for row in server.show("drops")}
        assert not lost & {"frame-fragment", "mtu-exceeded", "fragment-overlap", "checksum"}, lost


def test_a_server_with_a_dpdk_port_outlives_its_switch(make_servers, launch):
    """It starts before the switch does, and stays when that is killed."""
    bed, servers = make_servers(STORM, hosts=["ps0"], ports="memif")
    bed.switch.stop()
    servers[0].start()
    assert servers[0].show("ports")[0]["link"] == "down"
    assert servers[0].probe("healthz") == "ok\n200"
    assert re.fullmatch(r"port \S+ has no link\n503", servers[0].probe("readyz"))
    for _ in range(2):
        bed.switch.start()
        wait_for_hosts(bed, ["ps0"])
        for worker in start(bed, launch, [INTS]):
            worker.finish()
        assert servers[0].probe("readyz") == "ok\n200"
        bed.switch.process.signal(signal.SIGKILL)
        bed.switch.process.wait_exit(30)
    assert servers[0].process.running


def test_t9_servers_notify_all_workers_themselves(make_servers, launch):
    """Nearly every result comes twice: from the server, and by the switch."""
    bed, servers = make_servers((*STORM, ("notify", "direct")))
    for server in servers:
        server.start()
    wait_for_hosts(bed, ["ps0"])
    workers = start(bed, launch, [{**INTS, "repeat": 4}, {**FLOATS, "repeat": 4}])
    for worker in workers:
        stats = worker.finish()
        assert stats["duplicate_results"] > 20, stats
    assert servers[0].completions() > 100
    assert bed.switch.show("jobs")[0]["aborts"] == 0


def test_t9_a_notifying_server_that_dies_ends_the_epoch(make_servers, launch):
    """Some rank may hold what nobody else knows: no other server decides those chunks."""
    bed, servers = make_servers((*STORM, *PATIENT, ("notify", "direct")), lease=SOON)
    for server in servers:
        server.start()
    wait_for_hosts(bed, ["ps0"])
    workers = start(bed, launch, [{**INTS, "repeat": 10_000}])
    workers[0].wait_event("progress", 3)
    servers[0].kill()
    for worker in workers:
        assert "completion hosts" in worker.fail()["text"]
    wait_for_hosts(bed, ["ps1"])
    for worker in start(bed, launch, [INTS]):
        worker.finish()


def test_rule21_a_server_decides_who_is_late(make_servers, launch, gate):
    """Three of four ranks end an op without the fourth, by the word of a process of its own."""
    allowed = (
        ("deadline", "1s"),
        ("on_deadline", "escalate"),
        ("stragglers", {"degraded_after": "1s"}),
    )
    late = WORKERS - 1
    bed, servers = make_servers(allowed, hosts=["ps0"])
    servers[0].start()
    wait_for_hosts(bed, ["ps0"])
    op = {"do": "allreduce", "count": 1000, "dtype": "int32", "seed": 1}  # one chunk
    workers = launch(bed).start(
        lambda rank: ([gate.step] if rank == late else []) + [op, {"do": "barrier"}],
        ports=list(range(WORKERS)),
    )
    first = [worker.wait_event("progress") for worker in workers if worker.rank != late]
    assert not workers[late].of("progress")
    gate.open()
    for worker in workers:
        worker.finish()
    assert late in first[0]["missing"]
    for worker in workers:
        result = worker.of("progress")[0]
        assert result["missing"] == first[0]["missing"] and result["exact"], result
        assert result["digest"] == first[0]["digest"], result
    (seat,) = servers[0].show("completion")
    assert seat["degraded"] >= 1 and seat["left_out"] >= 1, seat
    assert bed.switch.show("jobs")[0]["degraded_results"] >= 1


def test_t10_a_workers_process_hosts(make_bed, launch):
    """Rank 0's own process finishes what the switch does not, and goes when the rank goes."""
    options = (("arithmetic", "modular"), *STORM, ("completion_hosts", ["ps0"]))
    host = {"name": "ps0", "address": worker_address(0), "port": "w0"}
    bed = make_bed(
        "veth",
        WORKERS,
        jobs=[Job(1, WORKERS, options=options)],
        completion={"lease": "5s", "hosts": [host]},
    )
    file = Server(bed, 0, options, port=0).write_file()
    launcher = launch(bed)
    steps = [{**INTS, "repeat": 4}, {**FLOATS, "repeat": 4}, {"do": "barrier"}]
    workers = [
        launcher.start_rank(rank, WORKERS, steps, **({"host_config": str(file)} if rank == 0 else {}))
        for rank in range(WORKERS)
    ]
    for worker in workers:
        worker.finish()
    job = bed.switch.show("jobs")[0]
    assert job["host_results"] > 100 and job["aborts"] == 0, job
    assert sum(row["completions"] for row in bed.switch.show("completion")) == 0


def test_metrics_are_served(make_servers):
    bed, servers = make_servers(STORM)
    servers[0].start()
    url = f"http://{worker_address(WORKERS)}:9400/metrics"
    fetch = f"import urllib.request; print(urllib.request.urlopen({url!r}, timeout=20).read().decode())"
    text = bed.start("scrape", [PYTHON, "-c", fetch], WORKERS).check_exit(30).text()
    assert "tributary_server_starts_total 0" in text
    assert 'tributary_completion_bytes_held{job_id="1",shard="1"} 0' in text


def test_a_killed_server_is_followed_and_a_restarted_one_serves_again(make_servers, launch):
    """kill -9 in the middle of the ops, twice: the other server, then the root; no op is lost."""
    bed, servers = make_servers((*STORM, *PATIENT), lease=SOON)
    for server in servers:
        server.start()
    wait_for_hosts(bed, ["ps0", "ps1"])
    workers = start(bed, launch, [{**INTS, "repeat": 150}])
    workers[0].wait_event("progress", 5)
    servers[0].kill()
    wait_for_hosts(bed, ["ps1"])
    workers[0].wait_event("progress", len(workers[0].of("progress")) + 5)
    servers[0].start()
    servers[1].kill()
    wait_for_hosts(bed, ["ps0"])
    workers[0].wait_event("progress", len(workers[0].of("progress")) + 5)
    servers[0].kill()
    wait_for_hosts(bed, ["root"])
    assert workers[0].process.running, "the ops were over before the kills were"
    for worker in workers:
        worker.finish()
    assert bed.switch.show("jobs")[0]["aborts"] == 0
    # The next epoch begins with the servers again.
    for server in servers:
        server.start()
    for worker in start(bed, launch, [FLOATS]):
        worker.finish()
    assert all(server.completions() > 0 for server in servers)


def test_o4_servers_killed_and_stopped_at_any_instant_end_no_op(make_servers, launch, loop):
    """kill -9 and SIGSTOP under a storm, seeded: an op goes on at another host, and every sum is exact.

    TRIBUTARY_SEED and TRIBUTARY_ROUNDS choose another run, or another length.
    """
    seed, rounds = int(os.environ.get("TRIBUTARY_SEED", "1")), int(os.environ.get("TRIBUTARY_ROUNDS", "30"))
    dice = random.Random(seed)
    # Half of the rounds await the end of the lease. A server that is followed too soon ends no op.
    bed, servers = make_servers((*STORM, *PATIENT), lease="500ms")
    for server in servers:
        server.start()
    wait_for_hosts(bed, ["ps0", "ps1"])
    workers = start(bed, launch, [{**INTS, "repeat": 1_000_000}])

    def more(ops):
        workers[0].wait_event("progress", len(workers[0].of("progress")) + ops)

    for number in range(rounds):
        victim, stops, at_once = dice.choice(servers), dice.random() < 0.5, dice.random() < 0.5
        print(f"seed {seed} round {number}: {'stop' if stops else 'kill'} {victim.name}, "
              f"back {'at once' if at_once else 'later'}")
        more(dice.randrange(1, 4))
        for _ in range(dice.randrange(10)):
            loop.turn(0.001)
        if stops:
            victim.process.pause()
        else:
            victim.kill()
        if not at_once:
            loop.wait(lambda victim=victim: victim.name not in hosts(bed).values(), 30, f"{victim.name} is followed")
            more(1)
        if stops:
            victim.process.signal(signal.SIGCONT)
        else:
            victim.start()
        more(2)
        assert all(op["exact"] for worker in workers for op in worker.of("progress"))
    assert all(worker.process.running for worker in workers)
    assert bed.switch.show("jobs")[0]["aborts"] == 0


def test_a_server_that_comes_back_at_once_goes_on(make_servers, launch):
    """Faster than its lease: the root notices the new incarnation."""
    bed, servers = make_servers((*STORM, *PATIENT), hosts=["ps0"])
    servers[0].start()
    wait_for_hosts(bed, ["ps0"])
    workers = start(bed, launch, [{**INTS, "repeat": 60}])
    for _ in range(2):
        workers[0].wait_event("progress", len(workers[0].of("progress")) + 5)
        servers[0].kill()
        servers[0].start()
    for worker in workers:
        worker.finish()
    assert bed.switch.show("jobs")[0]["aborts"] == 0
    assert bed.switch.show("hosts")[0]["term"] > 1


def test_without_any_server_the_error_says_so(make_servers, launch):
    bed, servers = make_servers((*STORM, *PATIENT), hosts=["ps0"], lease=SOON)
    servers[0].start()
    wait_for_hosts(bed, ["ps0"])
    workers = start(bed, launch, [{**INTS, "repeat": 10_000}])
    workers[0].wait_event("progress", 3)
    servers[0].kill()
    for worker in workers:
        assert "completion hosts" in worker.fail()["text"]
    servers[0].start()
    for worker in start(bed, launch, [INTS]):
        worker.finish()


def test_sigterm_hands_over_at_once(make_servers, launch):
    bed, servers = make_servers((*STORM, *PATIENT))
    for server in servers:
        server.start()
    wait_for_hosts(bed, ["ps0", "ps1"])
    workers = start(bed, launch, [{**INTS, "repeat": 40}])
    workers[0].wait_event("progress", 3)
    servers[0].process.signal(signal.SIGTERM)
    assert servers[0].process.wait_exit(30) == 0, servers[0].process.describe()
    for worker in workers:
        worker.finish()
    assert set(hosts(bed).values()) == {"ps1"}


def test_a_broken_file_is_refused_at_its_place(make_servers):
    bed, _ = make_servers(())
    file = bed.run / "broken.yaml"
    file.write_text("server: {address: 10.0.0.1}\njobs:\n  - {id: 1, wokers: 2, root: 10.0.0.2}\n")
    command = [binary(bed.build, "tributary-psd"), "--config", file, "--check"]
    process = bed.start("psd-check", command)
    assert process.wait_exit(30) == 1
    assert "broken.yaml:3:13: jobs[0].wokers: unknown key; did you mean 'workers'?" in str(
        process.describe()
    )
