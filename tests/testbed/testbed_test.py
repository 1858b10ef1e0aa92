"""tools/lib/testbed without privilege: processes end, output is kept, directories are swept."""

import argparse
import os
import re
import signal
import subprocess
import sys
import types

from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools/lib"
sys.path.insert(0, str(TOOLS))

from testbed import delay, figure, keeper, late_training, run_directory, topology, tree  # noqa: E402  (needs the path above)
from testbed.ending import exit_status  # noqa: E402
from testbed.heartbeat import INTERVAL_S, Heartbeat  # noqa: E402
from testbed.loop import Interrupted, Loop  # noqa: E402
from testbed.process import Process, ProcessFailed  # noqa: E402

LIMIT_S = 60


def test_a_missing_program_names_the_command_that_builds_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="tributary-psd.*--target programs"):
        tree.binary(tmp_path, "tributary-psd")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/tributary-psd").touch()
    assert tree.binary(tmp_path, "tributary-psd") == tmp_path / "tools/tributary-psd"


def test_packages_are_asked_for_by_group(tmp_path):
    # A machine on which nothing is installed.
    (tmp_path / "dpkg-query").symlink_to("/bin/true")

    def missing(*groups):
        done = subprocess.run([TOOLS.parent / "missing-packages", *groups], capture_output=True, text=True,
                              env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False)
        return done.returncode, set(done.stdout.split()), done.stderr

    status, everything, _ = missing()
    run, build, test, torch, full = (missing(group)[1] for group in ("run", "build", "test", "torch", "full"))
    assert status == 0 and "cmake" in build and "python3-numpy" in run and "shellcheck" in test
    assert torch == {"libtorch-dev", "python3-torch"}
    assert run | build | test | torch | full == everything and not (run & build or build & test or run & test)
    assert missing("run", "build")[1] == run | build
    assert missing("runs")[0] == 2 and "run, build, test, torch" in missing("runs")[2]


@pytest.fixture
def loop():
    with Loop() as made:
        yield made


@pytest.fixture
def start(loop, tmp_path):
    started = []

    def shell(script, **options):
        process = Process(loop, "child", ["sh", "-c", script], tmp_path / "log", **options)
        started.append(process)
        return process

    yield shell
    for process in started:
        process.stop()


def group_is_gone(pgid):
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return True
    # What is left may be zombies that their new parent has not reaped yet.
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == pgid and fields[0] != "Z":
            return False
    return True


def test_output_by_lines_and_in_the_log(start, tmp_path):
    seen = []
    process = start(
        "echo one; echo two >&2; printf three", on_line=lambda _, text: seen.append(text)
    )
    assert process.wait_exit(LIMIT_S) == 0
    assert list(process.stdout) == ["one", "three"]
    assert list(process.stderr) == ["two"]
    assert sorted(seen) == ["one", "three", "two"]
    assert sorted((tmp_path / "log").read_text().split()) == ["one", "three", "two"]


def test_waiting_for_a_line(start):
    process = start("echo ready 7; exec sleep 1000")
    assert process.wait_line(r"ready (\d)", LIMIT_S)[1] == "7"
    assert process.running


def test_a_line_that_never_comes_says_how_the_process_ended(start):
    process = start("echo some words >&2; exit 3")
    with pytest.raises(ProcessFailed, match="(?s)status 3.*some words"):
        process.wait_line("ready", LIMIT_S)
    with pytest.raises(ProcessFailed):
        process.check_exit(LIMIT_S)


def test_exit_takes_the_whole_group_along(start, loop):
    process = start("sleep 1000 & sleep 1000 & echo here; exec sleep 1000")
    process.wait_line("here", LIMIT_S)
    process.signal(signal.SIGKILL)
    process.wait_exit(LIMIT_S)
    loop.wait(lambda: group_is_gone(process.pid), LIMIT_S, "the group ends")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts processes of other users")
