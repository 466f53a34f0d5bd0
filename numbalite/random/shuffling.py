"""Implements permutations and choices (cuda_src/numbalite/permute.cuh).

Arrays are treated as (outer, n, inner): the shuffled axis has n slices of `inner` elements.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.algorithms import permuting
from numbalite.algorithms.order import header_kernel
from numbalite.ndarray.arrays import DeviceNDArray, device_array, to_device
from numbalite.ndarray.foreign import cuda_array_or_none
from numbalite.random import parameters
from numbalite.runtime import shapes
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from typing import Any

    from numbalite.random.generator import Generator

_SHORT, _ITEMS = 1024, 32  # permute.cuh
_BLOCKS = 512  # maximum number of rows for which several blocks share a row
_SUM_IS_ONE = math.sqrt(np.finfo(np.float64).eps)


def permutation_prefixes(bits: Any, lines: int, n: int, m: int, stream: Any) -> DeviceNDArray:
    """Returns the first ``m`` numbers of a random permutation of ``range(n)`` for each row, in a flat
    array."""
    out = device_array(lines * m, np.int64, stream=stream)
    if not out.size:
        return out
    if n <= _SHORT:
        place = bits.place.take(lines * _SHORT // 2)
        blocks = min(-(-n // _ITEMS), max(_BLOCKS // lines, 1))
        grid = min(lines * blocks, permuting.MAX_BLOCKS)
        header_kernel("permute", "nl_permute_short")[grid, permuting.THREADS, stream](
            out, lines, n, m, *place, blocks
        )
    else:
        blocks = min(-(-m // (8 * permuting.THREADS)), max(permuting.MAX_BLOCKS // lines, 1))
        place = bits.place.take(lines * 6)
        header_kernel("permute", "nl_permute_long")[lines * blocks, permuting.THREADS, stream](
            out, lines, n, m, *place, blocks
        )
    return out


def _outer_axis_inner_sizes(shape, axis):
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _as_device_array(what, name, value, stream):
    """Returns the value as a device array; a host array is copied."""
    found = cuda_array_or_none(value)
    if found is None:
        return to_device(np.asarray(value), stream)
    if found.device != _core.current_device():
        raise ValueError(
            f"{what}: {name} is on device {found.device}, the current one is {_core.current_device()}"
        )
    return found.bind(stream) if stream else found


def _shuffled_copy(what, bits, array, axis, stream):
    """Returns a contiguous copy, shuffled along an axis."""
    sizes = _outer_axis_inner_sizes(array.shape, shapes.axis_number(axis, array.ndim, what))
    index = permutation_prefixes(bits, 1, sizes[1], sizes[1], stream)
    return permuting.take_blocks(
        operands.contiguous_array(array), index, sizes, sizes[1], False, stream
    ).reshape(array.shape)


def permutation(bits: Any, x: Any, axis: Any, stream: Any) -> DeviceNDArray:
    """`Generator.permutation`."""
    if not hasattr(x, "shape") and hasattr(x, "__index__"):
        n = operator.index(x)
        if n < 0:
            raise ValueError(f"permutation: x must not be negative: {n}")
        return permutation_prefixes(bits, 1, n, n, stream)
    array = _as_device_array("permutation", "x", x, stream)
    if array.ndim == 0:
        if array.dtype.kind not in "iu":
            raise TypeError(f"permutation: x must be an int or an array, not a {array.dtype}")
        return permutation(bits, array.item(), axis, stream)
    return _shuffled_copy("permutation", bits, array, axis, stream)


def _check_writable(what, name, x, stream):
    found = cuda_array_or_none(x)
    if found is None:
        raise TypeError(f"{what}: {name} must be a device array, not {type(x).__name__}")
    if found.readonly:
        raise ValueError(f"{what}: {name} is read-only")
    return _as_device_array(what, name, found, stream)


def shuffle(bits: Any, x: Any, axis: Any, stream: Any) -> None:
    """`Generator.shuffle`."""
    array = _check_writable("shuffle", "x", x, stream)
    if array.ndim == 0:
        raise TypeError("shuffle: x must have at least one dimension")
    array[...] = _shuffled_copy("shuffle", bits, array, axis, stream)


def permuted(bits: Any, x: Any, axis: Any, out: Any, stream: Any) -> DeviceNDArray:
    """`Generator.permuted`."""
    array = _as_device_array("permuted", "x", x, stream)
    target = None if out is None else _check_writable("permuted", "out", out, stream)
    if target is not None and (target.shape, target.dtype) != (array.shape, array.dtype):
        raise ValueError(
            f"permuted: out has shape {target.shape} and dtype {target.dtype}, x {array.shape} and {array.dtype}"
        )
    if axis is None:
        sizes, lines, transposed = (1, array.size, 1), 1, array
    else:
        number = shapes.axis_number(axis, array.ndim, "permuted")
        order = [*(k for k in range(array.ndim) if k != number), number]
        transposed = array.transpose(order)
        n = array.shape[number]
        lines = array.size // n if n else 0
        sizes = (lines, n, 1)
    index = permutation_prefixes(bits, lines, sizes[1], sizes[1], stream)
    made = permuting.take_blocks(
        operands.contiguous_array(transposed), index, sizes, sizes[1], True, stream
    ).reshape(transposed.shape)
    if axis is not None:
        made = made.transpose(tuple(np.argsort(order).tolist()))
    if target is None:
        return operands.contiguous_array(made)
    target[...] = made
    return out


def choice(
    rng: Generator, a: Any, size: Any, replace: Any, p: Any, axis: Any, stream: Any
) -> DeviceNDArray:
    """`Generator.choice`."""
    array = None
    if not hasattr(a, "shape") and hasattr(a, "__index__"):
        n = operator.index(a)
    else:
        array = _as_device_array("choice", "a", a, stream)
        if array.ndim == 0:
            n, array = operator.index(array.item()), None
        else:
            axis = shapes.axis_number(axis, array.ndim, "choice")
            n = array.shape[axis]
    shape = () if size is None else parameters.shape_of_size("choice", size)
    m = math.prod(shape)
    if n <= 0 and m:
        raise ValueError(f"choice: a must have elements to choose from, not {n} items")
    if not replace and m > n:
        raise ValueError(f"choice: size {size} is more than the {n} items, and replace is False")
    weights = None if p is None else _check_probabilities(p, n, 0 if replace else m, stream)
    bits = rng.bit_generator
    if weights is not None and not replace:
        index = _draw_by_arrival_times(bits, weights[0], n, m, stream)
    elif weights is not None:
        index = _weighted_indices(rng, weights, n, m, stream)
    elif replace:
        index = rng.integers(0, max(n, 1), m, stream=stream)
    else:
        index = permutation_prefixes(bits, 1, n, m, stream)
    if array is None:
        return index.reshape(shape)
    taken = permuting.take_blocks(
        operands.contiguous_array(array),
        index,
        _outer_axis_inner_sizes(array.shape, axis),
        m,
        False,
        stream,
    )
    return taken.reshape((*array.shape[:axis], *shape, *array.shape[axis + 1 :]))


def _check_probabilities(p, n, needed, stream):
    """Returns the probabilities and their cumulative sums, on the device. Raises ValueError if the values are
    not probabilities."""
    found = parameters.as_array("choice", "p", p)
    if found.shape != (n,):
        raise ValueError(f"choice: p must have shape ({n},) as a has, not {found.shape}")
    weights = device_array(n, np.float64, stream=stream)
    if not n:
        return weights, weights
    weights[...] = found
    if stream:
        weights[
            :1
        ].copy_to_host()  # waits for the weights, because NumPy's functions use the default stream
    low, high = parameters.minimum_and_maximum(weights)
    if not (low >= 0 and high < math.inf):
        raise ValueError("choice: p must not contain negative numbers or NaN")
    sums = np.cumsum(weights)
    total = sums[-1].item()
    if not abs(total - 1) <= _SUM_IS_ONE:
        raise ValueError(f"choice: p must add up to 1, not to {total}")
    if needed:
        some = np.sum((weights > 0).astype(np.int64)).item()
        if some < needed:
            raise ValueError(f"choice: p allows only {some} items, {needed} are wanted")
    return weights, sums


def _weighted_indices(rng, weights, n, m, stream):
    index = device_array(m, np.int64, stream=stream)
    if m:
        u = rng.random(m, stream=stream)
        permuting.launch_per_element("nl_random_search", m, stream, index, u, m, *weights[::-1], n)
    return index


def _draw_by_arrival_times(bits, weights, n, m, stream):
    padded = 1 << max(n - 1, 1).bit_length()
    times = device_array(padded, np.float64, stream=stream)
    index = device_array(padded, np.int64, stream=stream)
    place = bits.place.take(padded)
    permuting.launch_per_element(
        "nl_random_arrivals", padded, stream, times, index, weights, n, padded, *place
    )
    run = 2
    while run <= padded:
        apart = run // 2
        while apart:
            permuting.launch_per_element(
                "nl_random_sort", padded // 2, stream, times, index, padded, run, apart
            )
            apart //= 2
        run *= 2
    return index[:m].copy()
