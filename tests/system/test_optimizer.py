"""The optimizer at the parameter server (T21): examples/fashion_mnist sends gradients and receives
parameters, from a server that is killed and goes on from its checkpoint."""

import json
import signal

import pytest
import yaml
from testbed import training
from testbed.fabric import SWITCH_ADDRESS, worker_address
from testbed.process import Process
from testbed.switch import Job
from testbed.tree import PYTHON, binary

WORKERS = 2
PARAMETERS = 784 * 32 + 32 + 32 * 10 + 10
SETTINGS = {"epochs": 1, "hidden": 32, "batch": 300}
STEPS = 60_000 // WORKERS // SETTINGS["batch"]
# Sums in rank order: then every run, and the one without a network, have the same bits.
KEYS = (("order", "reproducible"), ("arithmetic", "modular"), ("shards", 2), ("window", 32), ("lease", "5s"))


class ModelServer:
    """A tributary-psd with the model of job 1, at a port of its own."""

    def __init__(self, bed):
        self._bed = bed
        self._starts = 0
        self.folder = bed.run / "checkpoints"
        self.folder.mkdir()
        self.socket = bed.run / "ps.sock"
        self.file = bed.run / "ps.yaml"
        self.process = None

    def configure(self, **optimizer):
        job = {"id": 1, "workers": WORKERS, "chunk_bytes": 8192, "root": SWITCH_ADDRESS}
        job.update((key, value) for key, value in KEYS if key != "lease")
        job["optimizer"] = {
            "kind": "sgd",
            "parameters": [PARAMETERS],
            "rate": 0.1,
            "momentum": 0.9,
            "schedule": {"kind": "linear", "steps": STEPS},
            "checkpoint": {"directory": str(self.folder), "every": 10},
            **optimizer,
        }
        config = {
            "server": {"address": worker_address(WORKERS), "megabytes": 64},
            "jobs": [job],
            "control": {"socket": str(self.socket)},
            "metrics": {"listen": f"{worker_address(WORKERS)}:9400"},
        }
        self.file.write_text(yaml.safe_dump(config, sort_keys=False))

    def launch(self, *options):
        self._starts += 1
        command = [binary(self._bed.build, "tributary-psd"), "--config", self.file, *options]
        self.process = self._bed.start(f"ps-{self._starts}", command, WORKERS)
        return self.process

    def start(self):
        self.launch().wait_line("^ready", 30)

    def kill(self):
        self.process.signal(signal.SIGKILL)
        self.process.wait_exit(30)

    def stop(self):
        self.process.signal(signal.SIGTERM)
        assert self.process.wait_exit(30) == 0, self.process.describe()

    def said(self):
        return "\n".join(self.process.stderr)

    def model(self):
        command = [binary(self._bed.build, "tributary"), "show", "models", "--json"]
        with Process(
            self._bed.loop,
            "tributary show",
            [*command, "--socket", self.socket],
            self._bed.run / "show.log",
        ) as process:
            return json.loads(process.check_exit(30).text())[0]

    @property
    def last(self):
        return self.folder / "job-1.checkpoint"

    @property
    def previous(self):
        return self.folder / "job-1.previous.checkpoint"


def make_server(make_bed, hosts):
    options = (*KEYS, ("completion_hosts", hosts))
    bed = make_bed(
        "veth",
        WORKERS + 1,
        jobs=[Job(1, WORKERS, options=options)],
        completion={
            "lease": "5s",
            "hosts": [{"name": "ps", "address": worker_address(WORKERS), "port": f"w{WORKERS}"}],
        },
    )
    made = ModelServer(bed)
    made.configure()
    return bed, made


@pytest.fixture
def server(make_bed):
    return make_server(make_bed, ["ps"])


