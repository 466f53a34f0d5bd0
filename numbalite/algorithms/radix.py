"""Sorts rows of elements by radix sort: in one launch if a row fits into a block, otherwise digit by digit."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.algorithms.order import header_kernel
from numbalite.kernels.kernel import SHARED_MEMORY_OF_BLOCK
from numbalite.ndarray.arrays import device_array

if TYPE_CHECKING:
    from typing import Any

    from numbalite.algorithms.order import Order

_TOGETHER = 1024  # maximum number of elements of short rows that one block sorts together
_FEW_PLACES = 1 << 18  # elements of all short rows
_FIRST_ROW = 512  # minimum length of a row that a block sorts digit by digit, if the row fits
_MAX_ROW_DIGITS = 8
_ROW_BLOCKS = (256, 4, 6), (256, 8, 5), (256, 16, 3), (512, 16, 2)
"""(threads, elements per thread, blocks per multiprocessor): measured on an H200"""
_ROW_MEMORY = 1024  # upper bound of static shared memory in bytes
_SMALL_ENTRY = (
    10  # maximum size of entries in bytes, so that eight entries fit into a thread's registers
)
# Constants of radix.cuh; _TILE_MEMORY is an upper bound
_DIGITS, _TICKETS, _TILE_MEMORY = 256, 32, 4096
_WAYS = {1: (384, 20, 3), 2: (384, 20, 3), 4: (256, 26, 4), 8: (256, 18, 3), 16: (256, 8, 3)}
_WAYS_WITH_VALUES = {
    1: (384, 24, 2), 2: (384, 24, 2), 4: (384, 24, 2), 8: (512, 12, 2), 16: (256, 8, 3)
}  # fmt: skip
"""Threads, elements per thread, and blocks per multiprocessor, by element size: measured on an H200."""
_COUNTING = 512, 1 << 15, 8, 2048
_COUNTING_MANY = 1024, 1 << 17, 32, 264
"""Threads that count digits, bytes of their counters, maximum of each counter, and blocks."""
_MANY = 1 << 24
# Launch configuration of a counting sort's last pass, which fills an H200
_WRITE_THREADS, _WRITE_BLOCKS = 256, 2112
_THREADS = 39  # CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
_WIDE_COUNTS = 1 << 30  # limit of 32-bit counters, of which two bits are flags
_SPACE = "numbalite::nl_sort::"
_CXX = {4: "unsigned", 8: "unsigned long long"}
_COUNTS = np.dtype(np.uint32), np.dtype(np.uint64)
_ZEROS = {dtype: np.zeros((), dtype) for dtype in _COUNTS}


def sort_rows(
    order: Order, source: Any, target: Any, indices: Any, rows: int, n: int, stream: Any
) -> None:
    """Sorts each row of n elements stably.

    All arrays must be contiguous. ``target`` receives the sorted elements, and may be the source or None.
    ``indices`` is an int64 array for the original indices, or None.
    """
    block = _block_of_row(order, n, indices is not None, _core.current_device())
    if block is not None:
        one, threads, shared = block
        one[rows, threads, stream, shared](source, target, indices, n, order.flip)
    elif n <= order.most:
        _sort_short_rows(order, source, target, indices, rows, n, stream)
    else:
        _radix_sort(order, source, target, indices, rows, n, stream)


def _sort_short_rows(order, source, target, indices, rows, n, stream):
    width = 1 << max(1, (n - 1).bit_length())
    together = 1 if width >= _TOGETHER else min(_TOGETHER // width, rows)
    log = _log2_elements_per_thread(order, rows, width)
    threads = -(-together * width // (32 << log)) * 32
    entries = threads << log
    shared = (entries + entries // 16) * order.entry
    short = header_kernel("short_sort", f"nl_sort_short<{order.kind}, {log}>")
    short[-(-rows // together), threads, stream, shared](
        source, target, indices, rows, n, width, together, order.flip
    )


def _block_of_row(order, n, has_places, device):
    """Returns (kernel, threads, bytes of shared memory) with which one block sorts a row digit by digit, or
    None if the row is too short or too long."""
    first = _FIRST_ROW if order.digits > 2 else _FIRST_ROW // 2
    if n <= first or order.digits > _MAX_ROW_DIGITS:
        return None
    for threads, items, blocks in _ROW_BLOCKS:
        if n <= threads * items:
            return _row_kernel(order, threads, items, blocks, has_places, device)
    return None


@functools.lru_cache(256)
def _row_kernel(order, threads, items, blocks, has_places, device):
    tile = threads * items
    shared = max(32 * threads, tile * order.itemsize) + (2 * tile if has_places else 0)
    if shared > _core.device_attribute(device, SHARED_MEMORY_OF_BLOCK) - _ROW_MEMORY:
        return None
    blocks = min(blocks, _core.device_attribute(device, _THREADS) // threads)
    has = "true" if has_places else "false"
    name = f"nl_sort_row<{order.kind}, {has}, {threads}, {items}, {blocks}>"
    return header_kernel("row_radix", name), threads, shared


def _log2_elements_per_thread(order, rows, width):
    """Returns the base-2 logarithm of the number of elements per thread for short rows. More elements per thread
    need fewer passes, but small inputs then use too few threads. Measured on an H200."""
    most = 3 if order.entry <= _SMALL_ENTRY else 2
    return most - (rows * width < _FEW_PLACES and width <= _TOGETHER)


def _radix_sort(order, source, target, indices, rows, n, stream):
    passes = order.digits
    count = _COUNTS[n >= _WIDE_COUNTS]
    if order.itemsize == 1 and indices is None:
        _sort_by_counting(order, source, target, rows, n, count, stream)
        return
    if target is source and passes % 2:  # the first pass would overwrite its own input
        source = source.copy(stream=stream)
    value = 0 if indices is None else 4 if n < 1 << 32 else 8
    one, threads, tile, shared = _pass_kernel(order, value, count, _core.current_device())
    tiles = -(-n // tile)
    size = _TICKETS + rows * passes * (1 + tiles) * _DIGITS
    work = device_array(size, count, stream=stream)
    work._fill(_ZEROS[count], stream)
    _count_digits(order, source, rows, n, count, work, stream)
    # Alternates the buffers so that the last pass writes the target.
    # Without a target, the last pass writes no keys.
    keys, carried = (
        _alternating_buffers(passes, rows * n, source.dtype, stream, target),
        (None, None),
    )
    if value:
        carried = _alternating_buffers(passes, rows * n, f"u{value}", stream)
    launch, values = one[rows * tiles, threads, stream, shared], None
    for place in range(passes):
        left = passes - 1 - place
        to = keys[left % 2] if left else target
        values_to = carried[left % 2] if left else None
        launch(source, to, values, values_to, None if left else indices, n, tiles, place, order.flip, work)  # fmt: skip
        source, values = to, values_to


def count_values(order: Order, source: Any, rows: int, n: int, stream: Any = 0) -> Any:
    """Returns the number of times that each of the 256 keys of 1-byte elements occurs in each row: a flat
    array of uint32, or of uint64 for long rows."""
    count = _COUNTS[n >= _WIDE_COUNTS]
    return _digit_counts(order, source, rows, n, count, stream)[_TICKETS:]


def _digit_counts(order, source, rows, n, count, stream):
    work = device_array(_TICKETS + rows * _DIGITS, count, stream=stream)
    work._fill(_ZEROS[count], stream)
    _count_digits(order, source, rows, n, count, work, stream)
    return work


def _sort_by_counting(order, source, target, rows, n, count, stream):
    """Sorts elements of one byte by counting each of the 256 values (cuda_src/numbalite/counting_sort.cuh)."""
    work = _digit_counts(order, source, rows, n, count, stream)
    blocks = min(-(-n // (_WRITE_THREADS * 16)), max(1, _WRITE_BLOCKS // rows))
    write = header_kernel(
        "counting_sort", f"nl_write_counted<{_CXX[count.itemsize]}, {_WRITE_THREADS}>"
    )
    write[rows * blocks, _WRITE_THREADS, stream](target, n, blocks, order.flip, work)


def _alternating_buffers(passes, size, dtype, stream, target=None):
    """Returns the two arrays that passes write alternately. The first array is the target; without a target,
    the first array is allocated for three or more passes."""
    if target is None and passes > 2:
        target = device_array(size, dtype, stream=stream)
    return target, device_array(size, dtype, stream=stream) if passes > 1 else None


@functools.lru_cache(256)
def _pass_kernel(order, value_size, count, device):
    """Returns (kernel of a pass over one digit, its threads, elements per tile, bytes of shared
    memory)"""
    threads, items, together = _tile_shape(order.itemsize, value_size, device)
    tile = threads * items
    value = _CXX[value_size] if value_size else f"{_SPACE}no_value"
    one = header_kernel(
        "radix",
        f"nl_radix_pass<{order.kind}, {value}, {_CXX[count.itemsize]}, {threads}, {items}, {together}>",
    )
    return (
        one,
        threads,
        tile,
        max(_DIGITS * 4 * threads // 32, tile * (order.itemsize + value_size)),
    )


def _tile_shape(size, value_size, device):
    """Returns the threads, elements per thread, and blocks per multiprocessor with which tiles fit into
    shared memory."""
    threads, items, together = (_WAYS_WITH_VALUES if value_size else _WAYS)[size]
    memory = _core.device_attribute(device, SHARED_MEMORY_OF_BLOCK) - _TILE_MEMORY
    items = min(items, memory // (threads * (size + value_size)))
    return threads, items, min(together, _core.device_attribute(device, _THREADS) // threads)


def _count_digits(order, source, rows, n, count, work, stream):
    """Counts how often each value of each digit occurs in each row; adds the counts to `work`."""
    is_many = rows * n >= _MANY
    one, threads, shared, many = _count_kernel(order, count, is_many, _core.current_device())
    blocks = min(-(-n // (8 * threads)), max(1, many // rows))
    one[rows * blocks, threads, stream, shared](source, n, blocks, order.flip, work)


@functools.lru_cache(256)
def _count_kernel(order, count, is_many, device):
    """Returns (kernel that counts digits, its threads, bytes of shared memory, maximum number of
    blocks)"""
    threads, room, most, many = _COUNTING_MANY if is_many else _COUNTING
    if room > 1 << 15:
        room = min(room, _core.device_attribute(device, SHARED_MEMORY_OF_BLOCK))
    bins = order.digits * _DIGITS * 4
    apart = 1
    while apart < most and 2 * apart * bins <= room:
        apart *= 2
    name = f"nl_radix_count<{order.kind}, {_CXX[count.itemsize]}, {threads}, {apart}>"
    return header_kernel("radix", name), threads, apart * bins, many
