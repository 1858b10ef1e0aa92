"""`tributary mpirun`: programs of both MPIs, and preloading that would have had no effect."""

import os
import re
import subprocess

import pytest

from conftest import LIMIT_S, MPIRUN, RANKS, TOP, Run, built, preloaded, program
from testbed.fabric import SWITCH_ADDRESS

PYTHON = "/usr/bin/python3"  # its mpi4py is one of Open MPI
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SETTINGS = {"TRIBUTARY_ADDRESS": f"udp://{SWITCH_ADDRESS}", "TRIBUTARY_JOBS": "1-3",
            "TRIBUTARY_MPI_THRESHOLD": "1,barrier=0"}
# Starts the launcher's daemon of a "node" here, without any variable of this process.
REMOTE_SHELL = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
shift
exec env -i PATH=/usr/bin:/bin HOME=/root sh -c "$*"
"""


def client():
    return built("bin/tributary", "tools/tributary")


def command(mpi, argv, launcher_words=(), ranks=RANKS):
    words = [str(client()), "mpirun", "--launcher", MPIRUN[mpi][0], "--"]
    return [*words, *MPIRUN[mpi][1:], *launcher_words, "-n", str(ranks), *map(str, argv)]


def start(programs, mpi, argv, launcher_words=(), environment=(), ranks=RANKS):
    process = programs.bed.start(f"launch{start.count}", command(mpi, argv, launcher_words, ranks), 0,
                                 env={**SETTINGS, **dict(environment)})
    start.count += 1
    process.wait_exit(LIMIT_S)
    return Run(process)


start.count = 0


def counts(run):
    """{collective: (through the switch, left to MPI)}"""
    pattern = re.compile(rf"tributary: {RANKS} ranks, (\w+): (\d+) calls through the switch, "
                         r"(\d+) left to MPI$")
    return {m[1]: (int(m[2]), int(m[3])) for m in map(pattern.match, run.err) if m}


def refused(words, environment=()):
    """(exit status, standard error) of a command that starts nothing."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("TRIBUTARY_")}
    done = subprocess.run([client(), "mpirun", *words], env={**own, **SETTINGS, **dict(environment)},
                          capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done.returncode, done.stderr


def test_the_library_is_found_and_calls_are_counted(programs, mpi):
    run = start(programs, mpi, [program("collectives", mpi)])
    assert run.returncode == 0, run.describe()
    seen = counts(run)
    # The program's sums of its own operations and types stay with MPI.
    assert seen["allreduce"][0] > 0 and seen["allreduce"][1] > 0, run.describe()
    assert all(count % RANKS == 0 for count in seen["bcast"]), run.describe()
    assert not any("rank 0: calls of" in line for line in run.err), run.describe()


def test_counts_are_those_of_the_log(programs, mpi):
    run = start(programs, mpi, [program("collectives", mpi)],
                environment={"TRIBUTARY_MPI_LOG": "1"})
    assert run.returncode == 0, run.describe()
    logged = [line for line in run.said(r"^MPI_I?[Aa]llreduce.*: (job|MPI)")]
    to_switch = sum(": job " in line for line in logged)
    assert counts(run)["allreduce"] == (to_switch, len(logged) - to_switch)


def test_calls_that_stay_with_mpi_are_counted_and_named(programs, mpi):
    run = start(programs, mpi, [program("collectives", mpi)],
                environment={"TRIBUTARY_MPI_THRESHOLD": "off"})
    assert run.returncode == 0, run.describe()
    assert all(to_switch == 0 for to_switch, _ in counts(run).values()) and counts(run)
    assert "tributary: no call went through the switch; TRIBUTARY_MPI_LOG=1 says why" in run.err


def test_ranks_without_a_switch_are_counted_too(programs, mpi):
    run = start(programs, mpi, [program("collectives", mpi)],
                environment={"TRIBUTARY_ADDRESS": "udp://10.77.0.99",
                             "TRIBUTARY_MPI_JOIN_TIMEOUT": "1", "TRIBUTARY_JOBS": "1"})
    assert run.returncode == 0, run.describe()
    assert any("MPI_COMM_WORLD stays with MPI" in line for line in run.err), run.describe()
    assert counts(run)["allreduce"][0] == 0 < counts(run)["allreduce"][1]


def test_a_program_without_mpi_fails_since_nothing_was_preloaded_into_mpi(programs, mpi):
    run = start(programs, mpi, ["/bin/true"])
    assert run.returncode == 1, run.describe()
    assert any("no rank's MPI_Init reached the library" in line for line in run.err)


def test_a_program_that_fails_keeps_its_exit_status(programs, mpi):
    run = start(programs, mpi, ["/bin/sh", "-c", "exit 3"], ranks=1)
    assert run.returncode == 3, run.describe()
    assert not any("reached the library" in line for line in run.err)


def test_arguments_reach_the_program_as_they_are(programs, mpi):
    run = start(programs, mpi, ["/bin/sh", "-c", 'printf "<%s>" "$@"; exit 3', "sh", "[a,b]", "",
                                "--", "x y"], ranks=1)
    assert "<[a,b]><><--><x y>" in "".join(run.out), run.describe()


def test_nodes_get_the_variables_from_the_launcher(programs, mpi, tmp_path):
    """A node's daemon comes from a remote shell that passes no variables on. Open MPI takes two nodes
    with one address for one."""
    shell = tmp_path / "remote-shell"
    shell.write_text(REMOTE_SHELL)
    shell.chmod(0o755)
    words = (["--mca", "plm_rsh_agent", shell, "--mca", "oob_tcp_if_include", "lo",
              "--host", f"127.0.0.2:{RANKS}"] if mpi == "openmpi" else
             ["-launcher", "ssh", "-launcher-exec", shell, "-hosts", "127.0.0.2,127.0.0.3"])
    run = start(programs, mpi, [program("collectives", mpi)], [*map(str, words)])
    assert run.returncode == 0, run.describe()
    assert counts(run)["allreduce"][0] > 0, run.describe()


def test_python_is_asked_for_its_mpi4py(programs):
    solver = [PYTHON, "-B", TOP / "examples/mpi_solver/solver.py", "--unknowns", "60000",
              "--iterations", "3"]
    run = start(programs, "openmpi", solver)
    assert run.returncode == 0 and counts(run)["allreduce"][0] > 0, run.describe()
    run = start(programs, "mpich", solver)
    assert run.returncode == 1 and "mpi4py" in run.err[-1], run.describe()
    assert "--launcher mpirun.openmpi" in run.err[-1], run.describe()


def test_a_program_of_the_other_mpi_is_refused(programs, mpi):
    other = "mpich" if mpi == "openmpi" else "openmpi"
    run = start(programs, mpi, [program("collectives", other)])
    assert run.returncode == 1 and run.passed() == [], run.describe()
    assert run.err[-1].endswith(f"name its launcher, such as --launcher mpirun.{other}")


def test_a_library_that_cannot_be_loaded_is_no_library(mpi, tmp_path):
    launcher = ["--launcher", MPIRUN[mpi][0]]
    empty = tmp_path / "empty.so"
    empty.write_bytes(b"")
    status, said = refused([*launcher, "--library", empty, "--", "-n", "1", "/bin/true"])
    assert status == 1 and f"{empty}: file too short" in said
    status, said = refused([*launcher, "--library", tmp_path / "none.so", "--", "/bin/true"])
    assert status == 1 and "none.so: cannot open shared object file" in said
    folder = tmp_path / "a b"
    folder.mkdir()
    spaced = folder / preloaded(mpi).name
    spaced.symlink_to(preloaded(mpi))
    status, said = refused([*launcher, "--library", spaced, "--", "/bin/true"])
    assert status == 1 and "has a space or a colon" in said


def test_a_build_without_the_library_names_the_places(mpi, tmp_path):
    alone = tmp_path / "bin/tributary"
    alone.parent.mkdir()
    alone.write_bytes(client().read_bytes())
    alone.chmod(0o755)
    done = subprocess.run([alone, "mpirun", "--launcher", MPIRUN[mpi][0], "--", "/bin/true"],
                          env={"PATH": os.environ["PATH"], **SETTINGS}, capture_output=True,
                          text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 1
    assert f"{tmp_path}/lib/libtributary_mpi_{mpi}.so" in done.stderr, done.stderr
    assert "cmake --install BUILD --component mpi" in done.stderr


@pytest.mark.parametrize("words, environment, status, said", [
    (["-n", "4", "/bin/true"], {}, 2, "stand behind --: tributary mpirun -- -n 4 PROGRAM"),
    ([], {}, 2, "stand behind --"),
    (["--lancher", "x", "--", "/bin/true"], {}, 2, "did you mean '--launcher'?"),
    (["--", "-n", "4"], {}, 2, "no program behind the launcher's arguments"),
    (["--"], {}, 2, "no program behind the launcher's arguments"),
    (["--launcher", "mpirun.openmpi", "--", "--app", "file"], {}, 2, "name them here"),
    (["--", "-n", "4", "no-such-program"], {}, 2, "no-such-program: no such program"),
    (["--launcher", "no-such-launcher", "--", "/bin/true"], {}, 1, "packages openmpi-bin and mpich"),
    (["--launcher", "ls", "--", "/bin/true"], {}, 1, "names neither Open MPI nor MPICH: ls (GNU"),
    (["--", "/bin/true"], {"TRIBUTARY_ADDRESS": ""}, 2, "such as udp://10.77.0.254"),
    (["--", "/bin/true"], {"TRIBUTARY_JOBS": ""}, 2, "such as 1,4-7"),
])
def test_bad_input_is_refused(words, environment, status, said):
    got, text = refused(words, environment)
    assert got == status and said in text, text


def test_a_static_program_is_refused(tmp_path):
    source, binary = tmp_path / "a.c", tmp_path / "a"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", source, "-o", binary], check=True, timeout=LIMIT_S)
    status, said = refused(["--", "-n", "1", binary])
    assert status == 1 and "is linked statically" in said
