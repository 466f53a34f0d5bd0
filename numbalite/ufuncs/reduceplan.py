"""Schedules of kernels other than reductions and scans of one array: dimensions, and the plan as kernels read it.

Reductions and scans are planned in C (core/reduceplan, core/scanplan).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from numbalite import _core

# reduce.cuh's plan: initial, then numbers, then the dimensions.
_HEAD = struct.Struct("<4q8id")
_DIMENSION = struct.Struct("<4q")
_FEW, _MANY = 6, 64  # dimensions that a plan has room for

WARP = 32
THREADS = 256
PIPELINE_THREADS = 384
PIPELINE_MEMORY = (
    4 * 16 * 8 * PIPELINE_THREADS
)  # bytes of a block: 4 stages, 8 accesses of 16 bytes


class Dimension(NamedTuple):
    """One axis; strides in bytes, 0 for what an array does not have."""

    length: int
    input: int
    where: int = 0
    output: int = 0


class Way(NamedTuple):
    """How one launch folds."""

    kind: str
    """The name of the kernel: its kind and template arguments."""
    threads: int
    team: int
    parts: int
    chunk: int
    groups: int = 1


def merged(dims):
    """The dimensions without those of length one, neighbours joined where the strides allow."""
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


def room(wide) -> int:
    """How many dimensions a plan has."""
    return _MANY if wide else _FEW


def initial_size(itemsize) -> int:
    """The bytes that a plan has for an initial value; more than 16 for large records."""
    return max(16, -(-itemsize // 16) * 16)


def plan_size(wide, itemsize=1) -> int:
    """The bytes of a plan, with those behind its end that C++ adds; the numbers that are folded have
    `itemsize`."""
    size = initial_size(itemsize) + _HEAD.size + _DIMENSION.size * room(wide)
    return -(-size // 16) * 16


def packed_plan(way, kept, folded, *, initial=None, is_last=True, results=0, itemsize=1, merges=0):
    """(the plan as a record, whether it is a wide one). merges: 1 merges the folded dimensions, 2 the kept ones, 3 both.
    results: 0 for as many as the kept dimensions have."""
    data, wide = _core.kernel_plan(
        kept, folded, way.parts, way.chunk, way.team, results, initial, is_last, itemsize, merges
    )
    return np.void(data), wide


def lanes_of(way) -> int:
    """How many lanes fold a row together."""
    return int(way.kind.rpartition("d")[2]) if way.kind.startswith("short") else WARP


def grid_of(way, results):
    """How many blocks reduce rows, by threads or by warps."""
    slots = results * way.parts
    if way.kind.startswith("short"):
        return -(-results // (THREADS // lanes_of(way)))
    if way.kind == "serial":
        return -(-slots // way.threads)
    return slots if way.team > 1 else -(-slots // (way.threads // WARP))


def blocks_of(kind, vec, size):
    """How many blocks are to fit in a multiprocessor: with fewer the memory waits, with more threads have too few
    registers. Elements are vecs of so many numbers, of so many bytes in all."""
    if kind == "scan_columns":
        return 3
    if vec == 1:
        return 4
    return 2 if kind.startswith("scan_tiles") or size > 16 else 3


def statuses_of(lines, tiles) -> int:
    """How many values the tiles of all lines publish, as lookback.cuh has it."""
    return lines * (tiles + -(-tiles // 32) + -(-tiles // 1024))
