"""Rows of elements sorted by the device: in one launch where a row fits into a block, else digit by digit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.algorithms.order import kernel
from numbalite.kernels.kernel import SHARED_MEMORY_OF_BLOCK
from numbalite.ndarray.arrays import device_array
from numbalite.ufuncs.reduceloops import are_serial

if TYPE_CHECKING:
    from typing import Any

    from numbalite.algorithms.order import Order

_TOGETHER = 1024  # places of short rows in a block
_FEW_PLACES = 1 << 18  # in all short rows
_SMALL_ENTRY = 10  # bytes: eight of them fit into a thread's registers
_DIGITS, _TICKETS, _TILE_MEMORY = 256, 32, 4096  # radix.cuh, the last is a bound
_WAYS = {1: (384, 20, 3), 2: (384, 20, 3), 4: (256, 26, 4), 8: (256, 18, 3), 16: (256, 8, 3)}
_WAYS_WITH_VALUES = {
    1: (384, 24, 2), 2: (384, 24, 2), 4: (384, 24, 2), 8: (512, 12, 2), 16: (256, 8, 3)
}  # fmt: skip
"""Threads, elements of a thread, and blocks side by side, by the size of an element: measured on an H200."""
_SERIAL_WAY = 256, 4, 1  # where unrolled loops are compiled for nothing
_COUNTING = 512, 1 << 15, 8, 2048
_COUNTING_MANY = 1024, 1 << 17, 32, 264
"""Threads that count digits, bytes of their counters, how many of each at most, and blocks."""
_MANY = 1 << 24
_THREADS = 39  # CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
_WIDE_COUNTS = 1 << 30  # two bits of a count are flags
_SPACE = "numbalite::nl_sort::"


def sort_rows(
    order: Order, source: Any, target: Any, places: Any, rows: int, n: int, stream: Any
) -> None:
    """Sorts so many rows of n elements each, stable. ``source`` is contiguous, as are ``target``, which may be the
    source or None, and ``places``, an int64 array for the places that the elements had, or None."""
    if n <= order.most:
        _short(order, source, target, places, rows, n, stream)
    else:
        _radix(order, source, target, places, rows, n, stream)


def _short(order, source, target, places, rows, n, stream):
    width = 1 << max(1, (n - 1).bit_length())
    together = 1 if width >= _TOGETHER else min(_TOGETHER // width, rows)
    log = _log_each(order, rows, width)
    threads = -(-together * width // (32 << log)) * 32
    entries = threads << log
    shared = (entries + entries // 16) * order.entry
    short = kernel("short_sort", f"nl_sort_short<{order.kind}, {log}>")
    short[-(-rows // together), threads, stream, shared](
        source, target, places, rows, n, width, together, order.flip
    )


def _log_each(order, rows, width):
    """A thread of a short row has 2**this elements: more take fewer passes, fewer keep a GPU busy that has little to
    do. Measured on an H200."""
    most = 3 if order.entry <= _SMALL_ENTRY else 2
    return most - (rows * width < _FEW_PLACES and width <= _TOGETHER)


class _Turns:
    """Two arrays by turns, so that the last of so many is the target; no target: none is written last."""

    def __init__(self, writes, target, make):
        self.left = writes
        self.target = target
        self.make = make
        self.made = {}

    def next(self):
        self.left -= 1
        if self.left == 0 or (self.target is not None and self.left % 2 == 0):
            return self.target
        number = self.left % 2
        if number not in self.made:
            self.made[number] = self.make()
        return self.made[number]


def _radix(order, source, target, places, rows, n, stream):
    passes = order.places
    if target is source and passes % 2:  # the first pass would write what it reads
        source = source.copy(stream=stream)
    count = np.dtype(np.uint32 if n < _WIDE_COUNTS else np.uint64)
    word = "unsigned" if count.itemsize == 4 else "unsigned long long"
    value, value_size = f"{_SPACE}no_value", 0
    if places is not None:
        value_size = 4 if n < 1 << 32 else 8
        value = "unsigned" if value_size == 4 else "unsigned long long"
    threads, items, together = _way(order.itemsize, value_size)
    tiles = -(-n // (threads * items))
    shared = max(_DIGITS * 4 * threads // 32, threads * items * (order.itemsize + value_size))
    work = device_array(_TICKETS + rows * passes * (1 + tiles) * _DIGITS, count, stream=stream)
    work.fill(0, stream=stream)
    _count(order, source, rows, n, word, work, stream)
    one = kernel(
        "radix", f"nl_radix_pass<{order.kind}, {value}, {word}, {threads}, {items}, {together}>"
    )
    keys = _Turns(passes, target, lambda: device_array(rows * n, source.dtype, stream=stream))
    carried = _Turns(passes, None, lambda: device_array(rows * n, f"u{value_size}", stream=stream))
    values = None
    for place in range(passes):
        to, is_last = keys.next(), place == passes - 1
        values_to = carried.next() if places is not None else None
        one[rows * tiles, threads, stream, shared](
            source, to, values, values_to, places if is_last else None,
            n, tiles, place, order.flip, work,
        )  # fmt: skip
        source, values = to, values_to


def _way(size, value_size):
    """Threads, elements of a thread, and blocks side by side, whose tiles fit into a block's shared memory."""
    if are_serial():
        return _SERIAL_WAY
    threads, items, together = (_WAYS_WITH_VALUES if value_size else _WAYS)[size]
    items = min(
        items, (_limit(SHARED_MEMORY_OF_BLOCK) - _TILE_MEMORY) // (threads * (size + value_size))
    )
    return threads, items, min(together, _limit(_THREADS) // threads)


def _limit(attribute):
    return _core.device_attribute(_core.current_device(), attribute)


def _count(order, source, rows, n, word, work, stream):
    """Fills in the totals of each row."""
    threads, room, most, many = _COUNTING_MANY if rows * n >= _MANY else _COUNTING
    if room > 1 << 15:
        room = min(room, _limit(SHARED_MEMORY_OF_BLOCK))
    bins = order.places * _DIGITS * 4
    apart = 1
    while apart < most and 2 * apart * bins <= room:
        apart *= 2
    blocks = min(-(-n // (8 * threads)), max(1, many // rows))
    kernel("radix", f"nl_radix_count<{order.kind}, {word}, {threads}, {apart}>")[
        rows * blocks, threads, stream, apart * bins
    ](source, n, blocks, order.flip, work)
