"""Data from one rank to all others of a job, by broadcasts of pieces, until all have its digest.

    answers (who refuses, who has which pieces)
        ─▶ pieces from the first one that a rank lacks ─▶ answers ─▶ done
                             ▲                                │
                             └────── a digest is wrong ◀──────┘   at most ATTEMPTS times

Several broadcasts are in flight; the switch's protocol cuts, acknowledges and retransmits them. All
ranks run the same ops in the same order, since each derives them from answers that all have seen.
"""

import collections
import struct

import numpy as np

from . import pieces
from .errors import DigestMismatch, TaskError
from .records import Answer, exchange, refusal, text_of

WINDOW = 4  # broadcasts in flight
ATTEMPTS = 3
MOST_SMALL = 16 << 30
_LENGTH = struct.Struct(">Q32s")


def agree(comm, refuse, held=0):
    """First answers. The rank with a reason in `refuse`, an exception, raises it; others TaskError."""
    answers = exchange(comm, Answer(refuse=refusal(refuse), held=held))
    if refuse is not None:
        refuse.main_sees = True
        raise refuse
    refusing = [rank for rank, answer in enumerate(answers) if answer.refuse]
    if refusing:
        raise TaskError(f"{text_of(refusing)} refused: {answers[refusing[0]].refuse}")
    return min(answer.held for answer in answers)


def send(comm, source, piece_bytes, first):
    """Broadcasts pieces from `first` on. `source`: a pieces.Source."""
    flying = collections.deque()
    for index in range(first, pieces.count_of(source.length, piece_bytes)):
        size = pieces.length_of(index, source.length, piece_bytes)
        array = pieces.pack(index, source.read(index * piece_bytes, size))
        flying.append(comm.broadcast(array, comm.rank))
        if len(flying) == WINDOW:
            flying.popleft().wait()
    for request in flying:
        request.wait()


def receive(comm, root, length, piece_bytes, first, sink):
    """Takes the pieces that send() of rank `root` broadcasts into `sink`."""
    flying = collections.deque()
    count = pieces.count_of(length, piece_bytes)
    for index in range(first, count + WINDOW):
        if index < count:
            size = pieces.length_of(index, length, piece_bytes)
            array = np.empty(pieces.HEAD.size + size, np.uint8)
            flying.append((index, array, comm.broadcast(array, root)))
        if flying and (len(flying) == WINDOW or index >= count):
            at, taken, request = flying.popleft()
            request.wait()
            sink.take(at, taken)


def run(comm, root, length, piece_bytes, end, first):
    """All of a transfer after agree(). `end`: a Source on rank `root`, a sink elsewhere.

    Raises DigestMismatch, on every rank, if some rank never gets data with the right digest."""
    for _ in range(ATTEMPTS):
        if comm.rank == root:
            send(comm, end, piece_bytes, first)
            answer = Answer(good=True, held=pieces.count_of(length, piece_bytes))
        else:
            receive(comm, root, length, piece_bytes, first, end)
            good = end.check()
            answer = Answer(good=good, held=end.held)
        answers = exchange(comm, answer)
        bad = [rank for rank, one in enumerate(answers) if not one.good]
        if not bad:
            return
        first = min(one.held for one in answers)
    raise DigestMismatch(
        f"{text_of(bad)} got data with another digest than {text_of([root])} stated, "
        f"{ATTEMPTS} times; does the data change while it is sent?"
    )


def small(comm, root, text=None, most=MOST_SMALL, wanted=True):
    """Bytes of rank `root`, where `text` has them, to all ranks: for data that fits memory.

    wanted: False on a rank that only takes part; it gets None. TaskError on every rank if the bytes
    are more than `most`."""
    head = np.zeros(_LENGTH.size, np.uint8)
    source = None
    if comm.rank == root:
        source = pieces.Source(text)
        packed = _LENGTH.pack(source.length, bytes.fromhex(source.digest))
        head[:] = np.frombuffer(packed, np.uint8)
    comm.broadcast(head, root).wait()
    length, digest = _LENGTH.unpack(head.tobytes())
    if length > most:
        raise TaskError(f"{text_of([root])} offers {length} bytes; at most {most} are taken")
    if source is not None:
        end = source
    else:
        end = pieces.Sink(length, digest.hex(), pieces.DEFAULT) if wanted else pieces.Nowhere()
    run(comm, root, length, pieces.DEFAULT, end, 0)
    return end.value if source is None and wanted else text
