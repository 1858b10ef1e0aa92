"""Sums NumPy arrays over all ranks of a job, in the network. See help(tributary)."""

from types import TracebackType
from typing import Literal, Optional, Type, Union

import numpy
import numpy.typing

__version__: str

Array = Union[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.int32]]

class Error(RuntimeError):
    reason: Optional[str]
    missing_ranks: list[int]

class Request:
    def wait(self) -> Array: ...
    def done(self) -> bool: ...

class Communicator:
    def allreduce(self, array: Array, op: Literal["sum"] = "sum") -> Request: ...
    def barrier(self) -> None: ...
    def stats(self) -> dict[str, int]: ...
    def close(self) -> None: ...
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Communicator: ...
    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...

def init(
    *,
    job: int,
    rank: int,
    size: int,
    address: str,
    join_timeout: float = 60.0,
    op_timeout: float = 60.0,
) -> Communicator: ...
