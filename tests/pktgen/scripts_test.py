"""tools/pktgen's scripts and command files, without Pktgen: whatever they ask of it, it has.

Scripts are loaded and run, against pktgen_mock.lua. docs/pktgen.md has runs of the real one.
"""

import ipaddress
import os
import re
import subprocess
from pathlib import Path

import pktgen_commands
import pytest

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
SCRIPTS = TOP / "tools/pktgen"
RUNBOOK = (TOP / "docs/pktgen.md").read_text(encoding="utf-8")
REPLAY = SCRIPTS / "replay.lua"
PLAIN = SCRIPTS / "plain.pkt"


def run(script, capture, **environment):
    """(its calls, what else it printed, its errors); without a capture port 0 has none."""
    done = subprocess.run(
        ["lua5.4", HERE / "pktgen_mock.lua", script], capture_output=True, text=True, check=False, timeout=60,
        env={"PATH": os.environ["PATH"], "MOCK_PCAPS": f"0:{capture}" if capture else "", **environment})
    lines = done.stdout.splitlines()
    calls = [line.removeprefix("CALL ").strip() for line in lines if line.startswith("CALL ")]
    assert (done.returncode == 0) == (done.stderr == "")
    return calls, [line for line in lines if not line.startswith("CALL ")], done.stderr


@pytest.fixture
def capture(tmp_path):
    file = tmp_path / "some.pcap"
    file.write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(20))
    return file


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.lua")), ids=lambda path: path.name)
def test_scripts_are_lua(script):
    subprocess.run(["luac5.4", "-p", script], check=True)


def test_a_capture_is_sent_as_often_as_asked(capture):
    calls, said, errors = run(REPLAY, capture, TRIBUTARY_FRAMES="3400", TRIBUTARY_PERCENT="10")
    assert errors == ""
    waits = [call for call in calls if call == "delay 100"]
    assert len(waits) == 7  # 50 frames/ms x 10 % of 700 ms
    assert [call for call in calls if call != "delay 100"] == [
        "screen off", "pcap 0 on", "set 0 count 3400", "set 0 rate 10", "clr", "start 0", *["isSending 0"] * 7,
        "stop 0", "delay 1500", "portStats all port", "quit"]
    assert said == ["tributary: sent 3400, received 0, errors 0"]


def test_without_a_number_of_frames_time_ends_it(capture):
    calls, said, errors = run(REPLAY, capture, TRIBUTARY_SECONDS="2")
    assert errors == ""
    assert "set 0 count 0" in calls and "set 0 rate 100" in calls
    assert calls.count("delay 100") == 20
    assert calls[-4:] == ["stop 0", "delay 1500", "portStats all port", "quit"]
    assert said == ["tributary: sent 100000, received 0, errors 0"]


def test_a_number_that_is_empty_is_not_set_and_one_that_is_none_ends_it(capture):
    calls, said, errors = run(REPLAY, capture, TRIBUTARY_FRAMES="", TRIBUTARY_SECONDS="1")
    assert errors == "" and "set 0 count 0" in calls and calls[-1] == "quit"
    calls, said, errors = run(REPLAY, capture, TRIBUTARY_FRAMES="many", TRIBUTARY_SECONDS="1")
    assert said[0] == "tributary: TRIBUTARY_FRAMES=many is not a number" and "quit" in calls


@pytest.mark.parametrize(("right", "wrong", "why"), [
    ("pktgen.pcap(", "pktgen.pcaps(", "no function 'pcaps'"),
    ("pktgen.clr()", "pktgen.range.size(port)", "no function 'size'"),
    ("pktgen.start(port)", "pktgen.start(port, 1)", "start: wrong number of arguments: 2"),
    ('local port = "0"', 'local port = "1"', "there is no port 1"),
    ('"count"', '"frames"', "set does not support frames"),
    ("stats.opackets", "stats.packets", "no counter 'packets'"),
    ('portStats("all", "port")', 'portStats("all", "ports")', "no statistics of kind ports"),
    ("printf(", "cprint(", "no global 'cprint'"),
    ("pktgen.quit()", "", "does not quit"),
    ("break end", "break", "'end' expected"),
])
def test_mistakes_are_found(tmp_path, capture, right, wrong, why):
    text = REPLAY.read_text(encoding="utf-8")
    assert right in text
    script = tmp_path / "wrong.lua"
    script.write_text(text.replace(right, wrong), encoding="utf-8")
    assert why in run(script, capture, TRIBUTARY_FRAMES="1")[2]


def test_a_capture_that_is_missing_is_found(tmp_path):
    assert "port 0 has no capture" in run(REPLAY, None)[2]
    assert "none.pcap: No such file" in run(REPLAY, tmp_path / "none.pcap")[2]


@pytest.mark.parametrize("file", sorted(SCRIPTS.glob("*.pkt")), ids=lambda path: path.name)
def test_command_files_have_commands_of_pktgens(file):
    assert pktgen_commands.mistakes(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(("right", "wrong", "why"), [
    ("range 0 src mac start", "range 0 src mac begin", "no command"),
    ("range 0 size start 256", "range 0 size start", "no command"),
    ("range 0 proto udp", "range 0 proto sctp", "no command"),
    ("10.96.0.1\n", "10.96.0.256\n", "no command"),
    ("enable 0 range", "enable 0 ranges", "no command"),
    ("start 0\n", "start 1\n", "there is no port 1"),
    ("range 0 proto udp", "range 0-1 proto udp", "there is no port 1"),
])
def test_mistakes_in_command_files_are_found(right, wrong, why):
    text = PLAIN.read_text(encoding="utf-8")
    assert right in text
    found = pktgen_commands.mistakes(text.replace(right, wrong, 1))
    assert len(found) == 1 and why in found[0], found


def test_ranges_are_those_that_the_runbook_names():
    """1,024 addresses each way, none of which is on both sides; and each starts within its range."""
    ranges = {}
    for line in PLAIN.read_text(encoding="utf-8").splitlines():
        words = line.split("#", 1)[0].split()
        if words[:1] == ["range"] and words[-2] in ("start", "min", "max", "inc"):
            value = words[-1]
            number = int(value.replace(":", ""), 16) if ":" in value else int(ipaddress.ip_address(value)) \
                if "." in value else int(value)
            ranges.setdefault(" ".join(words[2:-2]), {})[words[-2]] = number
    assert set(ranges) == {"src mac", "dst mac", "src ip", "dst ip", "size"}
    for one in ranges.values():
        assert one["min"] <= one["start"] <= one["max"]
    for what in ("mac", "ip"):
        for way in ("src", "dst"):
            one = ranges[f"{way} {what}"]
            assert (one["max"] - one["min"]) // one["inc"] + 1 == 1024
        assert ranges[f"src {what}"]["max"] < ranges[f"dst {what}"]["min"]


def test_the_runbook_knows_files_and_variables():
    for name in re.findall(r"\$TRIBUTARY/(tools/pktgen/[\w.]+)", RUNBOOK):
        assert (TOP / name).is_file(), name
    for script in SCRIPTS.iterdir():
        assert script.name in RUNBOOK
    for variable in re.findall(r'os\.getenv\("(\w+)"\)', REPLAY.read_text(encoding="utf-8")):
        assert f"`{variable}`" in RUNBOOK or f"{variable}=" in RUNBOOK
