"""Collectives on NumPy arrays over all ranks of a job, in the network. See help(tributary)."""

import builtins
import dataclasses
import os
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

class TaskError(Error): ...
class WrongRole(TaskError): ...
class MainConflict(TaskError): ...
class TaskTooLarge(TaskError): ...
class DigestMismatch(TaskError): ...
class NormError(TaskError): ...

class NotConverged(TaskError):
    result: Optional[TaskResult]

class WorkerFailed(TaskError):
    failures: dict[int, str]

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
        name: Optional[str] = None,
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
    def barrier(self, timeout: Optional[float] = None) -> None: ...
    def resize(self, size: int) -> bool: ...
    def allocate(
        self, shape: Union[int, Sequence[int]], dtype: Any = "float32"
    ) -> Array: ...
    def put(self, name: str, value: Union[Array, bytes], timeout: float = 10.0) -> None: ...
    def get(self, name: str, timeout: float = 10.0) -> Any: ...
    def stats(self) -> dict[str, int]: ...
    def close(self) -> None: ...
    @property
    def job(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def run(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Communicator: ...
    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...

@dataclasses.dataclass(frozen=True)
class Round:
    number: int
    sum: Optional[Array]
    parts: Optional[Array]
    norm: Optional[float]
    missing: tuple[int, ...]
    final: bool
    converged: bool
    why: str

@dataclasses.dataclass(frozen=True)
class TaskResult:
    array: Array
    arrays: tuple[Array, ...]
    rounds: int
    norm: Optional[float]
    converged: bool
    why: str

class Task:
    def __init__(
        self,
        role: Literal["main", "worker"],
        *,
        job: dict[str, Any],
        sums: Optional[dict[str, Any]] = None,
        state: Union[None, str, os.PathLike[str]] = None,
        patience: Optional[float] = 600.0,
        memory_bytes: int = ...,
        report: Union[None, str, os.PathLike[str]] = None,
    ) -> None: ...
    # data: a buffer, a path, or a binary file that can seek.
    def distribute(
        self,
        data: Any,
        metadata: Any = None,
        *,
        criterion: dict[str, Any],
        keep: Literal["sum", "worker", "both"] = "sum",
        piece_bytes: int = ...,
        publish: Optional[str] = None,
    ) -> None: ...
    def result(self, timeout: Optional[float] = None) -> TaskResult: ...
    # The data, as a memoryview or the path, and the metadata.
    def receive(
        self, into: Union[None, str, os.PathLike[str]] = None, timeout: Optional[float] = None
    ) -> tuple[Any, Any]: ...
    def submit(self, array: Array, state: Optional[Array] = None) -> None: ...
    def next_round(self) -> Round: ...
    def deliver(self, array: Array) -> None: ...
    @property
    def last(self) -> Optional[Round]: ...
    @property
    def state(self) -> Optional[Array]: ...
    @property
    def final(self) -> bool: ...
    @staticmethod
    def norm(array: Array) -> float: ...
    @property
    def task(self) -> str: ...
    @property
    def role(self) -> str: ...
    def close(self) -> None: ...
    def __enter__(self) -> Task: ...
    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...

def init(
    *,
    job: Union[int, str],
    rank: Optional[int] = None,
    size: Optional[int] = None,
    address: Optional[str] = None,
    join_timeout: float = 60.0,
    op_timeout: float = 60.0,
    loss_group: int = 0,
    host_config: str = "",
    host_node: str = "",
    at_host: bool = False,
    retry: Optional[str] = None,
    retry_timeout: float = 30.0,
    fail_if_taken: bool = False,
    run: str = "",
    address_bits: Optional[tuple[int, int]] = None,
    open: Optional[str] = None,
    units: Optional[int] = None,
    nodes: Optional[int] = None,
    window: Optional[int] = None,
    chunk_bytes: Optional[int] = None,
    manager: Optional[str] = None,
    request: Optional[str] = None,
    worker: Optional[str] = None,
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
