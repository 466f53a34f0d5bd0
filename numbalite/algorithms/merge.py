"""Sorts rows by a user-defined comparison (cuda_src/numbalite/merge_sort.cuh)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.algorithms import generated
from numbalite.ndarray.arrays import device_array

if TYPE_CHECKING:
    from typing import Any

_THREADS, _EACH, _MAX_BLOCKS = 256, 4, 1 << 13  # EACH of merge_sort.cuh
_TILE_BYTES, _MAX_WIDTH, _MIN_WIDTH = 40 << 10, 1024, 32
_ROWS = [
    generated.pointer_type("from", True),
    generated.pointer_type("to"),
    *(generated.count_type(name) for name in ("rows", "n", "parts", "length")),
]
_NAMES = ("nl_tiles", "nl_tiles_placed", "nl_merge_values", "nl_merge_placed", "nl_places")


class Comparison:
    """The kernels that sort elements of a dtype by a comparison function."""

    def __init__(self, function: Any, options: Any, dtype: np.dtype) -> None:
        # Upper bound of shared memory per element, in bytes: the element, its index, its position in the tile
        held = -(-dtype.itemsize // 8) * 8 + 16
        self.width = _MAX_WIDTH
        while self.width > _MIN_WIDTH and self.width * held > _TILE_BYTES:
            self.width //= 2
        if self.width * held > _TILE_BYTES:
            raise TypeError(
                f"{function.name}: elements of {dtype.itemsize} bytes are too large to be compared; "
                f"{_TILE_BYTES // _MIN_WIDTH - 24} are the most"
            )
        self.dtype = dtype
        self.kernels = generated.Generated(
            function, options, dtype, "a, b", "sort_less", "merge_sort",
            dict.fromkeys(_NAMES, _ROWS), {"width": self.width},
        )  # fmt: skip

    def sort(self, source: Any, target: Any, indices: Any, rows: int, n: int, stream: Any) -> None:
        """Sorts contiguous rows into ``target``, or writes the indices of the sorted order to ``indices``, an
        int64 array."""
        tiles_kernel, merge_kernel, held = "nl_tiles", "nl_merge_values", self.dtype
        if indices is not None:  # sizeof(placed<T>): an element and its index
            align = max(8, self.dtype.alignment)
            size = -(-self.dtype.itemsize // 8) * 8 + 8
            tiles_kernel, merge_kernel = "nl_tiles_placed", "nl_merge_placed"
            held = np.dtype((np.void, -(-size // align) * align))
        lengths, length = [], self.width
        while length < n:
            lengths.append(length)
            length *= 2
        first: Any = device_array(rows * n, held, stream=stream)
        second: Any = device_array(rows * n, held, stream=stream) if lengths else None
        if indices is None and len(lengths) % 2:
            second = target
        elif indices is None:
            first = target
        tiles = -(-n // self.width)
        threads = min(_THREADS, max(32, self.width // 2))
        self.kernels[tiles_kernel][rows * tiles, threads, stream](source, first, rows, n, tiles, 0)
        parts = -(-n // _EACH)
        for length in lengths:
            self.kernels[merge_kernel][-(-rows * parts // _THREADS), _THREADS, stream](
                first, second, rows, n, parts, length
            )
            first, second = second, first
        if indices is not None:
            blocks = min(-(-rows * n // _THREADS), _MAX_BLOCKS)
            self.kernels["nl_places"][blocks, _THREADS, stream](first, indices, rows, n, 0, 0)
