"""Small records that all members of a job exchange: who is there, what it has, how it went.

A record is one JSON object in RECORD_BYTES bytes, filled up with zeros; all_gather carries it. The
members of a job see the same list of records, so that each may decide alone what all do next.
"""

import json
import re
from dataclasses import asdict, dataclass, fields

import numpy as np

from .errors import TaskError

RECORD_BYTES = 2048
_MOST_REASON = 300  # characters
_MOST_REASON_BYTES = 1600  # as JSON writes them, twelve bytes for some
_RUN = re.compile(r"([0-9a-f]{12})?\Z")
MAIN, WORKER = "main", "worker"
TASK, ROUNDS, RESULT = "task", "rounds", "result"


@dataclass(frozen=True)
class Hello:
    """A member's account of itself when it meets others.

    role: main or worker. stage: what it is about: to give or get the task, rounds, the result.
    task: identity of the task that it has, "" if none.
    begun, completed: rounds. result: digest of its result. each: every worker delivers a result of
    its own. failed: why it ends the task, "" while it goes on. run: of a worker, its candidate for the
    run until the workers have met, then theirs (meeting.run_of())."""

    role: str
    stage: str
    task: str = ""
    begun: int = 0
    completed: int = 0
    result: str = ""
    each: bool = False
    failed: str = ""
    run: str = ""

    def __post_init__(self):
        _check_types(self)
        if self.role not in (MAIN, WORKER) or self.stage not in (TASK, ROUNDS, RESULT):
            raise ValueError(f"role '{self.role}', stage '{self.stage}'")
        if not _RUN.match(self.run):
            raise ValueError(f"run '{self.run}'")


@dataclass(frozen=True)
class Answer:
    """How a part of a meeting went for a member: refuse says why it takes no part, "" if it does.

    held: pieces that it has. good: its data has the right digest."""

    refuse: str = ""
    held: int = 0
    good: bool = False

    def __post_init__(self):
        _check_types(self)


def shortened(text):
    """So much of a text as fits a record, as valid Unicode."""
    text = text[:_MOST_REASON].encode("utf-8", "replace").decode()
    while len(json.dumps(text)) > _MOST_REASON_BYTES:
        text = text[: len(text) * 9 // 10]
    return text


def refusal(error):
    """An Answer's `refuse` for an exception; "" for None."""
    return "" if error is None else shortened(str(error) or type(error).__name__)


def _check_types(record):
    for one in fields(record):
        value = getattr(record, one.name)
        if type(value) is not one.type or (one.type is int and not 0 <= value < 1 << 63):
            raise ValueError(f"{one.name} is {value!r}")


def exchange(comm, record):
    """The records of all ranks, in rank order; TaskError names the rank of one that is none."""
    text = json.dumps(asdict(record)).encode()
    if len(text) > RECORD_BYTES:
        raise TaskError(f"a record of {len(text)} bytes; at most {RECORD_BYTES}")
    own = np.zeros(RECORD_BYTES, np.uint8)
    own[: len(text)] = np.frombuffer(text, np.uint8)
    rows = comm.all_gather(own).wait()
    return [_parse(type(record), rank, row) for rank, row in enumerate(rows)]


def _parse(kind, rank, row):
    try:
        return kind(**json.loads(row.tobytes().rstrip(b"\0")))
    except (RecursionError, TypeError, ValueError) as error:
        raise TaskError(f"rank {rank} is no member of a task of this version: {error}") from None


def text_of(ranks):
    """"rank 3", "ranks 1 and 3", "ranks 1, 2 and 3": as errors name them."""
    names = [str(rank) for rank in ranks]
    if len(names) == 1:
        return f"rank {names[0]}"
    return f"ranks {', '.join(names[:-1])} and {names[-1]}"
