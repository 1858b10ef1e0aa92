"""tributary-sim as a user meets it: what it prints, writes, refuses, and exits with."""

import json
import os
import re
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCENARIO = """name: tiny
jobs:
  - {id: 1, workers: 4, chunk_bytes: 1024, ops: 3, op_bytes: 65536}
links: {bits_per_second: 10000000000}
switch_cost: {per_packet: 100ns, picoseconds_per_byte: 50}
heal_at: 0s
"""


def run(*arguments):
    return subprocess.run([os.environ["TRIBUTARY_SIM"], *map(str, arguments)], capture_output=True,
                          text=True, timeout=120, check=False)


@pytest.fixture
def scenario(tmp_path):
    def write(text=SCENARIO):
        path = tmp_path / "scenario.yaml"
        path.write_text(text)
        return path

    return write


def test_a_scenario_is_checked_and_not_run(scenario):
    done = run(scenario(), "--check")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("scenario.yaml: good\n") and done.stdout.count("\n") == 1
    done = run(scenario(SCENARIO.replace("ops: 3", "opps: 3")), "--check")
    assert done.returncode == 2 and "did you mean 'ops'" in done.stderr


def draw(report, picture):
    return subprocess.run([os.path.join(TOP, "tools/plot"), report, picture], capture_output=True,
                          text=True, timeout=120, check=False)


def words_of(svg):
    """Text of a drawing in SVG; matplotlib writes each text as a comment beside its shapes."""
    return re.findall(r"<!-- (.*?) -->", svg.read_text())


def test_a_report_as_text_json_and_plot(scenario, tmp_path):
    done = run(scenario(), "--json", tmp_path / "r.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "a short run says nothing on stderr"
    for words in ("op, all ranks", "slot held", "0.67 of a ring's", "switch busy", "events/s"):
        assert words in done.stdout, words
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["jobs"][0]["link_up"]["mean_data_bytes"] == 3 * 65536
    assert report["failure"] is None
    for name in ("rank_time", "slot_hold"):
        curve = report["jobs"][0][name + "_curve"]
        assert curve == sorted(curve) and curve[-1] == [report["jobs"][0][name]["max_ns"], 1.0]
    done = draw(tmp_path / "r.json", tmp_path / "r.svg")
    assert done.returncode == 0, done.stderr
    words = words_of(tmp_path / "r.svg")
    assert "job 1, 4 workers" in words and "Time a slot is held" in words, words
    assert not {"nan", "inf"} & set(words)


def test_the_same_seed_gives_the_same_run_and_another_does_not(scenario):
    def trace(*arguments):
        return run(scenario(), *arguments).stdout.rsplit("trace", 1)[1]

    assert trace() == trace() != trace("--seed", "2")


def test_scaling_prints_a_row_for_each_size(scenario, tmp_path):
    done = run(scenario(), "--scaling", "2,8", "--json", tmp_path / "r.json", "--quiet")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert len(rows) == 4 and rows[2].startswith("| 2 |") and rows[3].startswith("| 8 |")
    assert [r["jobs"][0]["workers"] for r in json.loads((tmp_path / "r.json").read_text())] == [2, 8]
    assert draw(tmp_path / "r.json", tmp_path / "r.svg").returncode == 0
    assert {"ring allreduce", "workers"} <= set(words_of(tmp_path / "r.svg"))


def test_what_cannot_be_drawn_is_refused_by_name(tmp_path):
    (tmp_path / "r.json").write_text('{"no": "report"}')
    for report, picture, what in (
            ("r.json", "r.svg", "r.json: not a report of tributary-sim"),
            ("gone.json", "r.svg", "gone.json"),
            ("r.json", "r.doc", "r.doc: allowed endings are .svg, .png and .pdf")):
        done = draw(tmp_path / report, tmp_path / picture)
        assert done.returncode == 2 and what in done.stderr, done.stderr
        assert not (tmp_path / picture).exists()


@pytest.mark.parametrize("text, where, what", [
    ("jobs:\n  - {id: 1, wndow: 3}\n", ":2:13", "did you mean 'window'"),
    ("jobs:\n  - {id: 1}\nlinks: {delay_min: soon}\n", ":3:20", "is not a duration"),
    ("jobs:\n  - {id: 1, chunk_bytes: 64, op_bytes: 100, payload: modelled}\n", ":2:", "whole chunks"),
    ("jobs:\n  - {id: 1, workers: 5}\nfat_tree: {levels: 3, radix: 1}\n", ":3", "no room"),
    ("jobs: [\n", ":", "scenario.yaml"),
])
def test_a_bad_scenario_is_refused_with_its_line(scenario, text, where, what):
    path = scenario(text)
    done = run(path)
    assert done.returncode == 2
    assert f"{path}{where}" in done.stderr and what in done.stderr, done.stderr


def test_bad_command_lines_are_refused(scenario):
    assert run().returncode == 2
    assert run("/nonexistent.yaml").returncode == 2
    assert run(scenario(), "--scaling", "0").returncode == 2
    done = run(scenario(), "--json", "/nonexistent/r.json")
    assert done.returncode == 1 and "/nonexistent/r.json: cannot create: No such" in done.stderr


def test_a_scenario_that_is_no_file_is_refused():
    for path, why in (("/dev/zero", "is not a regular file"), ("/nowhere", "No such file")):
        done = run(path)
        assert done.returncode == 2 and why in done.stderr, done.stderr


def test_lost_output_is_a_failure(scenario):
    for arguments in ([scenario()], ["--help"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([os.environ["TRIBUTARY_SIM"], *map(str, arguments)], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        assert done.returncode == 1
        assert "cannot write to standard output: No space left on device" in done.stderr
    done = run(scenario(), "--json", "/dev/full")
    assert done.returncode == 1 and "/dev/full: cannot write: No space left" in done.stderr


def test_failed_sessions_are_a_failure(scenario):
    done = run(scenario(SCENARIO + "script: [{action: crash, target: worker, index: 0, at: 30us}]\n"))
    assert done.returncode == 1, done.stdout
    assert "sessions of ranks failed" in done.stderr


def test_a_run_without_progress_fails_and_says_who_waits(scenario):
    done = run(scenario(SCENARIO + "limit: 10us\n"))
    assert done.returncode == 1
    assert "FAILED: no progress" in done.stdout and "job 1 rank 0 joins" in done.stdout


def test_help_explains_and_shipped_scenarios_run():
    done = run("--help")
    assert done.returncode == 0
    for words in ("SCENARIO", "--scaling", "--json", "Exit status"):
        assert words in done.stdout
    folder = os.path.join(TOP, "tools/sim/scenarios")
    assert run(os.path.join(folder, "small.yaml")).returncode == 0
    done = run(os.path.join(folder, "scale.yaml"), "--scaling", "2", "--quiet")
    assert done.returncode == 0, done.stderr