def test_another_user_reads_the_tree_in_a_private_folder(start, tmp_path, monkeypatch):
    tree_of_root = tmp_path / "private" / "tree"
    tree_of_root.mkdir(parents=True)
    (tree_of_root / "file").write_text("read")
    (tmp_path / "private").chmod(0o700)
    monkeypatch.setattr("testbed.process.TOP", tree_of_root)
    process = start(f"id -un; cat {tree_of_root}/file", user="nobody")
    assert process.check_exit(30).text() == "nobody\nread"


def test_stop_kills_what_ignores_sigterm(start):
    process = start("trap '' TERM; echo here; while :; do sleep 1000; done")
    process.wait_line("here", LIMIT_S)
    process.stop(grace=0.2)
    assert process.returncode == -signal.SIGKILL


def test_signals_are_noted_and_raised_at_the_next_turn(loop):
    with loop.shielded():
        os.kill(os.getpid(), signal.SIGTERM)
        loop.turn(0)
    with pytest.raises(Interrupted) as caught:
        loop.turn(0)
    assert caught.value.number == signal.SIGTERM
    loop.turn(0)


def test_timeout_names_what_was_awaited(loop):
    with pytest.raises(TimeoutError, match="the moon"):
        loop.wait(lambda: False, 0.01, "the moon")


def test_sweep_takes_dead_directories_and_leaves_living_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(run_directory.tempfile, "tempdir", str(tmp_path))
    script = "from testbed.run_directory import RunDirectory; import os; "
    script += "print(RunDirectory().path); os._exit(0)"
    dead = subprocess.run(
        [sys.executable, "-B", "-c", script],
        cwd=TOOLS,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert Path(dead).parent == tmp_path
    (Path(dead) / "file").write_text("x")
    with run_directory.RunDirectory() as living:
        assert run_directory.sweep() == [Path(dead)]
        assert living.path.exists() and not Path(dead).exists()
    assert list(tmp_path.iterdir()) == []


def test_child_dies_with_a_killed_parent(loop, tmp_path):
    script = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from testbed.loop import Loop; from testbed.process import Process\n"
        "with Loop() as loop:\n"
        "    child = Process(loop, 'c', ['sh', '-c', 'echo up; exec sleep 1000'], sys.argv[2])\n"
        "    child.wait_line('up', 60)\n"
        "    print('child', child.pid, flush=True)\n"
        "    loop.wait(lambda: False, 1000, 'death')\n"
    )
    command = [sys.executable, "-B", "-c", script, TOOLS, tmp_path / "inner"]
    with Process(loop, "parent", command, tmp_path / "log") as parent:
        child = int(parent.wait_line(r"child (\d+)", LIMIT_S)[1])
        parent.signal(signal.SIGKILL)
        parent.wait_exit(LIMIT_S)
    loop.wait(lambda: group_is_gone(child), LIMIT_S, "the kernel kills the child")


def test_delays_of_workers(tmp_path):
    delays = delay.Delays(tmp_path)
    assert delays.of("w1") == "-"
    delays.set("w1", "200ms", 3)
    assert delays.of("w1") == delays.path("w1").read_text().strip() == "200ms every 3"
    for time, every in (("soon", 1), ("2h", 1), ("3601s", 1), ("-1s", 1), ("1ms", 0), ("1ms", 10**7)):
        with pytest.raises(delay.DelayError, match="allowed: "):
            delays.set("w1", time, every)
    assert delays.of("w1") == "200ms every 3", "what was refused changed nothing"
    delays.set("w1", "off")
    delays.set("w1", "off")
    assert list(tmp_path.iterdir()) == []


