"""Process groups whose jobs a cluster's manager gives (T20): requests, waiting, and real groups."""

import contextlib
import json
import os
import re
import subprocess
import threading
from datetime import timedelta
from pathlib import Path

import pytest
import torch.distributed as dist
from tributary.torch import managed
from tributary.torch.binding import Agreement
from tributary.torch.managed import ManagedJobs, ManagerError, check_template, fill_template

from conftest import LIMIT_S, SWITCHD, Ranks

# As docs/torch.md has it, with a lease that a test can wait for.
TEMPLATE = re.search(r"```yaml\n(tenant: .*?)```", (Path(__file__).parents[2] / "docs/torch.md").read_text(),
                     re.S)[1].replace("30s", "5s")


class FakeManager:
    """Answers wait() by the given words in turn, and notes what was asked."""

    def __init__(self, *answers, waits_for=None):
        self.answers, self.reason = list(answers), waits_for
        self.waited, self.cancelled = [], []

    def wait(self, job, request, _file, _timeout_s):
        self.waited.append((job, request))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def waits_for(self, _job):
        return self.reason

    def cancel(self, job, _reason):
        self.cancelled.append(job)


def group_of_one(manager, timeout=timedelta(minutes=1)):
    store = dist.HashStore()
    return Agreement(store, 0, 1, timeout, ManagedJobs(manager, "r.yaml", TEMPLATE, "w7", "dp 0"), "dp 0")


RUNS = {"id": 9, "members": [{"rank": 0, "worker": "w7", "address": "udp://10.0.0.1"}]}
LATE = ManagerError("DEADLINE_EXCEEDED", "late")


def test_t20_a_group_asks_for_its_own_workers_and_ends_its_job():
    manager = FakeManager(LATE, RUNS)
    group = group_of_one(manager)
    bound = group.bind()
    assert len(bound.pop("run")) == 16
    assert bound == {"job": 9, "why_not": "", "addresses": ["udp://10.0.0.1"], "address": "udp://10.0.0.1"}
    (job, request), again = manager.waited
    assert again == (job, request)
    assert job.startswith("train-dp-0-")
    assert f'name: {job} ' in request and 'workers: 1\n  members: [{"rank": 0, "worker": "w7"}] ' in request
    group.release()
    group.release()
    assert manager.cancelled == [job]


@pytest.mark.parametrize("code", ["FAILED_PRECONDITION", "RESOURCE_EXHAUSTED"])
def test_t20_a_refused_group_is_gloos(code, capfd):
    manager = FakeManager(ManagerError(code, "needs 64 slots at A"))
    assert group_of_one(manager).bind()["job"] is None
    assert "manager: needs 64 slots at A; all its calls go to Gloo" in capfd.readouterr().err
    assert len(manager.cancelled) == 1


def test_t20_a_job_that_waits_for_room_leaves_the_group_to_gloo(monkeypatch, capfd):
    monkeypatch.setattr(managed, "_ROOM_S", 0)
    manager = FakeManager(LATE, waits_for="a job before it at B")
    assert group_of_one(manager).bind()["job"] is None
    assert "does not run after 0 s: waits for a job before it at B" in capfd.readouterr().err
    assert len(manager.cancelled) == 1


def test_t20_a_manager_that_is_away_is_an_error_after_the_timeout():
    manager = FakeManager(LATE)
    with pytest.raises(ManagerError, match="manager: late"):
        group_of_one(manager, timedelta()).bind()
    assert len(manager.cancelled) == 1


def test_t20_a_group_that_is_destroyed_waits_no_longer():
    manager = FakeManager(LATE, waits_for="room")
    group = group_of_one(manager)
    group.cancel()
    with pytest.raises(RuntimeError, match="group dp 0 was destroyed while rank 0 waited for"):
        group.bind()


@pytest.mark.parametrize("old, new, problem", [
    ("workers: {workers}", "workers: 4", "has no {workers}; needed are {name}, {workers}, {members}"),
    ("train-{name}", "train", "{name} is not the job's name; allowed: such as 'name: train-{name}'"),
])
def test_t20_a_request_without_its_words_is_refused(old, new, problem):
    with pytest.raises(ValueError) as raised:
        check_template("r.yaml", TEMPLATE.replace(old, new))
    assert "TRIBUTARY_REQUEST: r.yaml" in str(raised.value) and problem in str(raised.value)


