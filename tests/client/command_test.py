"""The `tributary` command as an operator meets it, against a switch that is played by the test."""

import contextlib
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import threading

import pytest

CLIENT = os.environ["TRIBUTARY_CLIENT"]


@contextlib.contextmanager
def played_switch(folder, answer):
    """A control socket; `answer` gets a request and returns the bytes of the reply."""
    path = folder / "control.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, connection.makefile("rb") as lines:
                        connection.sendall(answer(json.loads(lines.readline())))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield path
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def reply(data):
    return json.dumps({"ok": True, "data": data}).encode() + b"\n"


def run(*arguments, **options):
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([CLIENT, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False, **options)


def to_full_disk(*arguments):
    with open("/dev/full", "w", encoding="ascii") as full:
        return run(*arguments, stdout=full)


def test_forget_term_asks_the_switch(tmp_path):
    asked = []

    def answer(request):
        asked.append(request)
        return reply({"version": {"term": 0, "revision": 0}, "change": ""})

    with played_switch(tmp_path, answer) as socket_path:
        done = run("forget-term", "--socket", socket_path)
    assert (done.returncode, asked) == (0, [{"command": "assign", "forget_term": True}]), done.stderr
    assert "what is in force stays" in done.stdout


@pytest.mark.parametrize("what", ["show ports", "show ports --json", "show config", "--help",
                                  "show ports --every 100ms", "trace 1"])
def test_lost_output_is_a_failure(tmp_path, what):
    def answer(request):
        if request.get("what") == "config":
            return reply("ports: []\n")
        return reply([{"port": "w0"}]) if request["command"] == "show" else reply({}) + b"line\n"

    with played_switch(tmp_path, answer) as path:
        words = what.split()
        if words[0] != "--help":
            words += ["--socket", path]
        done = to_full_disk(*words)
    assert done.returncode == 1, what
    assert "cannot write to standard output: No space left on device" in done.stderr, what


def statistics_block():
    """The last block of a capture that ended as its reader wanted."""
    body = (5).to_bytes(4, "little") + (24).to_bytes(4, "little") + bytes(12)
    return body + (24).to_bytes(4, "little")


def test_a_capture_is_readable_to_its_owner_alone(tmp_path):
    fresh, old, link, target = (tmp_path / name for name in ("fresh", "old", "link", "target"))
    for path in (old, target):
        path.write_text("an older one, and longer than what follows, with other people's mode")
        path.chmod(0o644)
    link.symlink_to(target)
    with played_switch(tmp_path, lambda _: reply({}) + statistics_block()) as socket_path:
        for path in (fresh, old, link):
            done = run("capture", "-w", path, "--socket", socket_path)
            assert done.returncode == 0, done.stderr
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
            assert path.read_bytes() == statistics_block(), path
        assert link.is_symlink()
        assert run("capture", "-w", "/dev/null", "--socket", socket_path).returncode == 0
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
        assert stat.S_IMODE(os.stat("/dev/null").st_mode) == 0o666
        done = run("capture", "-w", "/dev/full", "--socket", socket_path)
        assert done.returncode == 1 and "/dev/full: No space left on device" in done.stderr


COMPLETION = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "../../packaging/completion/tributary.bash")