class Ranks:
    """The ranks of a training, and what they say."""

    def __init__(self, bed, rejoin, delay="", env=None):
        """`delay` of every step, such as "100ms", until hurry()."""
        self._bed = bed
        self._delay = bed.run / "delay"
        self._delay.write_text(delay)
        self.events = [[] for _ in range(WORKERS)]
        self.processes = []
        settings = {**SETTINGS, "workers": WORKERS, "optimizer": "server", "rejoin": rejoin}
        for rank in range(WORKERS):
            command = [PYTHON, training.EXAMPLE / "train.py", "--rank", rank]
            command += ["--address", bed.address(rank), "--delay-file", self._delay]
            command += [word for name, value in settings.items() for word in (f"--{name}", value)]
            self.processes.append(
                bed.start(f"worker{rank}", command, rank, on_line=self._listener(rank), env=env)
            )

    def _listener(self, rank):
        def line(_process, text):
            if text.startswith("{"):
                self.events[rank].append(json.loads(text))

        return line

    def hurry(self):
        self._delay.write_text("off")

    def of(self, kind, rank=0):
        return [event for event in self.events[rank] if event["event"] == kind]

    def wait(self, condition, what):
        def there():
            return condition() or not self.processes[0].running

        self._bed.loop.wait(there, 120, what)
        assert condition(), self.processes[0].describe()

    def finish(self):
        for process in self.processes:
            process.check_exit(200)
        reports = [self.of("done", rank)[0] for rank in range(WORKERS)]
        assert len({report["sha256"] for report in reports}) == 1
        return reports[0]


def reference(bed):
    return training.run_single(bed.loop, bed.run, SETTINGS, WORKERS, None)


def wait_for_host(bed):
    bed.loop.wait(
        lambda: all(row["silent_ms"] is not None for row in bed.switch.show("hosts")), 30, "a host"
    )


def test_a_training_through_kills_has_the_bits_of_one_that_was_left_alone(server):
    """kill -9 of the server in the middle, twice: it goes on from its checkpoints."""
    bed, ps = server
    ps.start()
    wait_for_host(bed)
    # So slow that the kills come long before the end.
    ranks = Ranks(bed, rejoin=10, delay="150ms")
    for kills in (1, 2):
        ranks.wait(lambda: ps.model()["checkpoints"] > 0, "a checkpoint")
        ps.kill()
        ps.start()
        assert "the model goes on from step" in ps.said()
        ranks.wait(lambda kills=kills: len(ranks.of("begins")) > kills, "the ranks begin again")
    ranks.hurry()
    report = ranks.finish()
    assert [event["step"] > 0 for event in ranks.of("begins")] == [False, True, True]
    assert all("model" in e["text"] or "completion host" in e["text"] for e in ranks.of("rejoins"))
    alone = reference(bed)
    assert report["steps"] == alone["steps"] == STEPS
    assert report["sha256"] == alone["sha256"]
    assert report["accuracy"] == alone["accuracy"]
    assert ps.model()["step"] == STEPS


def wait_for_steps(ranks, ps, steps):
    first = ps.model()["step"] or 0
    ranks.wait(lambda: (ps.model()["step"] or 0) >= first + steps, "steps")


def check_uninterrupted(bed, ps, ranks):
    """One run of each rank, and each update once: the bits of a training without a network."""
    report = ranks.finish()
    for rank in range(WORKERS):
        assert not ranks.of("rejoins", rank) and len(ranks.of("begins", rank)) == 1
    assert report["sha256"] == reference(bed)["sha256"]
    model = ps.model()
    assert model["step"] == STEPS and model["taken_back"] == 0, model


def test_t21_a_model_goes_on_after_drains(server):
    """A switch is emptied and restarted in the middle of a training: no call fails, no step is lost."""
    bed, ps = server
    ps.start()
    wait_for_host(bed)
    ranks = Ranks(bed, rejoin=0, delay="20ms")
    for _ in range(3):
        wait_for_steps(ranks, ps, 5)
        assert bed.switch.client("drain", "--socket", bed.switch.socket) == "job 1: drained"
        bed.switch.stop()
        bed.switch.start()
    wait_for_steps(ranks, ps, 5)
    bed.switch.client("set", "jobs.1.lease", "6s", "--socket", bed.switch.socket)
    wait_for_steps(ranks, ps, 1)
    [row] = bed.switch.show("jobs")
    assert row["drains"] >= 1 and row["aborts"] == 0, row
    ranks.hurry()
    check_uninterrupted(bed, ps, ranks)


