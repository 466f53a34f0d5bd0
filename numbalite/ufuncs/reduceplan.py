"""How reductions and scans are divided among threads: dimensions, ways, and the plan as kernels get it.

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

_WARP = 32
THREADS = 256
SERIAL_THREADS = 128
_PART_BYTES = 1 << 14, 1 << 17  # least and most of one block's part, where there are parts
_PART_BYTES_ANY_ORDER = 1 << 14, 1 << 18
_BLOCK_BYTES = 1 << 16  # up to which one block is as fast as several and one more launch
_BUSY_PARTS, _MOST_PARTS = 1024, 8192
_BUSY_BLOCKS, _LARGE_PART_BYTES = 512, 1 << 16
_USUAL_PARTS = 4096  # so many that the last ones to begin do not hold up the rest
_ROW_BYTES = 1 << 13  # that one warp folds
_MANY_ROWS, _LONG_ROW_BYTES = 1 << 13, 1 << 15  # the same, where there are so many rows
_BLOCK_ROW_BYTES = (
    12 << 10,
    16 << 10,
)  # from which a block is better, if all is read at once: up to so many
_BLOCK_REST_BYTES = 1 << 13  # or if there is more in the second turn
_MOST_ROW_PARTS = 1 << 15
_COLUMN_THREADS = 1 << 17  # that keep a device busy
_WIDE_THREADS = 1 << 16  # if columns are enough for fewer, each has at most _FEW_COLUMNS of them
_COLUMN_WARPS = 8  # of a block, as in short_axes.cuh
SHORT_RUN = 16  # elements of a column with equal distances, of which several are read at a time
_COLUMN_BYTES = 128  # of what a thread folds at once: a block shares 7 of 8 warps'
_SHORT = 16  # elements of a row that one thread folds alone
_TEAM_ROWS = 1 << 12  # rows of up to 32 pieces of 16 bytes, from which a few lanes fold each
_LANE_PIECES = 4  # of a short row that a lane folds
_MOST_LANE_PIECES = 8  # where lanes take long to combine
_LEAST_LANES = 2
_GAPPED_BYTES = 1 << 11  # of a result's rows with gaps between, for a block
_STRIPE_ROWS, _STRIPE_BYTES = (
    64,
    1 << 11,
)  # rows that a thread folds alone, if results have so many for each row
_STRIPE_THREADS = 1 << 16, 1 << 15  # with more than _FEW_COLUMNS each, and at least
_LONG_STRIPE_ROWS, _STRIPE_RUN_BYTES = 256, 32  # more of them, if so many bytes are neighbours
_FEW_COLUMNS = 4  # elements of a thread, where more of them would be too much for few threads
_NARROW_BYTES = 512  # of all the columns that one block folds
_NARROW_GROUP_BYTES = 128  # of each, where they are several times
_STAGED_BYTES = (
    24 << 10
)  # of groups of columns that a block has in shared memory (staged_columns.cuh)
_STAGED_TILE = 16 << 10  # of them, where groups are shorter
_STAGED_WORTH = 1 << 16  # bytes of all groups
_TWO_LAUNCHES_BYTES = 1 << 22  # from which a second launch may be worth its time
_AMONG_BYTES = 128  # of a short axis among the results; it is folded later
_LATER_SHARE = 8  # of the bytes that are read, at most one in so many goes to a second launch
_FEW_ROWS_BYTES = 1 << 15  # of a result's rows, with which a block has little to do
_WORTH_BYTES = 1 << 25  # that are read in more time than a launch takes
_FEW_LATER = 1 << 16  # numbers that few blocks fold in as much time
_NARROW_PART_BYTES = 1 << 16  # at least 16 for each thread: no part may be without rows
_NARROW_PARTS = 512  # so many blocks run at once
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
    """"packed", "stepped" and "strided" (rows, by warps), "columns", "stripes" and "narrow" with how many columns a
    thread has, "stripes" also with how many elements it reads at a time, "staged_columns" (team: how many groups of them a block has), "teams", "short_packed", "short_strided",
    "gapped_packed" and "gapped_stepped" with how many lanes a row has, "serial" (by threads)."""
    threads: int
    team: int
    parts: int
    chunk: int
    groups: int = 1
    """Of columns: as many have rows of their own."""


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


def packed_strides(dims):
    """How far results are apart in an array of all of them, by dimension."""
    steps, step = [], 1
    for dim in reversed(dims):
        steps.append(step)
        step *= dim.length
    return steps[::-1]


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


def packed_plan(
    way, kept, folded, *, initial=None, is_last=True, segment=-1, results=None, by_part=False,
    itemsize=1, divisor=1.0, by_one=False,
):  # fmt: skip
    """(the plan as a record, whether it is a wide one). ``by_one``: for one block, which may have any number."""
    dims = [*kept, *folded]
    wide = len(dims) > _FEW
    head = (initial or b"").ljust(initial_size(itemsize), b"\0") + _HEAD.pack(
        math.prod(dim.length for dim in kept) if results is None else results,
        math.prod(dim.length for dim in folded),
        way.parts, way.chunk,
        len(kept), len(folded), initial is not None, way.team, is_last, segment, by_part, by_one,
        divisor,
    )  # fmt: skip
    text = head + b"".join(_DIMENSION.pack(*dim) for dim in dims)
    return np.void(text.ljust(plan_size(wide, itemsize), b"\0")), wide


def _is_packed(along, kept, alignment, address, itemsize=None):
    """Are the elements of a row neighbours, and do rows begin at multiples of the alignment (that of
    an element, if its size is not given)?"""
    starts = (address, *(dim.input for dim in kept))
    return along.input == (itemsize or alignment) and all(n % alignment == 0 for n in starts)


def _width(kept, folded, itemsize, address, folded_size):
    """How many neighbouring results a thread can fold by one access of up to 16 bytes; 0 if they are no neighbours, or
    their elements not aligned."""
    if not (kept and folded and folded_size) or kept[-1].input != itemsize:
        return 0
    steps = [address, *(dim.input for dim in (*kept[:-1], *folded))]
    if any(step % itemsize for step in steps):
        return 0
    width = max(16 // itemsize, 1)
    while width > 1 and (
        width * folded_size > _COLUMN_BYTES
        or kept[-1].length % width
        or any(step % (width * itemsize) for step in steps)
    ):
        width //= 2
    return width


def _narrowed(width, results, most, least):
    """A width for which there are enough threads: so many with more than a few columns, and so many at least."""
    while width > 1 and (
        results // width < least or (width > _FEW_COLUMNS and results // width < most)
    ):
        width //= 2
    return width


def _by_columns(results, length, width):
    """Blocks of _COLUMN_WARPS warps, a part each, and of all columns about as many as run at once; twice as many of
    bytes, which are more work. Where narrower accesses make the threads that parts would, there are none, for parts
    take another launch."""
    enough = _COLUMN_THREADS // (2 * _COLUMN_WARPS) + 1  # for one part
    width = _narrowed(width, results, _WIDE_THREADS, enough if results >= enough else _WARP)
    across = -(-(results // width) // _WARP)
    wanted = _COLUMN_THREADS * (2 if width > 8 else 1) // (across * THREADS)
    parts = min(wanted, length // (8 * _COLUMN_WARPS)) or 1
    chunk = -(-length // parts) or 1
    return Way(f"columns{width}", THREADS, _COLUMN_WARPS, max(1, -(-length // chunk)), chunk)


def _by_teams(kept, folded, itemsize, address):
    """How many lanes fold a row by one access each; 0 if they cannot."""
    if len(folded) != 1 or folded[0].input != itemsize or itemsize > 16:
        return 0
    lanes, rest = divmod(folded[0].length * itemsize, 16)
    if rest or lanes > _WARP or lanes & (lanes - 1) or lanes == 0:
        return 0
    if address % 16 or any(dim.input % 16 for dim in kept):
        return 0
    return lanes


def by_lanes(way, length, width, size, results) -> Way:
    """The way, or that of short rows: a few lanes for each, which read `width` elements at once and fold numbers of
    so many bytes."""
    lanes = _lanes(length, width, size)
    if results < _TEAM_ROWS or length <= 1 or lanes >= _WARP:
        return way
    return way._replace(kind=f"short_{way.kind}{lanes}")


def _lanes(length, width, size):
    """How many lanes a row of so many elements is for."""
    pieces = _LANE_PIECES if width > 1 and size < 16 else _MOST_LANE_PIECES
    lanes = _LEAST_LANES
    while lanes * pieces * width < length and lanes < _WARP:
        lanes *= 2
    return lanes


def _by_gapped_rows(kept, folded, itemsize, address, size, results):
    """The way where each result is folded from rows with gaps between them; None where they are short, and where there
    is little or much for each: others are made for that."""
    row, rows = folded[-1].length, math.prod(dim.length for dim in folded[:-1])
    if len(folded) < 2 or row < _SHORT or itemsize > 16 or rows * row * itemsize < _GAPPED_BYTES:
        return None
    if row * itemsize >= _ROW_BYTES and results < _BUSY_PARTS:
        return None
    dense = _is_packed(folded[-1], [*kept, *folded[:-1]], itemsize, address)
    lanes = _lanes(row, 16 // itemsize if dense else 1, size)
    part = _part(rows * row * results, itemsize, _PART_BYTES_ANY_ORDER)
    together = max(1, -(-part // row)) if results < _BUSY_PARTS else rows
    kind = f"gapped_{'packed' if dense else 'stepped'}{lanes}"
    return Way(kind, THREADS, THREADS // _WARP, -(-rows // together), together * row)


def _by_stripes(kept, folded, itemsize, address, folded_size, results):
    """How many neighbouring columns of a few elements a thread folds whole; 0 if it should not."""
    rows = folded[0].length if len(folded) == 1 else 0
    wanted = max(rows, _STRIPE_ROWS) * _STRIPE_BYTES  # as bytes, smaller elements count like others
    if not 0 < rows <= _LONG_STRIPE_ROWS or results * max(itemsize, 4) < wanted:
        return 0
    width = _width(kept, folded, itemsize, address, folded_size)
    if rows > _STRIPE_ROWS and (
        width > _FEW_COLUMNS or kept[-1].length * itemsize < _STRIPE_RUN_BYTES
    ):
        return 0
    return _narrowed(width, results, *_STRIPE_THREADS)


def _by_narrow(kept, folded, itemsize, address, folded_size):
    """How many neighbouring columns of a few that are long a thread has; 0 if they are not so. There may be several
    such groups of columns, where others have no wide access."""
    if not kept or len(folded) != 1:
        return 0
    columns = kept[-1].length
    most = _NARROW_BYTES if len(kept) == 1 else _NARROW_GROUP_BYTES
    if columns * itemsize > most or columns > THREADS // 2:
        return 0
    width = _width(kept, folded, itemsize, address, folded_size)
    if not width or (len(kept) > 1 and width * itemsize == 16):
        return 0
    return width if folded[0].length >= 4 * THREADS // (columns // width) else 0


def _in_narrow_parts(width, kept, folded, itemsize):
    length, row = folded[0].length, kept[-1].length * itemsize
    groups = math.prod(dim.length for dim in kept[:-1])
    parts = min(_NARROW_PARTS // groups, length * row // _NARROW_PART_BYTES) or 1
    if length * row * groups <= 4 * _NARROW_PART_BYTES:
        parts = 1
    chunk = -(-length // parts)
    return Way(f"narrow{width}", THREADS, 1, -(-length // chunk), chunk, groups)


def _in_stage(kept, folded, itemsize, address):
    """The way where blocks copy whole groups of columns; None where they are large, or where threads can read 16 bytes
    of neighbouring columns anyway, more than two."""
    if len(kept) != 2 or len(folded) != 1 or itemsize not in (1, 2, 4, 8) or address % itemsize:
        return None
    groups, (columns, step, *_), (rows, row, *_) = kept[0], kept[1], folded[0]
    size = rows * row
    if (step, row, groups.input) != (itemsize, columns * itemsize, size):
        return None
    if groups.output != columns * kept[1].output or size > _STAGED_BYTES:
        return None
    if itemsize < 8 and row % 16 == 0 and address % 16 == 0:
        return None
    if groups.length * size < _STAGED_WORTH:
        return None
    together = max(1, min(_STAGED_TILE // size, groups.length // _BUSY_BLOCKS))
    return Way("staged_columns", THREADS, together, 1, rows, groups.length)


def divided(kept, folded, itemsize, folded_size):
    """(the axes to fold by a first launch, those for a second one): all, and none, where one launch is as good.
    ``folded_size``: the bytes of the numbers as they are folded."""
    elements = math.prod(dim.length for dim in (*kept, *folded))
    if len(folded) < 2 or not kept or elements * itemsize < _TWO_LAUNCHES_BYTES:
        return folded, []
    *outer, inner = folded
    if _lies_among(kept, inner, math.prod(dim.length for dim in outer), itemsize, folded_size):
        return outer, [inner]
    return ([inner], outer) if _has_rows(kept, outer, inner, itemsize) else (folded, [])


def _lies_among(kept, inner, rows, itemsize, folded_size):
    """Is it a short axis whose elements lie among those of the results, such as the colours of pixels, or short rows
    of results? Without it there are longer columns."""
    short = kept[-1].length * itemsize if kept[-1].input == itemsize else 0
    if inner.length * itemsize >= _AMONG_BYTES and not 0 < short < _AMONG_BYTES:
        return False
    if rows * itemsize < _LATER_SHARE * folded_size:
        return False
    joined = together(kept, [inner])
    if joined[-1].input != itemsize or joined[-1].length * itemsize <= max(short, itemsize):
        return False
    return joined[-1].length >= _WARP or rows >= 2 * THREADS


def _has_rows(kept, outer, inner, itemsize):
    """Are there rows for each result that are worth a launch, after which the others are few?"""
    row, rows = inner.length * itemsize, math.prod(dim.length for dim in outer)
    results = math.prod(dim.length for dim in kept)
    if inner.input != itemsize or row < _AMONG_BYTES or results * rows < _TEAM_ROWS:
        return False
    if row * rows <= _FEW_ROWS_BYTES:
        return True
    is_worth = results * rows <= _FEW_LATER and results * rows * row >= _WORTH_BYTES
    return is_worth and row <= _LONG_ROW_BYTES


def together(kept, later):
    """The dimensions of what a first launch keeps."""
    return merged(dim._replace(output=0) for dim in by_stride([*kept, *later]))


def in_scratch(kept, later, apart, size):
    """The dimensions of the kept and the later axes in an array of what a first launch leaves: numbers of so many
    bytes, `apart` of them for each result of it."""
    order = by_stride([*kept, *later]) if later else kept
    steps = dict(zip(map(id, order), packed_strides(order), strict=True))

    def of(dim):
        n = steps[id(dim)] * apart
        return Dimension(dim.length, n * size, n, dim.output)

    return merged(map(of, kept)), [of(dim)._replace(output=0) for dim in later]


def _part(elements, itemsize, limits):
    """How many elements a part has, of so many in all: parts are as many as keep the device busy, then larger, for
    the end of each takes time, then more."""
    least, most = (n // itemsize for n in limits)
    larger = min(elements // _BUSY_BLOCKS, _LARGE_PART_BYTES // itemsize)
    return min(max(elements // _USUAL_PARTS, larger, least), most)


def part_of_row(lengths, itemsize, results, any_order) -> int:
    """How many elements a part has where they lie in rows with gaps between: a row, or an equal part of it; 0 where
    rows, which have the last of the lengths, are short or cannot be divided so."""
    if len(lengths) < 2 or lengths[-1] * itemsize < _ROW_BYTES:
        return 0
    limits = _PART_BYTES_ANY_ORDER if any_order else _PART_BYTES
    rows, row = math.prod(lengths[:-1]), lengths[-1]
    wanted = _part(rows * row * results, itemsize, limits)
    first = max(1, row // wanted)
    count = next((n for n in range(first, 2 * first + 1) if row % n == 0), 0)
    if not count or row // count > 2 * limits[1] // itemsize or rows * count > _MOST_ROW_PARTS:
        return 0
    return row // count


def choose(kept, folded, itemsize, address, masked, serial, column_size=0, any_order=False) -> Way:
    """How to fold: by rows, columns or threads, and in how many parts.

    ``itemsize`` is the input's, ``address`` its first element's modulo 16. ``column_size`` is that of
    the numbers as they are folded, where columns may be; 0 where not. ``any_order``: elements may be
    combined in any. ``serial``: a block's threads run one after another.
    """
    results = math.prod(dim.length for dim in kept)
    length = math.prod(dim.length for dim in folded)
    if serial:
        parts = min(512, max(1, length // 16384)) if results < 64 else 1
        chunk = -(-length // parts) or 1
        threads = 1 if results * parts < 1024 else 32
        return Way("serial", threads, 1, max(1, -(-length // chunk)), chunk)
    if column_size and not masked:
        width = _by_teams(kept, folded, itemsize, address) if results >= _TEAM_ROWS else 0
        if width:
            return Way(f"teams{width}", THREADS, 1, 1, length)
        staged = _in_stage(kept, folded, itemsize, address) if any_order else None
        if staged:
            return staged
        width = _by_stripes(kept, folded, itemsize, address, column_size, results)
        if width:
            ahead = next((n for n in (2, 4) if length <= n), 8)
            return Way(f"stripes{width}x{ahead}", THREADS, 1, 1, length)
        width = _by_narrow(kept, folded, itemsize, address, column_size) if any_order else 0
        if width:
            return _in_narrow_parts(width, kept, folded, itemsize)
    step = min((abs(dim.input) for dim in kept if dim.input), default=1 << 62)
    inner = abs(folded[-1].input) if folded else 0
    if not folded or (results > 1 and step < inner) or (results >= _WARP and length <= _SHORT):
        width = _width(kept, folded, itemsize, address, column_size)
        if width and results >= _WARP and not masked:
            return _by_columns(results, length, width)
        parts = min(-(-_COLUMN_THREADS // results), length // 64) or 1
        chunk = -(-length // parts) or 1
        return Way("serial", SERIAL_THREADS, 1, max(1, -(-length // chunk)), chunk)
    packed = (
        not masked
        and len(folded) == 1
        and itemsize <= 16
        and _is_packed(folded[0], kept, itemsize, address)
    )
    kind = "packed" if packed else "strided"
    if any_order and column_size and not masked:
        gapped = _by_gapped_rows(kept, folded, itemsize, address, column_size, results)
        if gapped:
            return gapped
        way = Way(kind, THREADS, 1, 1, length)
        short = by_lanes(way, length, 16 // itemsize if packed else 1, column_size, results)
        if short is not way:
            return short
    size = itemsize if packed else max(itemsize, 4)
    if results < _BUSY_PARTS and length * size > _BLOCK_BYTES:
        limits = _PART_BYTES_ANY_ORDER if any_order and not masked else _PART_BYTES
        if column_size and not masked and itemsize <= 16:
            dense = _is_packed(folded[-1], [*kept, *folded[:-1]], itemsize, address)
            lengths = [dim.length for dim in folded]
            chunk = part_of_row(lengths, itemsize if dense else size, results, any_order)
            if chunk:
                kind = "packed" if dense else "stepped"
                return Way(kind, THREADS, THREADS // _WARP, length // chunk, chunk)
        least = limits[0] // size
        chunk = max(_part(length * results, size, limits), -(-length * results // _MOST_PARTS))
        chunk = -(-chunk // least) * least
        return Way(kind, THREADS, THREADS // _WARP, -(-length // chunk), chunk)
    team = 1 if results >= 64 and _is_for_a_warp(length * itemsize, results) else THREADS // _WARP
    return Way(kind, THREADS, team, 1, length)


def _is_for_a_warp(row, results):
    """Is a row of so many bytes for one warp? A block has less to do at its end if there are few rows, or where a turn
    of all its threads is nearly all of a row."""
    if results >= _MANY_ROWS:
        return row <= _LONG_ROW_BYTES
    least, turn = _BLOCK_ROW_BYTES
    if results < _BUSY_PARTS:
        return row <= _ROW_BYTES
    return row <= least or turn < row <= turn + _BLOCK_REST_BYTES


def by_last_block(way, results, masked, size):
    """How the last block of a launch that leaves parts folds them, numbers of so many bytes; None if it cannot."""
    if way.kind.startswith("narrow"):
        width = int(way.kind[6:])
        while width > 1 and width * size > 16:
            width //= 2
        if way.groups > 1:
            return None
        return Way(f"narrow{width}", THREADS, 1, 1, way.parts)
    by_rows = way.kind in ("packed", "stepped", "strided") or way.kind.startswith("gapped")
    if by_rows and results <= THREADS // _WARP:
        kind = "strided" if masked or size > 16 else "packed"
        return Way(kind, THREADS, THREADS // _WARP if results == 1 else 1, 1, way.parts)
    return None


def lanes_of(way) -> int:
    """How many lanes fold a row together."""
    return int(way.kind.rpartition("d")[2]) if way.kind.startswith("short") else _WARP


def grid_of(way, results):
    slots = results * way.parts
    if way.kind.startswith("columns"):
        return -(-(results // int(way.kind[7:])) // _WARP) * way.parts
    if way.kind.startswith("teams"):
        return -(-results // (4 * THREADS // int(way.kind[5:])))
    if way.kind.startswith("short"):
        return -(-results // (THREADS // lanes_of(way)))
    if way.kind.startswith("stripes"):
        return -(-(results // int(way.kind[7:].partition("x")[0])) // THREADS)
    if way.kind.startswith("narrow"):
        return way.groups * way.parts
    if way.kind.startswith("staged"):
        return -(-way.groups // way.team)
    if way.kind == "serial":
        return -(-slots // way.threads)
    return slots if way.team > 1 else -(-slots // (way.threads // _WARP))


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
    return _WARP * max(1, min(4, _SCANNED_BLOCK_BYTES // (_WARP * row)))


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
        count = _narrowed(max(1, 16 // max(sizes)), threads, 0, least)
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
    while vec == 1 and runs * width * _WARP < length and runs * width * size <= _SCAN_BYTES // 4:
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
    if length <= _SHORT or (lines >= _WARP and step < abs(along.input)):
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
    threads = min(THREADS, -(-length // (_WARP * width * runs)) * _WARP)
    chunk = threads * width * runs
    return Way(f"scan_tiles{width}x{runs}", threads, 1, -(-length // chunk), chunk), None


def scan_grid(way, lines):
    """How many blocks scan lines of vecs or numbers."""
    if way.kind == "scan_columns":
        return -(-lines // _WARP) * way.parts
    if way.kind.startswith("scan_tiles"):
        return lines * way.parts
    threads = way.threads // _WARP if way.kind.startswith("scan_warps") else way.threads
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