def complete(*words):
    """What bash offers for the last of the words."""
    script = f'source {COMPLETION}; _tributary; printf "%s\\n" "${{COMPREPLY[@]}}"'
    assign = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ' + script
    done = subprocess.run(["bash", "-c", assign, "bash", CLIENT, *map(str, words)],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "", done.stderr
    return done.stdout.split()


def complete_elsewhere(shell, *words):
    """What fish or zsh offers for the last of the words; its completion asks bash's."""
    folder = os.path.dirname(COMPLETION)
    scripts = {
        "fish": [f"source {folder}/tributary.fish; complete -C (string join -- ' ' $argv)"],
        # zsh calls a completion with the words in `words`, and hears of candidates by compadd.
        "zsh": [f'compadd() {{ print -l -- "${{(@P)2}}" }}; words=("$@"); CURRENT=$#; '
                f"source {folder}/_tributary", "zsh"],
    }
    # By name, as a user types it.
    path = os.path.dirname(CLIENT) + ":" + os.environ["PATH"]
    done = subprocess.run([shell, "-c", *scripts[shell], "tributary", *map(str, words)],
                          env={**os.environ, "TRIBUTARY_BASH_COMPLETION": COMPLETION, "PATH": path},
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "", done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("shell", ["fish", "zsh"])
def test_other_shells_offer_the_same(shell, tmp_path):
    assert complete_elsewhere(shell, "ca") == ["capture"]
    assert complete_elsewhere(shell, "show", "straggl") == ["stragglers"]
    assert complete_elsewhere(shell, "bench", "broadcast", "--roo") == ["--root"]
    assert complete_elsewhere(shell, "pool", "ver") == ["verify"]
    assert complete_elsewhere(shell, "pool", "fill", "--man") == ["--manifest"]
    tables = {"jobs": [{"job": 7, "name": "a"}, {"job": 71, "name": "b"}]}
    with played_switch(tmp_path, lambda request: reply(tables[request["what"]])) as path:
        assert complete_elsewhere(shell, "exclude", "--socket", path, "7") == ["7", "71"]


def test_top_shows_all_on_one_screen_with_rates(tmp_path):
    looks = []

    def answer(request):
        looks.append(request["what"])
        rows = {"jobs": [{"job": 7, "name": "a", "state": "running", "aborts": 0,
                          "completions": 100 * looks.count("jobs")}],
                "ports": [{"port": "w0", "link": "up", "drops": 0}],
                "events 86400": [{"time": "now", "level": "error", "job": 7, "text": f"event {i}"}
                                 for i in range(8)]}
        return reply(rows.get(request["what"], []))

    with played_switch(tmp_path, answer) as path:
        done = run("top", "--times", 2, "--every", "100ms", "--socket", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("jobs:") == 2 and done.stdout.count("stragglers, the latest first:\nnone") == 2
    assert re.search(r"running +200 \+\d+", done.stdout), done.stdout
    assert "event 7" in done.stdout and "event 2" not in done.stdout
    assert run("top", "--every", "1ms").returncode == 2


def test_completion_knows_commands_options_and_tables():
    assert {"show", "capture", "exclude", "bench"} <= set(complete(""))
    assert complete("ca") == ["capture"]
    assert complete("show", "straggl") == ["stragglers"]
    assert complete("show", "ports", "--js") == ["--json"]
    assert complete("bench", "allreduce", "--it") == ["--iters"]
    assert complete("bench", "all") == ["allreduce", "all_gather"]
    assert complete("bench", "broadcast", "--roo") == ["--root"]
    assert complete("bench", "barrier", "--mi") == []


def subcommands(*words):
    """{command: its own commands}, as their help has them."""
    text = run(*words, "--help").stdout.partition("Subcommands:")[2].partition("\n\n")[0]
    return {name: subcommands(*words, name) for name in re.findall(r"^  ([a-z][a-z_-]*) ", text, re.M)}


def test_completion_knows_commands_and_options_of_every_command():
    def check(tree, *words):
        if tree:
            assert complete(*words, "") == list(tree), words
        options = re.findall(r"--[a-z0-9][a-z0-9-]*", run(*words, "--help").stdout)
        assert set(complete(*words, "--")) == set(options), words
        for name, below in tree.items():
            check(below, *words, name)

    tree = subcommands()
    assert list(tree["pool"]) == ["status", "fill", "pin", "evict", "verify", "configure"]
    check(tree)


def test_completion_offers_no_commands_where_none_may_stand():
    assert complete("pool", "fill", "") == []
    assert complete("pool", "status", "--config", "x.yaml", "") == []
    assert complete("pool", "nothing", "--") == complete("pool", "--")


def test_completion_asks_the_switch_for_jobs_and_ports(tmp_path):
    tables = {"jobs": [{"job": 7, "name": "a"}, {"job": 71, "name": "b"}],
              "ports": [{"port": "w0"}, {"port": "up"}]}
    with played_switch(tmp_path, lambda request: reply(tables[request["what"]])) as path:
        socket_words = ("--socket", path)
        assert complete("exclude", *socket_words, "") == ["7", "71"]
        assert complete("show", "stragglers", *socket_words, "71") == ["71"]
        assert complete("show", "op", *socket_words, "") == ["7", "71"]
        assert complete("capture", *socket_words, "w") == ["w0"]
        assert complete("trace", "10", *socket_words, "") == ["up", "w0"]
        assert complete("show", "fdb", *socket_words, "port=u") == ["port=up"]
        assert complete("allreduce", *socket_words, "--job", "7") == ["7", "71"]
    assert complete("exclude", *socket_words, "") == [], "no switch, no words"


def test_drain_says_which_jobs_pause(tmp_path):
    asked = []

    def answer(request):
        asked.append(request)
        if request.get("jobs") == [9]:
            return json.dumps({"ok": False, "error": "this switch has no job 9"}).encode() + b"\n"
        return reply({"jobs": request.get("jobs", [7, 71])})

    with played_switch(tmp_path, answer) as path:
        assert run("drain", "--socket", path).stdout == "job 7: drained\njob 71: drained\n"
        assert run("drain", 71, "--undo", "--socket", path).stdout == "job 71: goes on\n"
        refused = run("drain", 9, "--socket", path)
    assert refused.returncode == 1 and "no job 9" in refused.stderr
    assert asked[0] == {"command": "drain", "undo": False}
    assert asked[1] == {"command": "drain", "undo": True, "jobs": [71]}
    assert run("drain", "seven").returncode == 2


def on_terminal(*arguments):
    """What a command prints on a terminal."""
    ours, its = os.openpty()
    with subprocess.Popen([CLIENT, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=its,
                          stderr=subprocess.DEVNULL) as process:
        os.close(its)
        text = b""
        with contextlib.suppress(OSError):  # its end
            while piece := os.read(ours, 65536):
                text += piece
        os.close(ours)
    assert process.returncode == 0
    return text.decode()


def test_a_terminal_gets_narrow_tables_and_a_pipe_all_columns(tmp_path):
    row = {"job": 1, **{f"a_counter_of_some_length_{i}": 0 for i in range(9)}}
    with played_switch(tmp_path, lambda _: reply([row])) as socket_path:
        show = ("show", "jobs", "--socket", socket_path)
        piped = run(*show).stdout
        assert all(name in piped for name in row), piped
        assert max(map(len, on_terminal(*show).splitlines())) <= 120
        assert all(name in on_terminal(*show, "--wide") for name in row)


@pytest.mark.parametrize("words, library", [
    (["pool", "status"], "libtributary-pool.so.0"),
    (["job", "list", "--manager", "unix:/nowhere"], "libtributary-manager.so.0")])
def test_a_library_that_is_not_installed_is_named(tmp_path, words, library):
    """O1: commands that link much load it when they are run; others start without."""
    program = tmp_path / "bin" / "tributary"
    program.parent.mkdir()
    shutil.copy(CLIENT, program)
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert f"need {library}" in done.stderr and "option `" in done.stderr, done.stderr


CHUNKS = [{"job": 1, "plane": 0, "op": 7, "chunk": chunk, "state": "open", "open_ms": 2.0 + chunk,
           "missing": [3]} for chunk in range(3)]


def test_slots_are_summed_up_unless_all_are_asked_for(tmp_path):
    with played_switch(tmp_path, lambda _: reply(CHUNKS)) as path:
        summed = run("show", "slots", "--socket", path)
        every = run("show", "slots", "--all", "--socket", path)
        rows = run("show", "slots", "--json", "--socket", path)
    assert [line.split() for line in summed.stdout.splitlines()] == [
        ["job", "plane", "op", "state", "chunks", "oldest_ms", "missing"],
        ["1", "0", "7", "open", "3", "4.000", "3"]], summed.stderr
    assert len(every.stdout.splitlines()) == 1 + len(CHUNKS), every.stderr
    assert json.loads(rows.stdout) == CHUNKS, rows.stderr
    assert run("show", "jobs", "--all").returncode == 2


def test_columns_are_chosen_by_name(tmp_path):
    rows = [{"job": 1, "name": "a", "state": "running"}, {"job": 2, "name": "b", "note": "x"}]
    with played_switch(tmp_path, lambda _: reply(rows)) as path:
        done = run("show", "jobs", "--columns", "note,job", "--socket", path)
        as_json = run("show", "jobs", "--columns", "job", "--json", "--socket", path)
        wrong = run("show", "jobs", "--columns", "job,colour", "--socket", path)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["note", "job"], ["-", "1"], ["x", "2"]], done.stderr
    assert json.loads(as_json.stdout) == [{"job": 1}, {"job": 2}]
    assert wrong.returncode == 2
    assert "jobs has job, name, state, note" in wrong.stderr, wrong.stderr
