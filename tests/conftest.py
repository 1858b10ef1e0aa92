"""Of all Python tests: a run whose only failures are expired waits of the test bed ends with status 75
(EX_TEMPFAIL), which tools/run-tests repeats. Any other failure keeps pytest's own status. Each failure says
how long the machine stood still meanwhile."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools/lib"))

from testbed.heartbeat import Heartbeat  # noqa: E402  (needs the path above)
from testbed.loop import WaitExpired  # noqa: E402

EXPIRED_STATUS = 75
_failures = {True: 0, False: 0}
_heartbeat = Heartbeat()


def pytest_sessionstart():
    _heartbeat.start()


def pytest_runtest_setup():
    _heartbeat.reset()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    report = (yield).get_result()
    if report.failed:
        report.sections.append(("machine", f"longest pause {_heartbeat.longest_s() * 1000:.0f} ms"))


def pytest_exception_interact(call):
    _failures[isinstance(call.excinfo.value, WaitExpired)] += 1


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.TESTS_FAILED and _failures[True] and not _failures[False]:
        session.exitstatus = EXPIRED_STATUS
