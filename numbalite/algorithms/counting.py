"""Counts elements, or sums weights, by bins (cuda_src/numbalite/histogram.cuh)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import types
from numbalite.algorithms.order import header_kernel
from numbalite.ndarray.arrays import device_array
from numbalite.runtime.traced import traced

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_THREADS, _FEW_THREADS = 1024, 256
# Elements per thread below the maximum grid size; two blocks per multiprocessor of an H200
_EACH, _MAX_BLOCKS = 32, 264
_HALF = "#include <cuda_fp16.h>\n"


@traced
def count_integers(x: DeviceNDArray, weights: Any, bins: int, stream: Any = 0) -> DeviceNDArray:
    """Counts the occurrences of each integer below ``bins``, or sums weights as doubles."""
    counts = zero_counts(bins, weights, stream)
    names = _template_arguments(x, weights, counts)
    _launch_count(f"nl_count_numbers<{names}>", x, weights, counts, stream)
    return counts


def count_between_edges(
    x: DeviceNDArray,
    weights: Any,
    edges: DeviceNDArray,
    first: float,
    scale: float,
    stream: Any = 0,
) -> DeviceNDArray:
    """Counts the elements between each two neighbouring edges. ``scale`` is 1 / width if all bins have equal
    width, otherwise 0."""
    bins = edges.size - 1
    counts = zero_counts(bins, weights, stream)
    names = f"{_template_arguments(x, weights, counts)}, {types.cuda_name(edges.dtype)}"
    _launch_count(f"nl_count_between<{names}>", x, weights, counts, stream, edges, first, scale)
    return counts


def count_dtype(weights: Any) -> np.dtype:
    """Returns the dtype of the counts."""
    return np.dtype(np.int64 if weights is None else np.float64)


def launch_configuration(count: int) -> tuple[int, int]:
    """Returns the launch configuration (blocks, threads per block) for counting this number of elements."""
    if count <= _FEW_THREADS * _EACH * _MAX_BLOCKS // 4:
        return max(1, -(-count // (_FEW_THREADS * _EACH))), _FEW_THREADS
    return min(-(-count // (_THREADS * _EACH)), _MAX_BLOCKS), _THREADS


def zero_counts(bins: int, weights: Any, stream: Any) -> DeviceNDArray:
    """Returns the array to which the counts are added."""
    counts = device_array(bins, count_dtype(weights), stream=stream)
    if bins:
        counts.fill(0, stream=stream)
    return counts


def _template_arguments(x, weights, counts):
    of_weights = "void" if weights is None else types.cuda_name(weights.dtype)
    return f"{types.cuda_name(x.dtype)}, {of_weights}, {types.cuda_name(counts.dtype)}"


def _launch_count(name, x, weights, counts, stream, *more):
    if x.size and counts.size:
        head = _HALF if "__half" in name else ""
        grid, threads = launch_configuration(x.size)
        header_kernel("histogram", name, head)[grid, threads, stream](
            x, weights, counts, x.size, counts.size, *more
        )