def test_only_workers_and_cables_of_the_file_can_be_late(tmp_path):
    told = []
    cables = [topology.Cable("A", "r", "R", "up", 1500), topology.Cable("A", "w1", "w1", "", 1500)]
    bed = types.SimpleNamespace(
        topology=types.SimpleNamespace(workers={"w1": {}, "w2": {}}, cables=cables),
        delays=delay.Delays(tmp_path), set_cable_delay=lambda *words: told.append(words),
    )
    late = types.SimpleNamespace(bed=bed)
    assert keeper._Keeper.delay(late, "w2", "5ms", 4) == {"text": "w2: 5ms every 4"}
    assert keeper._Keeper.delay(late, "w2", "off") == {"text": "w2: -"}
    assert keeper._Keeper.delay(late, "A-R", "5ms") == {"text": "A-R: 5ms"}
    assert told == [("A-R", "5ms")]
    for other in ("A", "A-w1"):
        with pytest.raises(keeper.KeeperError, match=f"no worker or cable {other}; there are w1, w2, A-R"):
            keeper._Keeper.delay(late, other, "5ms")


def test_lateness_on_the_command_line():
    assert late_training._lateness("w112=300ms/3") == ("w112", "300ms", 3)
    assert late_training._lateness("w1=2s") == ("w1", "2s", 1)
    for bad in ("w1", "w1=", "w1=soon", "w1=1ms/0", "w1=1ms/x", "=1ms"):
        with pytest.raises(argparse.ArgumentTypeError, match="allowed: "):
            late_training._lateness(bad)


def test_step_times_are_drawn(tmp_path):
    path = tmp_path / "steps.svg"
    figure.step_times("a & b", {"in time": [0.01, 0.02, 0.015], "late": [0.3, 0.01, 0.01]}, path)
    words = re.findall(r"<!-- (.*?) -->", path.read_text())
    assert {"a &amp; b", "in time", "late", "step", "ms"} <= set(words), words
    figure.step_times("one step", {"in time": [0.0]}, path)


def test_figures_in_words():
    assert [figure.time_text(ns) for ns in (5, 1500, 2e6, 3e9)] == ["5 ns", "1.5 us", "2 ms", "3 s"]
    assert [figure.bytes_text(n) for n in (3, 1536, 2**21, 2**30)] == ["3 B", "1.5 KiB", "2 MiB", "1 GiB"]


def test_a_program_that_is_ended_early_says_by_what_in_one_line(capsys):
    def fails(error):
        raise error

    assert exit_status("suite", lambda: 7) == 7
    for error, status, words in ((ProcessFailed("rank0 ended with status 3"), 1, "rank0 ended with status 3"),
                                 (TimeoutError("no link"), 1, "no link"),
                                 (Interrupted(signal.SIGTERM), 130, "stopped by")):
        assert exit_status("suite", lambda error=error: fails(error)) == status
        (said,) = capsys.readouterr().err.splitlines()
        assert said.startswith(f"suite: {words}")


def test_a_bug_of_the_program_itself_is_not_taken_for_that():
    with pytest.raises(ZeroDivisionError):
        exit_status("suite", lambda: 1 / 0)


def test_a_pause_of_the_machine_is_noticed():
    now = [0.0]
    pauses = [0.0, 2.5, 0.25]

    def sleep(seconds):
        now[0] += seconds + pauses.pop(0)

    heartbeat = Heartbeat(clock=lambda: now[0], sleep=sleep)
    heartbeat.beat()
    assert heartbeat.longest_s() < 1e-9
    heartbeat.beat()
    heartbeat.beat()
    assert abs(heartbeat.longest_s() - 2.5) < 1e-9
    heartbeat.reset()
    now[0] += INTERVAL_S + 0.75  # a beat that is late
    assert abs(heartbeat.longest_s() - 0.75) < 1e-9


def test_a_failure_says_how_long_the_machine_stood_still(tmp_path):
    (tmp_path / "conftest.py").write_text((TOOLS.parents[1] / "tests/conftest.py").read_text().replace(
        'Path(__file__).resolve().parents[1] / "tools/lib"', repr(str(TOOLS))))
    (tmp_path / "a_test.py").write_text("def test_a():\n    assert False\n")
    done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "a_test.py"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.search(r"longest pause \d+ ms", done.stdout), done.stdout + done.stderr
