"""A switch with memif ports for several jobs, and ranks that run cases of cases.py on it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Listener
from pathlib import Path

import pytest

SWITCHD = os.environ["TRIBUTARY_SWITCHD"]
MODULE = os.environ["TRIBUTARY_MODULE"]
sys.path.insert(0, MODULE)
LIMIT_S = 120
SWITCH = "10.77.0.254"
# Jobs by number, and how many ranks each has.
JOBS = {1: 4, 2: 4, 5: 2, 6: 2}
MOST_RANKS = 4


class Switch:
    """tributary-switchd with a memif port for each rank in each job: ids are the digits of both.

    With `shared`, a port for each rank, as docs/torch.md has it.
    """

    def __init__(self, directory, sizes=JOBS, options="lease: 5s", shared=False):
        self.socket = directory / "s.memif"
        self._config = directory / "switch.yaml"
        ids = [f"{rank}" if shared else f"{job}{rank}"
               for job in (sorted(sizes)[:1] if shared else sizes) for rank in range(MOST_RANKS)]
        self._id = "{rank}" if shared else "{job}{rank}"
        ports = "".join(
            f"  - {{name: w{i}, mtu: 9000, devargs: 'net_memif{i},id={i},role=server,"
            f"socket={self.socket},socket-abstract=no,bsize=9728'}}\n" for i in ids
        )
        jobs = "".join(
            f"  - {{id: {job}, workers: {size}, chunk_bytes: 8192, {options}}}\n"
            for job, size in sizes.items()
        )
        self._control = directory / "s.sock"
        self._config.write_text(f"switch: {{address: {SWITCH}}}\nports:\n{ports}jobs:\n{jobs}"
                                f"control: {{socket: {self._control}}}\n")
        self._process = None

    @property
    def address(self):
        """As users give it: the same text on every rank."""
        return f"memif://{self.socket}?id={self._id}&switch={SWITCH}"

    def address_of(self, job, port):
        """Of one of a job's ports, where each has a number of its own."""
        return f"memif://{self.socket}?id={job}{port}&switch={SWITCH}"

    def start(self):
        reading, writing = os.pipe()
        self._process = subprocess.Popen(
            [SWITCHD, "--config", self._config, "--ready-fd", str(writing)],
            pass_fds=[writing], stdout=subprocess.DEVNULL,
        )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            assert pipe.readline(), "tributary-switchd did not start; see its standard error"

    def wait_until_left(self, job):
        """Ranks that gave up joining keep their places until their leases are over."""
        self.wait_until(job, present=False)

    def wait_until(self, job, present):
        """Whether the job has any member, also one that waits."""
        end = time.monotonic() + LIMIT_S
        is_present = not present
        while is_present != present:
            assert time.monotonic() < end, f"job {job}: {is_present=}"
            with socket.socket(socket.AF_UNIX) as control:
                control.connect(str(self._control))
                control.sendall(b'{"command":"show","what":"members"}\n')
                rows = json.loads(control.makefile().readline())["data"]
            is_present = any(row["present"] for row in rows if row["job"] == job)

    def stop(self):
        self._process.send_signal(signal.SIGTERM)
        try:
            assert self._process.wait(LIMIT_S) == 0
        finally:
            self._process.kill()


@pytest.fixture(scope="module")
def directory():
    # Unix socket paths are short; pytest's own directories may be too long.
    path = Path(tempfile.mkdtemp(prefix="tributary-torch-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def switch(directory):
    made = Switch(directory)
    made.start()
    yield made
    made.stop()


def environment(switch, **changes):
    """Of a process that uses the backend."""
    path = [MODULE, str(Path(__file__).resolve().parent)]
    found = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "TRIBUTARY_ADDRESS": switch.address,
        "TRIBUTARY_JOB": "1-2/4,5-6/2",
        "TRIBUTARY_TORCH_THRESHOLDS": "allreduce=0,reduce=0,broadcast=0,all_gather=0,barrier=0",
    }
    found.update(changes)
    return {name: value for name, value in found.items() if value is not None}


class Ranks:
    """Processes that stay: importing torch takes long. Each runs functions of cases.py by name.

    `changes` of the environment are all ranks', `of_rank[RANK]` one rank's.
    """

    def __init__(self, switch, directory, size=4, of_rank=None, **changes):
        self._processes, self._pipes = [], []
        self._logs = [tempfile.TemporaryFile(mode="a+") for _ in range(size)]
        for rank in range(size):
            changes_here = {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank),
                            **changes, **(of_rank or {}).get(rank, {})}
            with Listener(str(directory / f"rank{rank}.pipe")) as listener:
                self._processes.append(subprocess.Popen(
                    [sys.executable, "-B", Path(__file__).with_name("rank_main.py"),
                     listener.address],
                    env=environment(switch, **changes_here), stderr=self._logs[rank],
                ))
                self._pipes.append(listener.accept())
        self._meetings = 0
        self._directory = directory

    def start(self, name, *arguments, ranks=None):
        """cases.NAME(*arguments) on each rank."""
        self._meetings += 1
        meeting = str(self._directory / f"store{id(self)}-{self._meetings}")
        for rank in ranks if ranks is not None else range(len(self._pipes)):
            self._pipes[rank].send((name, meeting, arguments))

    def receive(self, rank):
        """("returned", value) or ("raised", [type, text, traceback])."""
        assert self._pipes[rank].poll(LIMIT_S), f"rank {rank} is silent"
        return self._pipes[rank].recv()

    def run(self, name, *arguments):
        """What it returned on every rank."""
        self.start(name, *arguments)
        answers = [self.receive(rank) for rank in range(len(self._pipes))]
        for how, what in answers:
            assert how == "returned", what[2]
        return [what for _, what in answers]

    def said(self, rank):
        """The lines on its standard error so far."""
        self._logs[rank].seek(0)
        return self._logs[rank].read().splitlines()

    def kill(self, rank):
        self._processes[rank].kill()
        self._processes[rank].wait()

    def stop(self):
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            try:
                process.wait(LIMIT_S)
            finally:
                process.kill()
                process.wait()
        for rank, log in enumerate(self._logs):
            sys.stderr.writelines(f"rank {rank}: {line}\n" for line in self.said(rank))
            log.close()


@pytest.fixture(scope="module")
def ranks(switch, directory):
    made = Ranks(switch, directory)
    yield made
    made.stop()
