"""How a program of ours ends whose work a process, a wait or a signal can end early."""

import sys

from testbed.loop import Interrupted
from testbed.process import ProcessFailed


def exit_status(name, work):
    """Returns what `work` returns; 1 where a process failed or was too slow, 130 where a signal ended it: one line says so."""
    try:
        return work()
    except (ProcessFailed, TimeoutError) as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return 1
    except Interrupted as signal:
        print(f"{name}: stopped by {signal}", file=sys.stderr, flush=True)
        return 130
