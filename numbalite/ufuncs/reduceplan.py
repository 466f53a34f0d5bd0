"""How scans are divided among threads: dimensions, schedules, and the plan as kernels read it. Reductions are planned
in C (core/reduceplan).

It depends on shapes, strides and alignment alone, and for long scans on whether all devices have bulk copies, so
that equal calls give equal bits. No memory is looked at.
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

import numpy as np

# reduce.cuh's plan: initial, then numbers, then the dimensions.
_HEAD = struct.Struct("<4q8id")
_DIMENSION = struct.Struct("<4q")
_FEW, _MANY = 6, 64  # dimensions that a plan has room for

WARP = 32
THREADS = 256
SERIAL_THREADS = 128
_COLUMN_THREADS = 1 << 17  # that keep a device busy
_COLUMN_WARPS = 8  # of a block, as in short_axes.cuh
_SHORT = 16  # elements of a row that one thread folds alone
_SCANNED_ROWS = (
    1 << 13,
    1 << 8,
)  # of a scan, from which each is for a thread: at least, and for each element of one
_SCANNED_BY_THREADS = 64  # elements of a row, up to which that is better than a warp for each
_WARP_LINES, _WARP_LINE = (
    1 << 10,
    512,
)  # of a scan, from which each is for a warp, and elements of one
_SCANNED_ROW_BYTES, _SCANNED_BLOCK_BYTES = 768, 48 << 10  # in shared memory
_TINY_ROW_BYTES = 16  # that neighbouring threads find in the same lines
_VEC_BYTES, _VEC_COLUMNS = 32, 8  # of a vec in a scan, and of an array's columns that are one
_VEC_ELEMENTS = 4  # of them that follow one another, for a thread
_PARTED = 128  # elements of a column, from which it may be scanned in parts
_VEC_THREADS = 1 << 15  # at least, where some of many columns are one
_COLUMN_ROWS = 8  # of a tile of columns that a thread has (scan.cuh)
_COLUMN_TILE_THREADS = 1 << 17  # threads in all of them, at least, where some columns are one
_COLUMN_STEP_BYTES = 7 << 19  # that are copied while a group of tiles learns what is before it
_COLUMN_START_BYTES = 1 << 24  # the same, of the launches that tiles save
_SCAN_RUNS = 16  # at most, of a warp in a tile: they are exchanged one by one
_SCAN_BYTES = 128  # of the numbers that a thread has of a tile
PIPELINE_THREADS = 384
_PIPELINE_PIECES, _PIPELINE_STAGES = 8, 4  # pipelined_scan.cuh's, too
_PIPELINE_TILE = 16 * PIPELINE_THREADS * _PIPELINE_PIECES  # bytes
PIPELINE_MEMORY = _PIPELINE_STAGES * _PIPELINE_TILE  # of a block
_PIPELINE_TURNS = 4  # tiles for each block, at least


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


def by_stride(dims):
    """The dimensions with the largest steps through the input first."""
    return sorted(dims, key=lambda dim: -abs(dim.input))


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


def packed_plan(way, kept, folded, *, initial=None, is_last=True, results=None, itemsize=1):
    """(the plan as a record, whether it is a wide one), of kernels other than reductions of one array."""
    dims = [*kept, *folded]
    wide = len(dims) > _FEW
    head = (initial or b"").ljust(initial_size(itemsize), b"\0") + _HEAD.pack(
        math.prod(dim.length for dim in kept) if results is None else results,
        math.prod(dim.length for dim in folded),
        way.parts, way.chunk,
        len(kept), len(folded), initial is not None, way.team, is_last, -1, False, False, 1.0,
    )  # fmt: skip
    text = head + b"".join(_DIMENSION.pack(*dim) for dim in dims)
    return np.void(text.ljust(plan_size(wide, itemsize), b"\0")), wide


def _is_packed(along, kept, alignment, address, itemsize=None):
    """Are the elements of a row neighbours, and do rows begin at multiples of the alignment (that of
    an element, if its size is not given)?"""
    starts = (address, *(dim.input for dim in kept))
    return along.input == (itemsize or alignment) and all(n % alignment == 0 for n in starts)


def _narrowed(width, results, least):
    """A width for which there are at least so many threads."""
    while width > 1 and results // width < least:
        width //= 2
    return width


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


def _in_pipeline(kept, along, sizes, address, blocks, vec):
    """How many elements a piece has where lines are scanned in a pipeline; 0 where they should not be."""
    stored, _, result = sizes
    tiles = -(-along.length * max(stored, result) // _PIPELINE_TILE)
    if tiles * math.prod(dim.length for dim in kept) < _PIPELINE_TURNS * blocks or tiles < 2:
        return 0
    if max(sizes) > (8 if vec == 1 else 16) or not _is_packed(along, kept, 16, address, stored):
        return 0
    return 16 // max(stored, result)


def scanned_row(length, itemsize) -> int:
    """The bytes of a short row in shared memory, of numbers of a size (scan.cuh: scan_rows)."""
    return (length | 1) * itemsize


def _rows_in_memory(kept, along, sizes, lines):
    """The threads of a block that scans rows in shared memory; 0 where they should not be."""
    stored, loop, result = sizes
    row = scanned_row(along.length, loop)
    least, each = _SCANNED_ROWS
    if lines < max(least, each * along.length) or along.length > _SCANNED_BY_THREADS:
        return 0
    if row > _SCANNED_ROW_BYTES or along.length * max(stored, result) <= _TINY_ROW_BYTES:
        return 0
    return WARP * max(1, min(4, _SCANNED_BLOCK_BYTES // (WARP * row)))


def blocks_of(kind, vec, size):
    """How many blocks are to fit in a multiprocessor: with fewer the memory waits, with more threads have too few
    registers. Elements are vecs of so many numbers, of so many bytes in all."""
    if kind == "scan_columns":
        return 3
    if vec == 1:
        return 4
    return 2 if kind.startswith("scan_tiles") or size > 16 else 3


def in_vecs(kept, along, sizes, addresses):
    """(how many neighbouring columns a scan takes as one element, the kept dimensions then, the axis): all of a few,
    so that they are a row; some of many, so that they are one access; or 1. ``addresses`` are the input's and the
    output's, modulo 16."""
    if not kept or (kept[-1].input, kept[-1].output) != (sizes[0], sizes[2]):
        return 1, kept, along
    *outer, inner = kept
    count, row = inner.length, (inner.length * sizes[0], inner.length * sizes[2])
    if (along.input, along.output) == row and count <= _VEC_COLUMNS:
        if count * max(sizes) <= _VEC_BYTES and _are_aligned(count, outer, along, sizes, addresses):
            return count, outer, along
    elif abs(along.input) > sizes[0]:
        threads, least = math.prod(dim.length for dim in kept), _VEC_THREADS
        if along.length >= _PARTED:
            threads, least = threads * (along.length // _COLUMN_ROWS), _COLUMN_TILE_THREADS
        count = _narrowed(max(1, 16 // max(sizes)), threads, least)
        if inner.length % count == 0 and _are_aligned(count, outer, along, sizes, addresses):
            steps = (inner.input * count, 0, inner.output * count)
            return count, [*outer, Dimension(inner.length // count, *steps)], along
    return 1, kept, along


def _are_aligned(count, outer, along, sizes, addresses):
    """May so many elements be one everywhere?"""
    steps = [(dim.input, dim.output) for dim in (*outer, along)]
    for size, *starts in zip((sizes[0], sizes[2]), addresses, *steps, strict=True):
        alignment = min(16, (count * size) & -(count * size))
        if any(start % alignment for start in starts):
            return False
    return True


def _in_column_tiles(lines, length, sizes):
    """Should columns be scanned in tiles? Groups of tiles wait for one another, for which there has to be enough else to
    do."""
    groups = length // (_COLUMN_ROWS * _COLUMN_WARPS**2)
    nbytes = lines * length * (sizes[0] + sizes[2])
    return max(sizes) <= 16 and groups * _COLUMN_STEP_BYTES <= nbytes + _COLUMN_START_BYTES


def _scan_by_warps(length, width, size, vec):
    """The way for rows of so many elements, of which a lane reads `width` neighbours and scans numbers of a size."""
    runs = 1
    while vec == 1 and runs * width * WARP < length and runs * width * size <= _SCAN_BYTES // 4:
        runs *= 2
    return Way(f"scan_warps{width}x{runs}", THREADS, 1, 1, length)


def choose_scan(kept, along, sizes, address, serial, blocks=0, vec=1):
    """(how to scan, how to fold the parts before, None if there is no need to)

    ``sizes`` are those of what is read, what is combined and what is written. ``blocks``: as many can have a pipeline;
    0: the device has none. ``vec``: elements are so many numbers.
    """
    stored, loop, result = sizes
    lines = math.prod(dim.length for dim in kept)
    length = along.length
    step = min((abs(dim.input) for dim in kept if dim.input), default=1 << 62)
    if serial:
        return Way("scan_serial", 1 if lines < 1024 else 32, 1, 1, length), None
    are_rows = step >= along.input and 0 < along.input <= 2 * stored and along.output == result
    threads = _rows_in_memory(kept, along, sizes, lines) if are_rows else 0
    if threads:
        return Way("scan_rows", threads, 1, 1, length), None
    packed = 16 % stored == 0 and _is_packed(along, kept, 16, address, stored)
    width = 16 // stored if packed else 1
    if vec > 1:  # lanes exchange each number of an element
        width = max(1, min(_VEC_ELEMENTS, 2 * _VEC_BYTES // max(sizes)))
    if are_rows and lines >= _WARP_LINES and _SHORT < length <= _WARP_LINE:
        return _scan_by_warps(length, width, loop, vec), None
    if length <= _SHORT or (lines >= WARP and step < abs(along.input)):
        parts = min(-(-_COLUMN_THREADS // lines), length // (_PARTED // 2)) or 1
        chunk = _COLUMN_ROWS * _COLUMN_WARPS
        if parts > 1 and _in_column_tiles(lines, length, sizes):
            return Way("scan_columns", THREADS, 1, -(-length // chunk), chunk), None
        chunk = -(-length // parts)
        folding = Way("serial", SERIAL_THREADS, 1, -(-length // chunk), chunk)
        return folding._replace(kind="scan_serial"), folding if folding.parts > 1 else None
    piece = _in_pipeline(kept, along, sizes, address, blocks, vec) if blocks else 0
    if piece:
        chunk = PIPELINE_THREADS * _PIPELINE_PIECES * piece
        return Way(f"pipelined_scan{piece}", PIPELINE_THREADS, 1, -(-length // chunk), chunk), None
    runs = 1
    if length > THREADS * width:
        runs = max(1, min(_SCAN_RUNS, _SCAN_BYTES // (width * loop)))
    threads = min(THREADS, -(-length // (WARP * width * runs)) * WARP)
    chunk = threads * width * runs
    return Way(f"scan_tiles{width}x{runs}", threads, 1, -(-length // chunk), chunk), None


def scan_grid(way, lines):
    """How many blocks scan lines of vecs or numbers."""
    if way.kind == "scan_columns":
        return -(-lines // WARP) * way.parts
    if way.kind.startswith("scan_tiles"):
        return lines * way.parts
    threads = way.threads // WARP if way.kind.startswith("scan_warps") else way.threads
    return -(-lines * way.parts // threads)


def statuses_of(lines, tiles) -> int:
    """How many values the tiles of all lines publish, as lookback.cuh has it."""
    return lines * (tiles + -(-tiles // 32) + -(-tiles // 1024))


def statuses_of_scan(way, lines) -> int:
    """The same in any way of scanning."""
    if way.kind == "scan_columns":
        return lines * (way.parts + -(-way.parts // _COLUMN_WARPS))
    if way.kind.startswith("pipelined"):
        return lines * (way.parts + -(-way.parts // PIPELINE_THREADS))
    return statuses_of(lines, way.parts)
