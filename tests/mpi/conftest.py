"""Fixtures of the MPI tests: a switch, and programs that mpirun starts at one of its ports."""

import os
import re
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools/lib"))

from testbed.bed import Bed  # noqa: E402  (needs the path above)
from testbed.fabric import SWITCH_ADDRESS  # noqa: E402
from testbed.loop import Loop  # noqa: E402
from testbed.switch import Job  # noqa: E402

RANKS = 4
LIMIT_S = 100
MPIRUN = {
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                "--mca", "mpi_yield_when_idle", "1"],
    "mpich": ["mpirun.mpich"],
}
LIBRARY = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}


def built(*names):
    """The first of these files of the build that is there: CMake's place, or meson's."""
    build = Path(os.environ["TRIBUTARY_BUILD"])
    return next(build / name for name in names if (build / name).exists())


def preloaded(mpi):
    name = f"libtributary_mpi_{mpi}.so"
    return built(f"lib/{name}", f"worker/mpi/{name}")


def program(name, mpi):
    return built(f"bin/mpi_{name}_{mpi}", f"tests/mpi_{name}_{mpi}")


def tool(mpi):
    return built(f"lib/mpi_tool_{mpi}.so", f"tests/mpi_tool_{mpi}.so")


class Run:
    """A program of one MPI that has ended."""

    def __init__(self, process):
        self.process = process
        self.returncode = process.returncode
        self.out = list(process.stdout)
        self.err = list(process.stderr)

    def describe(self):
        return self.process.describe()

    def passed(self):
        return [line.removeprefix("passed ") for line in self.out if line.startswith("passed ")]

    def said(self, pattern):
        """The lines that the library said, less their beginning, in which a pattern is found."""
        lines = [re.sub(r"^tributary: rank \d+: ", "", line) for line in self.err
                 if line.startswith("tributary: ")]
        return [line for line in lines if re.search(pattern, line)]


class Programs:
    """Runs programs of either MPI at the switch's one port."""

    def __init__(self, bed):
        self.bed = bed
        self._count = 0

    def run(self, mpi, argv, ranks=RANKS, preload=None, behind=(), environment=(), limit_s=LIMIT_S,
            **settings):
        """`preload`: whose library; False: none. `behind`: libraries that are preloaded after it.
        `settings`: the environment's, less TRIBUTARY_."""
        environment = {**dict(environment), "TRIBUTARY_ADDRESS": f"udp://{SWITCH_ADDRESS}", "TRIBUTARY_JOBS": "1-3",
                       "TRIBUTARY_MPI_THRESHOLD": "1,barrier=0", "TRIBUTARY_MPI_LOG": "1"}
        environment.update({f"TRIBUTARY_{name}": text for name, text in settings.items()})
        if preload is not False:
            environment["LD_PRELOAD"] = ":".join(map(str, (preloaded(preload or mpi), *behind)))
        command = [*MPIRUN[mpi], "-n", str(ranks)]
        for name, text in environment.items():
            command += ["-x", f"{name}={text}"] if mpi == "openmpi" else ["-genv", name, text]
        self._count += 1
        process = self.bed.start(f"{mpi}{self._count}", [*command, *map(str, argv)], 0)
        process.wait_exit(limit_s)
        return Run(process)


@pytest.fixture(scope="module")
def programs():
    """One job of all ranks, two of two, and one that has few reductions; sums wrap, as MPI's do."""
    options = (("arithmetic", "modular"), ("lease", "5s"))
    few = (*options, ("reductions", ["float32 sum"]))
    jobs = [Job(1, RANKS, options), Job(2, 2, options), Job(3, 2, options), Job(4, RANKS, few)]
    with Loop() as loop, Bed(loop, "veth", 1, jobs) as bed:
        yield Programs(bed)


@pytest.fixture(params=["openmpi", "mpich"])
def mpi(request):
    return request.param
