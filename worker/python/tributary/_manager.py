"""Where a job's ranks join, as a cluster's manager says: what init(manager=...) asks.

The library libtributary-manager is loaded when a manager is named, and not before.
"""

import ctypes
import json
import os
import socket
import time
from pathlib import Path

_LIBRARY = "libtributary-manager.so.0"
# Pieces of waiting, between which Ctrl-C works. Each one connects anew, which takes a busy machine longer.
_SLICE_S = 0.5
_LONGEST_SLICE_S = 2


def _load():
    build = Path(__file__).resolve().parents[2]
    beside = (build / "lib" / _LIBRARY, build.parent / "manager/api" / _LIBRARY)
    name = next((str(path) for path in beside if path.exists()), _LIBRARY)
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise RuntimeError(f"manager: {error}; it is part of the package tributary") from None
    library.tributary_manager_wait.restype = ctypes.c_void_p
    library.tributary_manager_wait.argtypes = [ctypes.c_char_p]
    library.tributary_manager_free.argtypes = [ctypes.c_void_p]
    return library


def _wait(library, request):
    answer = library.tributary_manager_wait(json.dumps(request).encode())
    try:
        return json.loads(ctypes.string_at(answer))
    finally:
        library.tributary_manager_free(answer)


def place(manager, job, *, request=None, worker=None, rank=None, timeout=60.0):
    """job, rank, size and address for init(), once every switch has the job.

    manager: "unix:PATH" or "HOST:PORT"; for the latter TRIBUTARY_TLS_CA, TRIBUTARY_TLS_CERT and
        TRIBUTARY_TLS_KEY of the environment name PEM files.
    job: its name. request: a file with its request, which any rank may submit.
    worker: this one's name in the topology, by default the host's; or rank: which one this is.
    timeout: seconds, in which a manager that cannot be reached is tried again.
    """
    asked = {
        "manager": manager,
        "job": job,
        "request": Path(request).read_text(encoding="utf-8") if request else "",
        "file_name": str(request or ""),
        **{key: os.environ.get(f"TRIBUTARY_TLS_{key.upper()}", "") for key in ("ca", "cert", "key")},
    }
    library = _load()
    end = time.monotonic() + timeout
    piece = _SLICE_S
    while True:
        left = max(0.001, end - time.monotonic())
        is_last = left < 2 * piece
        answer = _wait(library, {**asked, "timeout_s": left if is_last else piece})
        if answer["ok"]:
            break
        if answer["code"] != "DEADLINE_EXCEEDED" or is_last:
            wrong = ValueError if answer["code"] in ("USAGE", "INVALID_ARGUMENT") else RuntimeError
            raise wrong(f"manager: {answer['error']}")
        piece = min(2 * piece, _LONGEST_SLICE_S)
    found = answer["reply"]
    if rank is None:
        own = worker or socket.gethostname()
        ranks = [member["rank"] for member in found["members"] if member["worker"] == own]
        if len(ranks) != 1:
            workers = ", ".join(member["worker"] for member in found["members"])
            raise ValueError(f"worker is '{own}', and the job's are {workers}; allowed: one of these")
        (rank,) = ranks
    addresses = {member["rank"]: member["address"] for member in found["members"]}
    if rank not in addresses:
        raise ValueError(f"rank is {rank}; allowed are 0 to {len(addresses) - 1}")
    return {"job": found["id"], "rank": rank, "size": found["workers"], "address": addresses[rank]}
