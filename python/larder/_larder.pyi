from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

Size = Union[int, str]
"""A number of bytes, a text such as ``"64mb"``, or a share of a footprint such as ``"10%"``."""

class Trace:
    """Requests to a cache, in order: read, generated, or made of arrays."""

    def __init__(
        self,
        keys: Union[NDArray[Any], Iterable[object]],
        sizes: Optional[NDArray[np.uint64]] = None,
        times: Optional[NDArray[np.float64]] = None,
        ops: Optional[NDArray[np.uint8]] = None,
        ttls: Optional[NDArray[np.float64]] = None,
        tenants: Optional[NDArray[np.uint16]] = None,
    ) -> None:
        """Sizes are in bytes (default 1), times and times to live in seconds. Ops are 0 for a read
        (the default), 1 for a write and 2 for a delete."""
    def __len__(self) -> int: ...
    @property
    def keys(self) -> NDArray[np.uint64]: ...
    @property
    def sizes(self) -> NDArray[np.uint64]: ...
    @property
    def times(self) -> NDArray[np.float64]: ...
    @property
    def ops(self) -> NDArray[np.uint8]: ...
    @property
    def tenants(self) -> NDArray[np.uint16]: ...
    @property
    def footprint(self) -> int: ...
    @property
    def rate(self) -> float: ...
    def sample(self, rate: float, seed: int = 1) -> Trace: ...

class Result:
    """The counts of one simulation: one policy and one cache size on a trace."""

    policy: str
    size: int
    requests: int
    reads: int
    misses: int
    miss_ratio: float
    byte_miss_ratio: float
    evictions: int

class Curve:
    """A miss ratio curve: the miss ratio of a cache at every size."""

    @property
    def sizes(self) -> NDArray[np.uint64]: ...
    @property
    def miss_ratios(self) -> NDArray[np.float64]: ...
    def __call__(self, size: int) -> float: ...
    def size_for(self, miss_ratio: float) -> Optional[int]: ...

class Counts:
    """Counts of a model for one or more parts of the keys. They can be added and pickled."""

    def __init__(self, state: bytes) -> None: ...
    @property
    def parts(self) -> tuple[list[int], int]: ...
    def __add__(self, other: Counts) -> Counts: ...
    def curve(self) -> Curve: ...

class Model:
    """Computes a miss ratio curve from the requests of traces."""

    def __init__(
        self,
        name: str = "krr",
        k: int = 5,
        pool: bool = False,
        rate: float = 1.0,
        part: Optional[tuple[int, int]] = None,
        seed: int = 1,
    ) -> None: ...
    def access(self, trace: Trace) -> None: ...
    def curve(self) -> Curve: ...
    def counts(self) -> Counts: ...

class Plan:
    """The memory of each tenant, and the expected miss ratios."""

    bytes: dict[str, int]
    miss_ratios: dict[str, float]
    cost: float
    notes: list[str]

def read(
    path: str,
    format: Optional[str] = None,
    limit: Optional[int] = None,
    ignore_size: bool = False,
    progress: Optional[Callable[[int], object]] = None,
) -> Trace: ...
def generate(text: str, limit: Optional[int] = None) -> Trace: ...
def simulate(
    trace: Trace,
    policies: Union[str, Sequence[str]],
    sizes: Union[Size, Sequence[Size]],
    seed: int = 1,
    keep_sizes: bool = False,
) -> list[Result]: ...
def curve(
    trace: Trace,
    model: str = "krr",
    k: int = 5,
    pool: bool = False,
    rate: float = 1.0,
    seed: int = 1,
) -> Curve: ...
def merge(counts: Sequence[Counts]) -> Counts: ...
def plan(
    curves: Mapping[str, Curve],
    memory: Size,
    reads: Optional[Mapping[str, float]] = None,
    penalties: Optional[Mapping[str, float]] = None,
    floors: Optional[Mapping[str, int]] = None,
    objective: str = "latency",
    planner: str = "dp",
) -> Plan: ...
def formats() -> list[str]: ...
def generators() -> list[str]: ...
def models() -> list[str]: ...
def policies() -> list[str]: ...