def test_t21_an_update_is_applied_once_though_the_switch_dies(server):
    """kill -9 of the switch under ranks that retry (rule 23)."""
    bed, ps = server
    ps.start()
    wait_for_host(bed)
    ranks = Ranks(bed, rejoin=0, delay="20ms", env={"TRIBUTARY_RETRY": "ops"})
    for _ in range(4):
        wait_for_steps(ranks, ps, 3)
        bed.switch.process.signal(signal.SIGKILL)
        bed.switch.process.wait_exit(50)
        bed.switch.start()
    wait_for_steps(ranks, ps, 1)
    ranks.hurry()
    check_uninterrupted(bed, ps, ranks)


def test_t21_a_server_that_dies_during_a_drain_is_named(server):
    """Its next incarnation is behind what the ranks have: they learn it by the error of before."""
    bed, ps = server
    ps.start()
    wait_for_host(bed)
    ranks = Ranks(bed, rejoin=0, delay="20ms", env={"TRIBUTARY_RETRY": "ops"})
    wait_for_steps(ranks, ps, 15)
    assert bed.switch.client("drain", "--socket", bed.switch.socket) == "job 1: drained"
    ps.kill()
    ps.start()
    wait_for_host(bed)
    bed.switch.client("drain", "--undo", "--socket", bed.switch.socket)
    for rank, process in enumerate(ranks.processes):
        process.wait_exit(120)
        assert "has no model that this continues" in ranks.of("error", rank)[0]["text"]


def test_sigterm_keeps_the_last_step_and_metrics_tell(server):
    bed, ps = server
    ps.start()
    wait_for_host(bed)
    report = Ranks(bed, rejoin=0).finish()
    assert report["steps"] == STEPS
    url = f"http://{worker_address(WORKERS)}:9400/metrics"
    fetch = f"import urllib.request; print(urllib.request.urlopen({url!r}, timeout=20).read().decode())"
    text = bed.start("scrape", [PYTHON, "-c", fetch], WORKERS).check_exit(30).text()
    assert f'tributary_model_step{{job_id="1"}} {STEPS}' in text
    assert "tributary_checkpoints_failed_total" in text
    ps.stop()
    ps.start()
    assert f"the model goes on from step {STEPS}" in ps.said()
    # Nothing is left to train: what the ranks get is what they had.
    again = Ranks(bed, rejoin=0).finish()
    assert again["sha256"] == report["sha256"]


def test_a_truncated_checkpoint_is_refused_and_the_previous_one_used(server):
    bed, ps = server
    ps.start()
    wait_for_host(bed)
    Ranks(bed, rejoin=0).finish()
    bed.loop.wait(lambda: ps.model()["checkpoints"] >= 2, 30, "two checkpoints")
    ps.stop()
    whole = ps.last.read_bytes()
    assert ps.previous.exists()
    ps.last.write_bytes(whole[: len(whole) // 2])
    ps.start()
    text = ps.said()
    assert "job-1.checkpoint: is truncated, bytes:" in text, text
    assert "job-1.previous.checkpoint: the model goes on from step" in text, text
    ps.kill()
    damaged = bytearray(whole)
    damaged[len(damaged) // 2] ^= 1
    ps.last.write_bytes(damaged)
    ps.previous.write_bytes(b"")
    process = ps.launch()
    assert process.wait_exit(30) == 1
    assert "is damaged: its CRC32C is wrong" in ps.said()
    assert "has no usable checkpoint" in ps.said()


def test_another_number_of_parameters_is_named(server):
    bed, ps = server
    ps.configure(parameters=[PARAMETERS - 1])
    ps.start()
    wait_for_host(bed)
    ranks = Ranks(bed, rejoin=0)
    for rank, process in enumerate(ranks.processes):
        process.wait_exit(120)
        assert "optimizer.parameters" in ranks.of("error", rank)[0]["text"]


def test_a_server_whose_switch_names_others_says_what_to_change(make_bed):
    """Its own file cannot say whom the switch names beside it."""
    bed, ps = make_server(make_bed, ["ps", "root"])
    ps.start()
    wait_for_host(bed)
    ranks = Ranks(bed, rejoin=0)
    bed.loop.wait(lambda: ps.said().count("refused") == 2, 60, "a word about each shard")
    assert "this server alone in completion_hosts" in ps.said()
    bed.loop.wait(lambda: all(row["host"] == "root" for row in bed.switch.show("hosts")), 60,
                  "the root to host the job")
    for rank, process in enumerate(ranks.processes):
        process.wait_exit(120)
        assert "model" in ranks.of("error", rank)[0]["text"]
