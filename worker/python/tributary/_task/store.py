"""Main's memory between two processes: a folder with the task's identity, and its result.

    task.json    {"task": identity, "run": …}    the task has reached all workers
    result.json  {"task": …, "parts": n, "sizes": […]}; result.bin has the parts' bytes

Files appear whole or not at all. One folder is for one task.
"""

import json
import os
from pathlib import Path

from . import results
from .errors import TaskError


class Store:
    """folder: a path, made if it is missing; None: nothing outlives the process."""

    def __init__(self, folder):
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        found = self._read("task.json")
        self.task, self.run = found.get("task", ""), found.get("run", "")

    def expect(self, task):
        """Whether that task has been distributed; TaskError if the folder is another one's."""
        if self.task and self.task != task:
            raise TaskError(f"{self._folder} is of task {self.task[:12]}, and this is {task[:12]}: other "
                            "data, metadata or criterion; allowed: the same, or another folder")
        return self.task == task

    def distributed(self, task, run):
        """Notes that all workers have it."""
        self._write("task.json", json.dumps({"task": task, "run": run}).encode())
        self.task, self.run = task, run

    def keep(self, task, blobs):
        """Keeps a result."""
        if self._folder is None:
            return
        self._write("result.bin", b"".join(blobs))
        sizes = [len(blob) for blob in blobs]
        self._write("result.json", json.dumps({"task": task, "sizes": sizes}).encode())

    def result(self):
        """The TaskResult that is kept, or None. TaskError if it is damaged."""
        sizes = self._read("result.json").get("sizes")
        if not sizes:
            return None
        data, blobs = (self._folder / "result.bin").read_bytes(), []
        for size in sizes:
            blobs.append(data[:size])
            data = data[size:]
        return results.decode(blobs)

    def _read(self, name):
        if self._folder is None or not (self._folder / name).exists():
            return {}
        try:
            found = json.loads((self._folder / name).read_text(encoding="utf-8"))
        except ValueError as error:
            raise TaskError(f"{self._folder / name}: {error}") from None
        return found if isinstance(found, dict) else {}

    def _write(self, name, data):
        if self._folder is None:
            return
        fresh = self._folder / (name + ".new")
        with open(fresh, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self._folder / name)
