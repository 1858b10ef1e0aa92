"""Of all Python tests: a run whose only failures are expired waits of the test bed ends with status 75
(EX_TEMPFAIL), which tools/run-tests repeats. Any other failure keeps pytest's own status."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools/lib"))

from testbed.loop import WaitExpired  # noqa: E402  (needs the path above)

EXPIRED_STATUS = 75
_failures = {True: 0, False: 0}


def pytest_exception_interact(call):
    _failures[isinstance(call.excinfo.value, WaitExpired)] += 1


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.TESTS_FAILED and _failures[True] and not _failures[False]:
        session.exitstatus = EXPIRED_STATUS
