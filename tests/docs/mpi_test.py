"""docs/mpi.md is true: its commands run as typed, at a port of a switch whose job is the page's.

Run by ctest as root, with the build directory in TRIBUTARY_BUILD.
"""
import os
import re
import sys
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(TOP / "tools/lib")]

import tour  # noqa: E402
from testbed.bed import Bed  # noqa: E402
from testbed.loop import Loop  # noqa: E402
from testbed.switch import Job  # noqa: E402

PAGE = (TOP / "docs/mpi.md").read_text(encoding="utf-8")
LIMIT_S = 120


def job():
    """The page's job, as the testbed wants it."""
    text = re.search(r"```yaml\n(.*?)```", PAGE, re.S)[1]
    (found,) = yaml.safe_load(text)["jobs"]
    rest = {key: value for key, value in found.items() if key not in ("id", "workers")}
    return Job(found["id"], found["workers"], tuple(rest.items()))


class Mpi(unittest.TestCase):
    def test_commands_print_what_the_page_shows(self):
        build = Path(os.environ["TRIBUTARY_BUILD"])
        libraries = [str(build / folder) for folder in ("lib", "worker/mpi")]
        # What makes Open MPI run as root, and with more ranks than there are cores.
        environment = {"LD_LIBRARY_PATH": ":".join(libraries), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1",
                       "OMPI_MCA_mpi_yield_when_idle": "1",
                       "PATH": "/usr/bin:" + os.environ["PATH"]}
        with Loop() as loop, Bed(loop, "veth", 1, [job()]) as bed:
            exports = []
            for number, step in enumerate(tour.steps(PAGE)):
                if step.command.startswith("export "):
                    exports.append(step.command)
                    continue
                script = "\n".join([*exports, step.command])
                process = bed.start(f"step{number}", ["bash", "-c", script], 0, env=environment,
                                    cwd=TOP)
                process.wait_exit(LIMIT_S)
                shown = "\n".join(process.stdout)
                self.assertEqual(process.returncode, 0, process.describe())
                self.assertTrue(tour.matches(step.output, shown), f"line {step.line}:\n{shown}")


if __name__ == "__main__":
    unittest.main()
