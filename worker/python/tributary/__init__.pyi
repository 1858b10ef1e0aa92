"""Collectives on NumPy arrays over all ranks of a job, in the network. See help(tributary)."""

import builtins
from types import TracebackType
from typing import Any, Literal, Optional, Sequence, Type, Union

import numpy.typing

__version__: str

Array = numpy.typing.NDArray[Any]
Arrays = Union[Array, Sequence[Array]]
Op = Literal["sum", "mean", "prod", "min", "max", "band", "bor", "bxor", "land", "lor", "lxor"]
DType = Optional[Literal["bfloat16"]]

class Error(RuntimeError):
    reason: Optional[str]
    missing_ranks: list[int]

class OverflowError(Error, builtins.OverflowError): ...

class Request:
    # An Array; of a list of arrays, a tuple of them.
    def wait(self, timeout: Optional[float] = None) -> Any: ...
    def done(self) -> bool: ...
    @property
    def degraded(self) -> bool: ...
    @property
    def counted(self) -> int: ...
    @property
    def missing(self) -> list[int]: ...
    @property
    def parts(self) -> list[tuple[int, int, int]]: ...
    def divide(self) -> Array: ...

class Communicator:
    def allreduce(
        self,
        array: Arrays,
        op: Op = "sum",
        dtype: DType = None,
        encoding: Literal["plain", "block-scaled"] = "plain",
        scale_exponent: Optional[int] = None,
    ) -> Request: ...
    def reduce(self, array: Arrays, root: int, op: Op = "sum", dtype: DType = None) -> Request: ...
    def broadcast(self, array: Arrays, root: int, dtype: DType = None) -> Request: ...
    def all_gather(
        self, array: Array, output: Optional[Array] = None, dtype: DType = None
    ) -> Request: ...
    def reduce_scatter(
        self,
        array: Array,
        output: Optional[Array] = None,
        op: Op = "sum",
        dtype: DType = None,
    ) -> Request: ...
    def open_model(self, array: Array, number: int = 0, root: int = 0) -> Request: ...
    def update_model(self, array: Array, number: int = 0, op: Op = "sum") -> Request: ...
    def model_step(self) -> Optional[int]: ...
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
    rank: Optional[int] = None,
    size: Optional[int] = None,
    address: Optional[str] = None,
    join_timeout: float = 60.0,
    op_timeout: float = 60.0,
    loss_group: int = 0,
    host_config: str = "",
    host_node: str = "",
    at_host: bool = False,
) -> Communicator: ...

def groups(
    world_size: int, dimensions: dict[str, int], kind: str, *, expert: int = 1
) -> list[list[int]]: ...
def group_jobs(
    world_size: int,
    dimensions: dict[str, int],
    kinds: list[str],
    first_job: int,
    *,
    expert: int = 1,
) -> list[tuple[int, str, list[int]]]: ...
def task_information(group: list[int], units_per_node: int) -> list[tuple[int, int]]: ...
