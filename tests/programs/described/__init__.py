"""Describes kernels of public projects with inputs and expected results, for real_inputs.py.

Only the descriptions are ours: names of files and kernels, shapes, grids, and NumPy's results. The
kernels themselves are not in this repository. A module of this package describes a project:

    with describe_file("owner+project/folder/file.cu") as file:
        file.run("scale", 4, 64, reals(256), output(256), 256, oracle=lambda x, n: 2 * x)

`oracle` gets the arrays and numbers that are not `out`, as they were before the launch, and returns
the expected contents of the arrays marked as out: an array, or a tuple with None for arrays that
are not compared. `within` is the largest error, as a part of the larger of 1 and the value; 0 means
that the arithmetic is exact for these inputs (copies, or integers that float represents), so that
all drivers must return equal bits. If the kernel has a mistake, `finds` is a part of the report of
cuda.checks, and `because` describes the mistake. If a mistake makes a kernel's result undefined,
the kernel has no oracle.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

PROJECTS = "leetcuda", "llmc", "samples", "small"


@dataclasses.dataclass
class ArraySpec:
    """Describes an array: a function that creates its values, its dtype ("bf16" too), and whether
    the kernel writes it."""

    make: Callable
    dtype: str
    written: bool = False

    def values(self, rng: np.random.Generator) -> np.ndarray:
        """Returns the array as a kernel argument; bfloat16 values are stored as uint16."""
        made = self.make(rng)
        if self.dtype != "bf16":
            return made.astype(self.dtype)
        bits = made.astype("f4").view("u4")
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("u2")

    def read(self, values: np.ndarray) -> np.ndarray:
        """Returns the numbers that a kernel argument contains; bfloat16 is converted to float32."""
        return (values.astype("u4") << 16).view("f4") if self.dtype == "bf16" else values


def reals(*shape: int, low: float = -2, high: float = 2, dtype: str = "f4") -> ArraySpec:
    """Returns random real numbers."""
    return ArraySpec(lambda rng: rng.uniform(low, high, shape), dtype)


def integers(*shape: int, low: int = -4, high: int = 5, dtype: str = "f4") -> ArraySpec:
    """Returns random integers, of any type."""
    return ArraySpec(lambda rng: rng.integers(low, high, shape), dtype)


def constant(values: Any, dtype: str = "f4") -> ArraySpec:
    """Returns a description of an array with the given values."""
    return ArraySpec(lambda rng: np.array(values), dtype)


def output(*shape: int, dtype: str = "f4", fill: float = 0) -> ArraySpec:
    """Returns an array that the kernel writes."""
    return ArraySpec(lambda rng: np.full(shape, fill), dtype, written=True)


def inout(array: ArraySpec) -> ArraySpec:
    """Returns an array that the kernel reads and writes."""
    return dataclasses.replace(array, written=True)


@dataclasses.dataclass
class LaunchCase:
    """One launch."""

    kernel: str
    grid: Any
    block: Any
    arguments: tuple
    oracle: Callable | None
    within: float
    shared: int
    finds: str
    because: str
    index: int

    def values(self, path: str) -> list:
        """Returns the arguments, which are equal in each call."""
        rng = np.random.default_rng(zlib.crc32(f"{path} {self.kernel} {self.index}".encode()))
        return [a.values(rng) if isinstance(a, ArraySpec) else a for a in self.arguments]

    def read(self, values: list) -> list:
        """Returns the arguments as numbers."""
        pairs = zip(self.arguments, values)
        return [a.read(v) if isinstance(a, ArraySpec) else v for a, v in pairs]

    @property
    def written(self) -> list:
        return [i for i, a in enumerate(self.arguments) if isinstance(a, ArraySpec) and a.written]


class KernelFile:
    """Describes a file and launches of its kernels."""

    def __init__(self, path: str, options: tuple, name: str) -> None:
        self.path, self.options, self.name = path, options, name
        self.cases: list[LaunchCase] = []

    def run(
        self,
        kernel: str,
        grid: Any,
        block: Any,
        *arguments: Any,
        oracle: Callable | None = None,
        within: float = 0,
        shared: int = 0,
        finds: str = "",
        because: str = "",
    ) -> None:
        index = len(self.cases)
        self.cases.append(
            LaunchCase(
                kernel, grid, block, arguments, oracle, within, shared, finds, because, index
            )
        )


_units: list[KernelFile] = []


@contextlib.contextmanager
def describe_file(path: str, options: tuple = (), name: str = ""):
    """Describes the launches of a file; `name` distinguishes a second unit of the same file, with other
    options."""
    made = KernelFile(path, options, name or path)
    yield made
    _units.append(made)


def described_units() -> list[KernelFile]:
    for project in PROJECTS:
        importlib.import_module(f"described.{project}")
    return _units