def test_t20_other_braces_of_a_request_stay():
    assert fill_template("job: {name: {name}, members: {members}, {x}: 1}", "n", ["a"]) == (
        'job: {name: n, members: [{"rank": 0, "worker": "a"}], {x}: 1}')


class Cluster:
    """A switch with a memif port for each worker, its agent and a manager; a tenant of two jobs."""

    def __init__(self, directory):
        self.directory = directory
        self.address = "memif:"  # of the ranks: the scheme of default thresholds
        self.manager = f"unix:{directory}/manager.sock"
        self.request = directory / "request.yaml"
        self.request.write_text(TEMPLATE)
        ports = [{"name": f"p{n}", "mtu": 9000, "devargs": f"net_memif{n},id={n},role=server,"
                  f"socket={directory}/memif,socket-abstract=no,bsize=9728"} for n in range(4)]
        (directory / "topology.yaml").write_text(json.dumps({
            "switches": [{"name": "A", "id": 1, "address": "10.77.0.254", "memory": {"reserve_megabytes": 64},
                          "ports": ports, "control": {"socket": f"{directory}/A.sock"}}],
            "workers": [{"name": f"w{n}", "switch": "A", "port": f"p{n}"} for n in range(4)]}))
        (directory / "tenants.yaml").write_text("tenants: [{name: vision, quota: {jobs: 2}}]\n")

    def start(self, stack, program, *arguments):
        reading, writing = os.pipe()
        process = stack.enter_context(subprocess.Popen(
            [Path(SWITCHD).with_name(program), *arguments, "--ready-fd", str(writing)], pass_fds=[writing],
            stdout=subprocess.DEVNULL))
        stack.callback(process.terminate)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            assert pipe.readline(), f"{program} did not start; see its standard error"

    def start_all(self, stack):
        at = self.directory
        self.start(stack, "tributary-managerd", "--store", f"sqlite:{at}/state.db", "--topology", at / "topology.yaml",
                   "--tenants", at / "tenants.yaml", "--socket", at / "manager.sock")
        self.start(stack, "tributary-switchd", "--config", at / "topology.yaml", "--node", "A",
                   "--assigned", at / "A.assigned")
        self.start(stack, "tributary-agentd", "--manager", self.manager, "--switch", at / "A.sock",
                   "--state", at / "agent")

    def jobs(self):
        done = subprocess.run([Path(SWITCHD).with_name("tributary"), "job", "list", "--json", "--manager", self.manager],
                              capture_output=True, text=True, timeout=LIMIT_S, check=True)
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def cluster(directory):
    made = Cluster(directory)
    with contextlib.ExitStack() as stack:
        made.start_all(stack)
        yield made


@pytest.fixture
def ranks(cluster, directory):
    made = Ranks(cluster, directory, TRIBUTARY_ADDRESS=None, TRIBUTARY_JOB=None, TRIBUTARY_MANAGER=cluster.manager,
                 TRIBUTARY_REQUEST=str(cluster.request), TRIBUTARY_WORKER="w{rank}")
    yield made
    made.stop()


def test_t20_groups_get_jobs_of_the_manager_and_give_them_back(cluster, ranks):
    """Twice, so that the second run needs what the first one gave back."""
    for _ in range(2):
        assert ranks.run("all_at_a_time", 2) == [[(6, 0), (6, 0)]] * 4
        assert cluster.jobs() == []


def test_t20_a_group_beyond_the_quota_goes_to_gloo(cluster, ranks):
    assert ranks.run("one_more_than_jobs", 2) == [["switch", "switch", "gloo"]] * 4
    assert any("waits for" in line and "quota" in line for line in ranks.said(0))
    assert cluster.jobs() == []


def test_t20_jobs_of_a_run_that_is_killed_end_with_their_lease(cluster, ranks, directory):
    running = directory / "running"
    os.mkfifo(running)
    ranks.start("until_both_fail", str(running))
    running.read_text()
    assert len(cluster.jobs()) == 2
    for rank in range(4):
        ranks.kill(rank)
    pause = threading.Event()
    for _ in range(10 * LIMIT_S):
        if not cluster.jobs():
            return
        pause.wait(0.1)
    raise AssertionError(f"left: {cluster.jobs()}")
