"""Fixtures of the system tests: real binaries on a testbed (tools/lib/testbed) of their own.

Every wait is for a condition; the limits are generous upper bounds, not expectations.
"""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools/lib"))

from testbed import bed as testbed_bed  # noqa: E402  (needs the path above)
from testbed import tree_bed  # noqa: E402
from testbed.loop import Loop  # noqa: E402
from testbed.switch import Job  # noqa: E402
from testbed.tree import PYTHON  # noqa: E402

LIMIT_S = 50
WORKER = Path(__file__).with_name("worker.py")


class Worker:
    """A running tests/system/worker.py and its events."""

    def __init__(self, bed, name, order, port):
        self.rank = order["rank"]
        self.events = []
        self._loop = bed.loop
        command = [PYTHON, WORKER, json.dumps(order)]
        self.process = bed.start(name, command, port, on_line=self._line)

    def _line(self, _process, text):
        if text.startswith("{"):
            self.events.append(json.loads(text))

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def wait_event(self, kind, count=1):
        """The count-th event of a kind; an assertion error if the process ends without it."""

        def there():
            return len(self.of(kind)) >= count or not self.process.running

        self._loop.wait(there, LIMIT_S, f"rank {self.rank} reports '{kind}'")
        assert len(self.of(kind)) >= count, self.process.describe()
        return self.of(kind)[count - 1]

    def finish(self):
        """Waits for the end, which must be a good one; returns the statistics."""
        self.process.wait_exit(LIMIT_S)
        assert self.process.returncode == 0, (self.process.describe(), self.events[-3:])
        assert all(step["exact"] for step in self.of("step")), f"rank {self.rank}: a wrong sum"
        return self.of("done")[0]["stats"]

    def fail(self):
        """Waits for the end, which must be an error; returns that event."""
        self.process.wait_exit(LIMIT_S)
        assert self.process.returncode == 1, (self.process.describe(), self.events[-3:])
        return self.of("error")[0]


class Launcher:
    """Starts the ranks of jobs on one bed."""

    def __init__(self, bed):
        self._bed = bed
        self._count = 0

    def start(self, steps, job=1, ports=None, **options):
        """All ranks of a job; `steps` is one list for all, or a function of the rank."""
        ports = list(range(self._bed.workers)) if ports is None else ports
        return [
            self.start_rank(rank, len(ports), steps, job, port, **options)
            for rank, port in enumerate(ports)
        ]

    def start_rank(self, rank, size, steps, job=1, port=None, **options):
        port = rank if port is None else port
        order = {
            "job": job,
            "rank": rank,
            "size": size,
            "address": self._bed.address(port),
            "steps": steps(rank) if callable(steps) else steps,
            **options,
        }
        self._count += 1
        return Worker(self._bed, f"worker{self._count}-job{job}-rank{rank}", order, port)


class TreeLauncher:
    """Starts the ranks of jobs on a tree, each at the worker that the topology gives it."""

    def __init__(self, bed):
        self._bed = bed
        self._count = 0

    def start(self, steps, job=1, **options):
        topology = self._bed.topology
        size = topology.jobs[job]["workers"]
        return [
            self.start_rank(rank, size, steps, job, worker, **options)
            for rank, worker in sorted(topology.ranks(job).items())
        ]

    def start_rank(self, rank, size, steps, job, worker, **options):
        order = {
            "job": job,
            "rank": rank,
            "size": size,
            "address": self._bed.address(worker),
            "steps": steps(rank) if callable(steps) else steps,
            **options,
        }
        self._count += 1
        return Worker(self._bed, f"run{self._count}-{worker}", order, worker)


@pytest.fixture(scope="session", autouse=True)
def need_root():
    if os.geteuid() != 0:
        pytest.exit("system tests make network namespaces: run them as root", returncode=77)


@pytest.fixture
def loop():
    with Loop() as made:
        yield made


class Gate:
    """A FIFO that holds back every rank that is told its `step`, until open()."""

    def __init__(self, path):
        os.mkfifo(path)
        self.step = {"do": "wait_fifo", "path": str(path)}
        self._writer = None

    def open(self):
        self._writer = os.open(self.step["path"], os.O_RDWR)  # for reading too: it waits for nobody

    def close(self):
        if self._writer is not None:
            os.close(self._writer)


@pytest.fixture
def gate(tmp_path):
    with contextlib.closing(Gate(tmp_path / "gate")) as made:
        yield made


@pytest.fixture
def make_bed(loop):
    """Bed(ports, workers, ...), by default with one job of all; torn down after the test.

    Integer sums wrap, so that tests may use the whole range of the type.
    """
    modular = ("arithmetic", "modular")
    with contextlib.ExitStack() as stack:

        def make(ports, workers, jobs=None, **options):
            jobs = [
                dataclasses.replace(job, options=(modular, *job.options))
                for job in (jobs if jobs is not None else [Job(1, workers)])
            ]
            return stack.enter_context(testbed_bed.Bed(loop, ports, workers, jobs, **options))

        yield make


@pytest.fixture
def make_tree(loop):
    """TreeBed(...) without the loop argument; torn down after the test.

    Integer sums wrap, as in make_bed.
    """
    with contextlib.ExitStack() as stack:

        def make(*arguments, **options):
            options["job_options"] = {"arithmetic": "modular", **options.get("job_options", {})}
            return stack.enter_context(tree_bed.TreeBed(loop, *arguments, **options))

        yield make


@pytest.fixture
def launch_tree():
    return TreeLauncher


@pytest.fixture
def launch():
    return Launcher


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """name → .deb of this build. Compressed in a hurry."""
    folder = tmp_path_factory.mktemp("package")
    build = Path(os.environ["TRIBUTARY_BUILD"])
    subprocess.run(
        ["cpack", "--config", build / "CPackConfig.cmake", "-B", folder,
         "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip"],
        check=True,
        capture_output=True,
        timeout=300,
    )
    return {file.name.split("_")[0]: file for file in folder.glob("*.deb")}


@pytest.fixture(scope="session")
def package(packages):
    """The .deb with the daemons."""
    return packages["tributary"]
