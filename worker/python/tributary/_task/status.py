"""A member's account of itself for `tributary show tasks`: two small files in a folder.

    JOB-RANK.json    what the member does, how far it is, and its time-line
    JOB-RANK.prom    the same figures for the textfile collector of a Prometheus node exporter

Both appear whole or not at all, and stay when the member ends. A folder that cannot be written ends
the account, with a warning, and never the task.
"""

import json
import math
import os
import re
import time
import warnings
from pathlib import Path

FOLDER = "TRIBUTARY_TASKS"  # environment variable: the folder, where Task() names none
VERSION = 1
# Events at the begin and at the end of the time-line that are kept.
KEPT_FIRST, KEPT_LAST = 50, 150
# Not "job", which is Prometheus' own label of a target.
_LABELS = (("job_id", "job"), ("rank", "rank"), ("role", "role"))
_MOST_TEXT = 300
_EVERY_S = 0.5  # of progress; events are written at once

_GAUGES = (
    ("bytes", "tributary_task_bytes", "Bytes of the task's data that were sent or received"),
    ("of_bytes", "tributary_task_size_bytes", "Bytes of the task's data"),
    ("round", "tributary_task_rounds", "Rounds done"),
    ("norm", "tributary_task_norm", "Norm of the last round's sum"),
    ("retries", "tributary_task_retries", "Meetings and rounds that failed and were tried again"),
    ("updated", "tributary_task_updated_seconds", "When the member wrote this, in Unix time"),
)


class Status:
    """One member's account. Not thread-safe.

    folder: a path; None: that of the environment; neither: no account."""

    def __init__(self, folder, options, role, sums=None):
        folder = os.environ.get(FOLDER) or None if folder is None else folder
        self._folder = None if folder is None else Path(folder)
        self._next = 0.0
        self._line = []
        self._row = {"job": options.get("job"), "rank": options.get("rank"), "role": role, "sums": sums,
                     "task": "", "state": "begins", "bytes": 0, "of_bytes": 0, "round": 0,
                     "most_rounds": None, "norm": None, "criterion": "", "missing": "", "retries": 0}

    def joined(self, rank):
        """The member's rank in the task job, where a manager chose it."""
        self._row["rank"] = rank

    def event(self, what, **changes):
        """Adds to the time-line."""
        self._note(what)
        self._row.update(changes)
        self._write()

    def progress(self, **changes):
        """Figures that change often: written twice a second."""
        self._row.update(changes)
        if time.monotonic() >= self._next:
            self._write()

    def retry(self, error):
        """A try came to nothing; the next one follows."""
        self.event(f"tries again: {error}", retries=self._row["retries"] + 1,
                   missing=_ranks(getattr(error, "missing_ranks", ())))

    def watch(self, end):
        """Follows a pieces.Source or Sink of the task's data."""
        end.watch = lambda done: self.progress(bytes=done)

    def _note(self, what):
        what = what[:_MOST_TEXT]
        if self._line and self._line[-1]["what"] == what:
            self._line[-1]["times"] = self._line[-1].get("times", 1) + 1
            return
        self._line.append({"at": round(time.time(), 3), "what": what})
        if len(self._line) > KEPT_FIRST + KEPT_LAST:
            del self._line[KEPT_FIRST]

    def _write(self):
        self._next = time.monotonic() + _EVERY_S
        if self._folder is None or self._row["rank"] is None:
            return
        row = {name: None if isinstance(value, float) and not math.isfinite(value) else value
               for name, value in self._row.items()}
        row["updated"] = round(time.time(), 3)
        stem = re.sub(r"[^A-Za-z0-9_.]", "_", f"{row['job']}") + f"-{row['rank']}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._replace(stem + ".json", json.dumps({"tributary_task_status": VERSION, **row,
                                                      "line": self._line}, allow_nan=False))
            self._replace(stem + ".prom", metrics_of(row))
        except (OSError, TypeError, ValueError) as error:  # TypeError: a job that is no Python number
            warnings.warn(f"{self._folder}: {error}; `tributary show tasks` will not show this member",
                          RuntimeWarning, stacklevel=2)
            self._folder = None

    def _replace(self, name, text):
        fresh = self._folder / f".{name}.{os.getpid()}"
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, self._folder / name)


def _ranks(ranks):
    return ", ".join(str(rank) for rank in ranks)


def metrics_of(row):
    """The figures of a row in Prometheus' text format."""
    labels = ",".join(f'{name}="{_escape(row[key])}"' for name, key in _LABELS)
    lines = []
    for key, name, text in _GAUGES:
        if row.get(key) is not None:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge", f"{name}{{{labels}}} {row[key]!r}"]
    return "\n".join(lines) + "\n"


def _escape(value):
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
