"""Defines the schedules and plan structs of map-reduce and scatter kernels, and sizes that all reduction
kernels use.

C code (core/reduceplan, core/scanplan) plans reductions and scans of one array.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from numbalite import _core

# The plan struct of reduce.cuh: the initial value, then numbers, then the dimensions.
_HEAD = struct.Struct("<4q8id")
_DIMENSION = struct.Struct("<4q")
_FEW, _MANY = 6, 64  # capacity of a plan, in dimensions

WARP = 32
THREADS = 256
PIPELINE_THREADS = 384
# Bytes of shared memory of a block: 4 stages of 8 accesses of 16 bytes per thread
PIPELINE_MEMORY = 4 * 16 * 8 * PIPELINE_THREADS


class Dimension(NamedTuple):
    """One axis. Strides are in bytes; The stride is 0 for an array that does not depend on the axis."""

    length: int
    input: int
    where: int = 0
    output: int = 0


class Schedule(NamedTuple):
    """The schedule of one reduction launch."""

    kind: str
    """The name of the kernel: its kind and template arguments."""
    threads: int
    team: int
    parts: int
    chunk: int
    groups: int = 1


def merge_dimensions(dims):
    """Drops dimensions of length 1 and merges neighbouring dimensions if the strides allow it."""
    out = []
    for dim in dims:
        if dim.length == 1:
            continue
        if out and all(
            outer == inner * dim.length for outer, inner in zip(out[-1][1:], dim[1:], strict=True)
        ):
            out[-1] = Dimension(out[-1].length * dim.length, *dim[1:])
        else:
            out.append(dim)
    return out


def max_dimensions(wide) -> int:
    """Returns the number of dimensions that a plan struct can store."""
    return _MANY if wide else _FEW


def initial_size(itemsize) -> int:
    """Returns the size of the initial value in a plan struct: at least 16 bytes, a multiple of 16."""
    return max(16, -(-itemsize // 16) * 16)


def plan_size(wide, itemsize=1) -> int:
    """Returns the size of a plan struct in bytes, with the padding that C++ adds. `itemsize` is the
    accumulator's size."""
    size = initial_size(itemsize) + _HEAD.size + _DIMENSION.size * max_dimensions(wide)
    return -(-size // 16) * 16


def packed_plan(
    schedule, kept, reduced, *, initial=None, is_last=True, results=0, itemsize=1, merges=0
):
    """Returns (the plan as a NumPy record, whether it is the C++ struct for more dimensions).

    ``merges`` selects the dimensions to merge: 1 the reduced ones, 2 the kept ones, 3 all. ``results`` is the
    number of results; with ``results=0``, the number is the product of the kept dimensions.
    """
    data, wide = _core.kernel_plan(
        kept,
        reduced,
        schedule.parts,
        schedule.chunk,
        schedule.team,
        results,
        initial,
        is_last,
        itemsize,
        merges,
    )
    return np.void(data), wide


def lanes_per_row(schedule) -> int:
    """Returns the number of threads that reduce a row together."""
    if schedule.kind == "serial":
        return 1
    if schedule.kind.startswith("short"):
        return int(schedule.kind.removeprefix("short_rows"))
    return WARP * schedule.team


def grid_size(schedule, results):
    """Returns the number of blocks of a launch in which threads, warps or blocks reduce one row each."""
    slots = results * schedule.parts
    if schedule.kind.startswith("short"):
        return -(-results // (THREADS // lanes_per_row(schedule)))
    if schedule.kind == "serial":
        return -(-slots // schedule.threads)
    return slots if schedule.team > 1 else -(-slots // (schedule.threads // WARP))


def min_blocks(kind, vec, size):
    """Returns the minimum number of blocks per multiprocessor, for __launch_bounds__.

    With fewer blocks, memory bandwidth is not used; with more, threads have too few registers. An element
    consists of `vec` numbers and `size` bytes.
    """
    if kind == "scan_columns":
        return 3
    if vec == 1:
        return 4
    return 2 if kind.startswith("scan_tiles") or size > 16 else 3


def status_count(lines, tiles) -> int:
    """Returns the number of status values that the tiles of all rows publish (lookback.cuh)."""
    return lines * (tiles + -(-tiles // 32) + -(-tiles // 1024))
