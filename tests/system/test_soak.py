"""tools/soak, in short: each kind of load twice on a real switch; and that it can fail."""

import dataclasses
import json
import sys

import pytest
from testbed import soak
from testbed.process import Process
from testbed.tree import PYTHON, TOP


def run(loop, directory, passes, *options):
    report = directory / "soak.json"
    command = [PYTHON, "-B", TOP / "tools/soak", "--passes", str(passes), "--round", "0.7", "--json", report, *options]
    with Process(loop, "soak", command, directory / "soak.log") as process:
        process.check_exit(200)
    rounds = json.loads(report.read_text())
    assert [r["load"] for r in rounds] == list(soak.LOADS) * passes
    assert all(r["verified"] > 0 for r in rounds if r["load"] != "killed")
    assert all(r["events"] == 0 and r["slots"] == 0 and r["open_files"] > 0 and r["memory_mib"] > 0 for r in rounds)
    return rounds


def test_two_passes_and_nothing_grows(loop, tmp_path):
    """With two packet loops, which is what hours have, too."""
    assert all(r["handed"] > 0 for r in run(loop, tmp_path, 2) if r["load"] != "hosts")


def test_a_pass_with_one_loop(loop, tmp_path):
    assert all(r["handed"] == 0 for r in run(loop, tmp_path, 1, "--lcores", "1"))


def test_what_grows_is_named():
    first = soak.Sample(memory_mib=80.0, open_files=16, threads=6, buffers=40, slots=0, events=0)
    later = dataclasses.replace(first, buffers=50)
    assert soak.grown([first, later], first) == []
    assert soak.grown([first, later], later) == []
    more = dataclasses.replace(later, open_files=17, memory_mib=95.5, slots=1, events=3)
    assert soak.grown([first, later], more) == [
        "95.5 MiB of memory; in the first pass 80 at most",
        "17 open files; in the first pass 16 at most",
        "1 slots in use; in the first pass 0 at most",
        "3 events that should not happen; in the first pass 0 at most",
    ]


def test_events_that_should_not_happen_are_counted():
    metrics = """# TYPE tributary_fdb_events_total counter
tributary_fdb_events_total{event="learned"} 700
tributary_fdb_events_total{event="evicted"} 2
tributary_drops_total{port="p0",reason="mtu-exceeded"} 5
tributary_drops_total{port="p1",reason="no-mbuf"} 3
tributary_drops_total{port="p1",reason="tx-full"} 9
tributary_drops_total{port="p1",reason="handover-full"} 7
"""
    assert soak.events_in(metrics) == 5
    with pytest.raises(soak.ProcessFailed, match="lack"):
        soak.events_in("")


def test_growth_ends_the_soak_with_its_reason(monkeypatch, capsys, tmp_path):
    """The rounds are not real here: what is asked is how the command ends."""

    class Leaky:
        def __init__(self, *_):
            self._rounds = 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def round(self, _load):
            self._rounds += 1
            return 1

        def handed(self):
            return 0

        def rest(self):
            return soak.Sample(80.0, 16 + self._rounds // 8, 6, 40, 0)

    monkeypatch.setattr(soak, "Soak", Leaky)
    report = tmp_path / "soak.json"
    assert soak.main(["--passes", "3", "--json", str(report)]) == 1
    assert "after round 8 (plain): 17 open files; in the first pass 16" in capsys.readouterr().err
    assert [r["open_files"] for r in json.loads(report.read_text())] == [16] * 7 + [17]


@pytest.mark.parametrize(("wrong", "why"), [
    ("--passes 0", "positive numbers"), ("--minutes -1", "positive numbers"), ("--round 0", "positive numbers"),
    ("--lcores 0", "from 1 to 16"), ("--lcores 17", "from 1 to 16")])
def test_wrong_calls(wrong, why, capsys):
    with pytest.raises(SystemExit, match="2"):
        soak.main(wrong.split())
    assert why in capsys.readouterr().err


def test_a_switch_that_dies_is_noticed(monkeypatch, capsys):
    monkeypatch.setattr(soak, "binary", lambda _build, _name: sys.executable)
    assert soak.main(["--passes", "1"]) == 1
    assert "soak: " in capsys.readouterr().err
