"""The module under test and a real switch with memif ports; neither needs privilege."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

SWITCHD = os.environ["TRIBUTARY_SWITCHD"]
sys.path.insert(0, os.environ["TRIBUTARY_MODULE"])

LIMIT_S = 60  # nothing takes this long unless it hangs
SWITCH = "10.77.0.254"
JOB = 5
WORKERS = 4

# Children start clean: a fork would copy the parent's threads' locks.
_spawn = multiprocessing.get_context("spawn")


class Switch:
    """tributary-switchd with one memif port for each worker of one job."""

    def __init__(self, directory):
        self.socket = directory / "s.memif"
        self._config = directory / "switch.yaml"
        ports = "".join(
            f"  - {{name: w{i}, mtu: 9000, devargs: 'net_memif{i},id={i},role=server,"
            f"socket={self.socket},socket-abstract=no,bsize=9728'}}\n"
            for i in range(WORKERS)
        )
        self._config.write_text(
            f"switch: {{address: {SWITCH}, names: {{megabytes: 4, segment_bytes: 8192}}}}\nports:\n{ports}"
            f"jobs:\n  - {{id: {JOB}, workers: {WORKERS}, chunk_bytes: 8192, lease: 5s,"
            f" names: {{enabled: true}}}}\n"
        )
        self._process = None

    def start(self):
        reading, writing = os.pipe()
        self._process = subprocess.Popen(
            [SWITCHD, "--config", self._config, "--ready-fd", str(writing)],
            pass_fds=[writing],
            stdout=subprocess.DEVNULL,
        )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            assert pipe.readline(), "tributary-switchd did not start; see its standard error"

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        self._process.send_signal(signal.SIGTERM)
        try:
            assert self._process.wait(LIMIT_S) == 0
        finally:
            self._process.kill()

    def address(self, rank):
        return f"memif://{self.socket}?id={rank}&switch={SWITCH}"


@pytest.fixture
def directory():
    # Unix socket paths are short; pytest's own directories may be too long.
    path = Path(tempfile.mkdtemp(prefix="tributary-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def switch(directory):
    made = Switch(directory)
    made.start()
    yield made
    made.stop()


def _child(pipe, function, rank, address, module, arguments):
    sys.path.insert(0, module)
    import tributary

    try:
        comm = tributary.init(job=JOB, rank=rank, size=WORKERS, address=address, op_timeout=LIMIT_S)
        with comm:
            pipe.send(("returned", function(comm, pipe, *arguments)))
            pipe.recv()  # nobody leaves before all are done
    except BaseException:
        pipe.send(("raised", traceback.format_exc()))


class Worker:
    """function(comm, pipe, *arguments) as one rank, in a process of its own."""

    def __init__(self, function, rank, address, arguments=()):
        self.pipe, theirs = _spawn.Pipe()
        self.process = _spawn.Process(
            target=_child,
            args=(theirs, function, rank, address, os.environ["TRIBUTARY_MODULE"], arguments),
        )
        self.process.start()
        theirs.close()

    def receive(self):
        assert self.pipe.poll(LIMIT_S), "worker is silent"
        return self.pipe.recv()

    def result(self):
        how, what = self.receive()
        assert how == "returned", what
        return what

    def finish(self):
        try:
            self.pipe.send("leave")
        except OSError:
            pass  # it has ended by itself
        self.process.join(LIMIT_S)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


@pytest.fixture
def start(switch):
    """start(function, *arguments): on every rank; returns the workers."""
    workers = []

    def run(function, *arguments):
        began = [Worker(function, r, switch.address(r), arguments) for r in range(WORKERS)]
        workers.extend(began)
        return began

    yield run
    for worker in workers:
        try:
            worker.pipe.send("leave")
        except OSError:
            pass
    for worker in workers:
        worker.finish()


@pytest.fixture
def everywhere(start):
    """everywhere(function, *arguments): what it returned on every rank."""
    return lambda *call: [worker.result() for worker in start(*call)]
