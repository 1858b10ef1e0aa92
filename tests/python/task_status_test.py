"""C3: what a task's members report of themselves: rows, time-line, metrics, and folders that fail."""

import json
import warnings

import numpy as np
import pytest
import tributary
from fake_jobs import Member
from task_bed import DATA, STATED, SUM_JOB, TASK_JOB, WORKERS, bed, descend, distribute, everyone, main  # noqa: F401
from tributary._task import status as of
from tributary._task.criterion import Criterion


def report(folder, rank):
    return json.loads((folder / f"{TASK_JOB}-{rank}.json").read_text())


def events(folder, rank):
    return [event["what"] for event in report(folder, rank)["line"]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(of.FOLDER, str(tmp_path / "reports"))
    return tmp_path / "reports"


def test_c3_every_member_reports_what_it_did(bed, folder):
    first = main(bed)
    everyone(bed.start(descend))
    result = first.result()
    row = report(folder, 0)
    assert (row["role"], row["state"], row["bytes"], row["of_bytes"]) == ("main", "done", len(DATA), len(DATA))
    assert (row["round"], row["norm"], row["criterion"]) == (result.rounds, result.norm, "norm < 0.001")
    assert "gives the task to 3 workers" in events(folder, 0)
    assert events(folder, 0)[-1] == f"has the result of {result.rounds} rounds"
    for rank in range(1, WORKERS + 1):
        worker = report(folder, rank)
        assert worker["task"] == row["task"] and worker["sums"] == SUM_JOB
        assert (worker["state"], worker["bytes"], worker["round"]) == ("done", len(DATA), result.rounds)
        at = [event["at"] for event in worker["line"]]
        assert at == sorted(at)
        assert events(folder, rank)[1:] == [
            "receives the task", "has the task", "round 1 is done",
            f"round {result.rounds} is final: norm", "offers the result to main", "main has the result"]


def test_c3_metrics_of_a_member(bed, folder):
    first = main(bed)
    everyone(bed.start(descend))
    rounds = first.result().rounds
    text = (folder / f"{TASK_JOB}-2.prom").read_text()
    labels = f'{{job_id="{TASK_JOB}",rank="2",role="worker"}}'
    assert f"tributary_task_rounds{labels} {rounds}\n" in text
    assert f"tributary_task_bytes{labels} {len(DATA)}\n" in text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.split()[-1]) >= 0


def test_c3_a_round_that_failed_is_told_with_the_missing_ranks(bed, folder):
    bed.kill(SUM_JOB, 1, "allreduce", after=3)
    first = main(bed)
    workers = bed.start(descend)
    workers[1].join()
    workers[1] = bed.start_one(descend, 1)
    everyone(workers)
    first.result()
    assert report(folder, 1)["retries"] >= 1
    assert any(one.startswith("tries again: ") for one in events(folder, 1))
    assert report(folder, 1)["missing"] == ""  # they are back


def test_c3_a_member_that_fails_says_why(bed, folder):
    def serve():
        with bed.worker(0, memory_bytes=1, patience=1.0) as task:
            task.receive(timeout=0.2)

    Member(serve).raised(tributary.Error)
    assert report(folder, 1)["state"] == "failed"
    assert events(folder, 1)[-1].startswith("ends: Error: job 4: waiting for ranks [1, 2]")
    assert report(folder, 1)["missing"] == "1, 2"


def test_c3_without_a_folder_nothing_is_written(monkeypatch):
    monkeypatch.delenv(of.FOLDER, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of.Status(None, {"job": 1, "rank": 0}, "main").event("begins")


def test_c3_a_folder_that_cannot_be_written_is_a_warning_once(tmp_path):
    (tmp_path / "file").write_text("")
    status = of.Status(tmp_path / "file", {"job": 1, "rank": 0}, "main")
    with pytest.warns(RuntimeWarning, match="tributary show tasks. will not show this member"):
        status.event("begins")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        status.event("goes on")


def test_c3_names_of_jobs_are_no_paths(tmp_path):
    of.Status(tmp_path, {"job": "../a b", "rank": 3}, "main").event("begins")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".._a_b-3.json", ".._a_b-3.prom"]
    assert 'job_id="../a b"' in (tmp_path / ".._a_b-3.prom").read_text()


def test_c3_a_long_time_line_keeps_its_begin_and_its_end(tmp_path):
    status = of.Status(tmp_path, {"job": 1, "rank": 0}, "worker")
    for number in range(500):
        status.event(f"event {number}")
        status.event(f"event {number}", norm=np.inf)
    found = json.loads((tmp_path / "1-0.json").read_text())
    assert found["norm"] is None
    line = found["line"]
    assert len(line) == of.KEPT_FIRST + of.KEPT_LAST and all(event["times"] == 2 for event in line)
    assert line[0]["what"] == "event 0" and line[-1]["what"] == "event 499"
    assert line[of.KEPT_FIRST]["what"] == f"event {500 - of.KEPT_LAST}"


@pytest.mark.parametrize("stated, text", [
    (STATED, "norm < 0.001"), ({"most_rounds": 3}, "rounds"),
    ({"most_rounds": 3, "norm_below": 2, "relative_change_below": 0.5, "over_rounds": 4},
     "norm < 2 or change < 0.5 over 4")])
def test_c3_a_criterion_in_words(stated, text):
    assert str(Criterion.of(stated)) == text
