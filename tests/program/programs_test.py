"""Command lines of every program: slips are explained, numbers are checked, lost output is an error.

Each program's own --help says which of its options take numbers."""

import json
import os
import re
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = {os.path.basename(path): path for path in os.environ["TRIBUTARY_PROGRAMS"].split(":")}
JOIN = ["--job", 1, "--size", 2, "--rank", 0, "--address", "udp://127.0.0.1"]
NUMBERS = {"N", "ID", "R", "K", "OP", "BYTES", "SECONDS", "FD", "N,N,...", "RATE"}
# What a command needs before it looks at the values of others.
BENCHES = ("allreduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "barrier")
NEEDED = {("allreduce",): JOIN, **{("bench", name): JOIN for name in BENCHES}}
BAD_NUMBERS = ("-1", "99999999999999999999", "nan", "1x", "")


def run(program, *arguments, **options):
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([PROGRAMS[program], *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False, **options)


def help_of(program, *command):
    done = run(program, *command, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(program, *above):
    """Each command of a program, as a list of words."""
    yield above
    listed = help_of(program, *above).partition("Subcommands:\n")[2].partition("\n\n")[0]
    for name in re.findall(r"^  (\S+)", listed, re.M):
        yield from commands(program, *above, name)


def number_options():
    for program in sorted(PROGRAMS):
        for command in commands(program):
            for option, kind in re.findall(r"(--[\w-]+) (\S+)", help_of(program, *command)):
                if kind.partition("=")[0] in NUMBERS:
                    yield program, command, option


def test_numbers_out_of_range_are_refused():
    found = list(number_options())
    for known in (("tributary", ("bench", "allreduce"), "--iters"),
                  ("tributary", ("allreduce",), "--timeout"),
                  ("tributary", ("exclude",), "--from"),
                  ("tributary-switchd", (), "--ready-fd"),
                  ("tributary-sim", (), "--seed"), ("tributary-sim", (), "--scaling"),
                  ("tributary-loadgen", (), "--ops"), ("tributary-loadgen", (), "--job"),
                  ("tributary-impair", (), "--queue")):
        assert known in found, f"{known} is not in the help of its program"
    for program, command, option in found:
        for bad in BAD_NUMBERS:
            needed = NEEDED.get(command, []) if option not in NEEDED.get(command, []) else []
            done = run(program, *command, *needed, f"{option}={bad}")
            assert done.returncode == 2, f"{program} {command} {option}={bad}: {done.stderr}"
            assert option in done.stderr, f"{program} {command} {option}={bad}: {done.stderr}"


def test_what_ends_a_daemon_is_an_error_at_every_log_level(tmp_path):
    """With a line for each mistake, in each format."""
    config = tmp_path / "bad.yaml"
    config.write_text("switch: {address: nowhere}\nports: [{name: a, mtu: 7}]\n")
    said = run("tributary-switchd", "--config", config, "--log-level", "error")
    assert said.returncode == 1
    lines = said.stderr.splitlines()
    assert len(lines) > 1 and all(line.startswith(f"{config}:") for line in lines), said.stderr
    for level in ("error", "info"):
        told = run("tributary-switchd", "--config", config, "--log-level", level, "--log-format",
                   "json")
        rows = [json.loads(line) for line in told.stderr.splitlines()]
        assert [row["text"] for row in rows] == lines
        assert {row["level"] for row in rows} == {"error"}
    for arguments in (["--config", tmp_path / "none.yaml"],
                      ["--config", config, "--node", "s"]):
        said = run("tributary-switchd", *arguments, "--log-level", "error")
        assert said.returncode == 1 and said.stderr, arguments


def test_a_parameter_servers_log_has_the_asked_format(tmp_path):
    path = tmp_path / "none.yaml"
    said = run("tributary-psd", "--config", path, "--log-level", "error")
    told = run("tributary-psd", "--config", path, "--log-format", "json")
    rows = [json.loads(line) for line in told.stderr.splitlines()]
    assert [row["text"] for row in rows] == said.stderr.splitlines() != []
    assert {row["level"] for row in rows} == {"error"}


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_an_unknown_option_has_a_neighbour(program):
    done = run(program, "--hepl")
    assert done.returncode == 2
    assert f"{program}: unknown option '--hepl'; did you mean '--help'?" in done.stderr


def test_misspelt_words_have_a_neighbour():
    for words, hint in ((["shwo", "ports"], "'show'"), (["show", "ports", "--jsn"], "'--json'"),
                        (["show", "prots"], "'ports'"), (["captrue"], "'capture'"),
                        (["allreduce", "--dtype", "flaot32"], "'float32'")):
        done = run("tributary", *words)
        assert done.returncode == 2, words
        assert f"did you mean {hint}?" in done.stderr, done.stderr
    done = run("tributary-switchd", "--confg", "x.yaml")
    assert done.returncode == 2 and "did you mean '--config'?" in done.stderr, done.stderr


def to_full_disk(program, *arguments):
    with open("/dev/full", "w", encoding="ascii") as full:
        return run(program, *arguments, stdout=full)


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_lost_output_is_a_failure(program):
    for arguments in (["--help"], ["--version"]):
        done = to_full_disk(program, *arguments)
        assert done.returncode == 1, f"{program} {arguments}"
        assert f"{program}: cannot write to standard output: No space left" in done.stderr


def test_a_configuration_that_is_not_printed_is_a_failure():
    for program, path, *words in (
            ("tributary-switchd", "examples/memif.yaml"),
            ("tributary-psd", "examples/hpcc-12-servers.yaml", "--node", "ps1")):
        for what in ("--check", "--print-config"):
            path_here = os.path.join(TOP, path)
            assert run(program, "--config", path_here, *words, what).returncode == 0
            done = to_full_disk(program, "--config", path_here, *words, what)
            assert done.returncode == 1, f"{program} {what}"
            assert "cannot write to standard output" in done.stderr


@pytest.mark.parametrize("program", ["tributary-switchd", "tributary-psd"])
def test_a_ready_descriptor_that_is_not_the_callers_is_refused(program):
    done = run(program, "--config", "/dev/null", "--ready-fd", "9")
    assert done.returncode == 2 and "9 is not open" in done.stderr, done.stderr


def test_a_scenario_that_is_no_file_is_refused():
    for path, why in (("/dev/zero", "is not a regular file"), ("/nowhere", "No such file")):
        done = run("tributary-sim", path)
        assert done.returncode == 2 and why in done.stderr, done.stderr


# What QEMU emulates where a user has not said which CPU, and the oldest one that is enough.
@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_a_cpu_without_sse42_is_an_error_in_words(program):
    done = {cpu: subprocess.run(["qemu-x86_64-static", "-cpu", cpu, PROGRAMS[program], "--version"],
                                capture_output=True, text=True, timeout=120, check=False)
            for cpu in ("qemu64", "Nehalem")}
    assert done["Nehalem"].returncode == 0, done["Nehalem"]
    if program == "tributary":  # links no DPDK, and has sums for any CPU
        assert done["qemu64"].returncode == 0, done["qemu64"]
        return
    assert done["qemu64"].returncode == 1, done["qemu64"]
    assert done["qemu64"].stderr.startswith(f"{program}: this CPU lacks SSSE3, SSE4.1, SSE4.2, POPCNT; ")
