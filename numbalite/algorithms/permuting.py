"""Copies parts of an array in the order of an index array (cuda_src/numbalite/permute.cuh)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite.algorithms.order import header_kernel
from numbalite.ndarray.arrays import device_array

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

THREADS = 256
MAX_BLOCKS = 1 << 16


def launch_per_element(name: str, count: int, stream: Any, *arguments: Any) -> None:
    """Launches a kernel of permute.cuh with one thread per element for `count` elements, up to the maximum grid
    size."""
    grid = min(-(-count // THREADS), MAX_BLOCKS)
    header_kernel("permute", name)[grid, THREADS, stream](*arguments)


def take_blocks(
    source: Any, index: Any, sizes: tuple, m: int, apart: bool, stream: Any
) -> DeviceNDArray:
    """Returns the indexed parts of a contiguous array of ``sizes`` (outer, n, inner), as a 1-D array."""
    outer, n, inner = sizes
    out = device_array(outer * m * inner, source.dtype, stream=stream)
    if out.size:
        size = math.gcd(source.dtype.itemsize, source._address, 16)
        part = np.dtype("V16" if size == 16 else f"u{size}")
        word, wide = (
            ("unsigned char", "unsigned short", "unsigned", "unsigned long long", "uint4")[
                size.bit_length() - 1
            ],
            inner * (source.dtype.itemsize // size),
        )
        parts = [_flat_view(a, part) for a in (out, source)]
        launch_per_element(
            f"nl_random_take<{word}>", outer * m * wide, stream,
            *parts, index, outer, n, m, wide, int(apart),
        )  # fmt: skip
    return out


def _flat_view(array, dtype):
    """Returns the bytes of a contiguous array as a 1-D array of another dtype."""
    return array._view((array.nbytes // dtype.itemsize,), (dtype.itemsize,), dtype)
