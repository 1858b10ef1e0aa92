"""The `tributary` command as an operator meets it, against a switch that is played by the test."""

import contextlib
import json
import os
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


def test_completion_knows_commands_options_and_tables():
    assert {"show", "capture", "exclude", "bench"} <= set(complete(""))
    assert complete("ca") == ["capture"]
    assert complete("show", "straggl") == ["stragglers"]
    assert complete("show", "ports", "--js") == ["--json"]
    assert complete("bench", "allreduce", "--it") == ["--iters"]


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
