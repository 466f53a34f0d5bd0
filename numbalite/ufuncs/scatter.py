"""Implements ufunc.at: updates array elements at indices that may repeat (cuda_src/numbalite/scatter.cuh).

`flat_indices` converts an index to flat element indices in C order; `at` applies the operation. Indices in host
memory are checked on the host. Indices in device memory are checked by kernels, and `wait_for_bounds_check`
waits for the result. The check is omitted if the index dtype has no value that is out of bounds. If an index
is out of bounds, no element is written.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite.kernels.decorators import jit
from numbalite.ndarray.arrays import device_array

from . import commuting, operands
from . import reduceplan as plans

if TYPE_CHECKING:
    from typing import Any

_FEW_BYTES = 1 << 15  # scatter.cuh
_MAX_BLOCKS, _FEW_BLOCKS = 1 << 12, 528
_FEW_EACH = 32  # elements of a thread
_HEAD = 16


class _BoundedIndex:
    """An index array on the device, for an axis of ``length`` elements."""

    def __init__(self, array, length, axis):
        self.array, self.length, self.axis = array, length, axis

    def is_always_valid(self):
        """Returns whether all values of the dtype are valid, non-negative indices."""
        dtype = self.array.dtype
        return dtype.kind == "u" and np.iinfo(dtype).max < self.length

    def out_of_bounds_error(self, left):
        """Returns NumPy's IndexError for the index that is ``left`` elements before the end of the index
        array."""
        number = self.array.size - left
        found = self.array.reshape(-1, copy=None if self.array.is_c_contiguous() else True)
        value = found[number : number + 1].copy_to_host()[0]
        return IndexError(
            f"index {value} is out of bounds for axis {self.axis} with size {self.length}"
        )


class FlatIndices:
    """The flat indices of the selected elements: an int64 array on the host or the device.

    ``unchecked`` is the index whose bounds the kernels must check, or None. If it is not None, ``array`` has the
    values of this index: they may be negative, and their dtype may be int32.
    """

    def __init__(self, array: Any, unchecked: Any = None) -> None:
        self.array, self.unchecked = array, unchecked
        self.shape, self.size = array.shape, array.size


def flat_indices(shape: tuple, indices: Any, stream: Any) -> FlatIndices:
    """Returns the flat indices of the elements that an index selects.

    Raises IndexError as in NumPy; the bounds of a single index array on the device are checked later
    (`wait_for_bounds_check`).
    """
    parts = indices if isinstance(indices, tuple) else (indices,)
    if any(map(operands.is_on_device, parts)):
        found = _device_flat_indices(shape, parts, stream)
        if found is not None:
            return found
    parts = tuple(
        operands.device_view(part).copy_to_host() if operands.is_on_device(part) else part
        for part in parts
    )
    return FlatIndices(_host_flat_indices(shape, parts if isinstance(indices, tuple) else parts[0]))


def _host_flat_indices(shape, indices):
    if len(shape) == 1 and not isinstance(indices, (tuple, slice)):
        found = np.asarray(indices)
        if found.dtype.kind in "iu" and found.size:
            length = shape[0]
            for index in found[(found < -length) | (found >= length)].ravel()[:1]:
                raise IndexError(f"index {index} is out of bounds for axis 0 with size {length}")
            return np.where(found < 0, found + length, found).astype(np.int64, order="C")
    every = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    return np.asarray(every[indices], order="C")


@jit
def _find_bad_index(index, length, bad):
    """
    for (long long j = grid<1>(); j < index.size(); j += gridsize<1>()) {
        long long i = index[j];
        if (i < -(long long)length || i >= (long long)length)
            atomicMax((unsigned long long *)&bad[0], (unsigned long long)(index.size() - j));
    }
    """


@jit
def _advance_indices(places, index, length):
    """
    for (long long j = grid<1>(); j < places.size(); j += gridsize<1>()) {
        long long i = index[j];
        places[j] = places[j] * (long long)length + (i < 0 ? i + (long long)length : i);
    }
    """


def _device_flat_indices(shape, parts, stream):
    """Returns the flat indices for an index of integers and integer arrays along the first axes, or None for any
    other index."""
    if len(parts) > len(shape):
        return None
    indices = []
    for axis, part in enumerate(parts):
        if operands.is_on_device(part):
            array = operands.device_view(part)
        elif isinstance(part, (bool, np.bool_)) or not isinstance(
            part, (int, np.integer, np.ndarray, list)
        ):
            return None
        else:
            array = np.asarray(part)
            if array.dtype.kind in "iu":
                array = operands.to_device(array, stream)
        if array.dtype.kind not in "iu":
            return None
        indices.append(_BoundedIndex(array, shape[axis], axis))
    try:
        np.broadcast_shapes(*(one.array.shape for one in indices))
    except ValueError:
        shown = " ".join(str(one.array.shape).replace(" ", "") for one in indices)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shown}"
        ) from None
    if len(shape) == 1:
        one = indices[0]
        array = one.array
        if array.dtype != np.int32:
            array = array.astype(np.int64, copy=False)
        return FlatIndices(
            operands.contiguous_array(array, stream), None if one.is_always_valid() else one
        )
    for one in indices:
        _check_bounds(one, stream)
    return FlatIndices(_flat_indices(shape, indices, stream))


def _check_bounds(index, stream):
    """Checks the bounds of an index array on the device, waits for the result, and raises IndexError."""
    bad = _zero_counters(1, stream)
    flat = index.array
    if flat.ndim != 1:
        flat = flat._reshaped_view((flat.size,), "C", not flat.is_c_contiguous())
    if flat.size:
        _find_bad_index[_block_count(flat.size), plans.THREADS, stream](flat, index.length, bad)
        _check_without_capture(index, bad, stream)


@jit
def _assert_bounds(bad):
    'assert(bad[0] == 0 && sizeof "an index of ufunc.at is out of bounds");'


def _is_captured(bad, stream):
    """Returns whether the stream is being captured. In a capture, a failed assert reports a wrong index when
    the graph is launched."""
    if not getattr(stream, "is_capturing", False):
        return False
    _assert_bounds[1, 1, stream](bad)
    return True


def wait_for_bounds_check(shape: tuple, indices: Any, bad: Any) -> None:
    """Waits for the bounds check of `at`, whose result is ``bad``. Raises IndexError if an index is out of bounds."""
    left = int(bad[0])
    if left:
        array = operands.device_view(indices[0] if isinstance(indices, tuple) else indices)
        raise _BoundedIndex(array, shape[0], 0).out_of_bounds_error(left)


def _check_without_capture(index, bad, stream):
    if _is_captured(bad, stream):
        return
    left = int(bad[0])
    if left:
        raise index.out_of_bounds_error(left)


def _flat_indices(shape, indices, stream):
    """Returns the flat element indices from index arrays of the first axes.

    The result has the broadcast shape of the index arrays, followed by the axes without an index.
    """
    rest = shape[len(indices) :]
    together = (*np.broadcast_shapes(*(one.array.shape for one in indices)), *rest)
    places = device_array(together, np.int64, stream=stream)
    if not places.size:
        return places
    places.fill(0, stream=stream)
    for one in indices:
        array = one.array._reshaped_view(one.array.shape + (1,) * len(rest), "C", False)
        _add_axis(places, array, one.length, stream)
    for axis, length in enumerate(rest):
        along = np.arange(length).reshape((length,) + (1,) * (len(rest) - axis - 1))
        _add_axis(places, operands.to_device(along, stream), length, stream)
    return places


def _add_axis(places, index, length, stream):
    """Extends flat indices by one axis of ``length`` elements, in place: places = places * length + index."""
    index = operands.broadcast_view(index, places.shape)
    if not index.is_c_contiguous():
        index = index.copy(stream=stream)
    flat = places.size
    lines = (one._reshaped_view((flat,), "C", False) for one in (places, index))
    _advance_indices[_block_count(flat), plans.THREADS, stream](*lines, length)


_ZERO = np.zeros((), np.uint64)


def _zero_counters(count, stream):
    made = device_array(count, np.uint64, stream=stream)
    made._fill(_ZERO, stream)
    return made


def _block_count(count, each=1, most=_MAX_BLOCKS):
    return max(1, min(-(-count // (plans.THREADS * each)), most))


def apply_at(
    loops: Any, array: Any, places: FlatIndices, operand: Any, loop: Any, stream: Any
) -> Any:
    """Runs ``array[i] = f(array[i], operand[j])`` for each j, with i = places[j].

    ``operand`` is a device array with broadcast strides, one number on the host, or None for a function of one number.
    Returns the argument ``bad`` of `wait_for_bounds_check`, or None if no check is pending.
    """
    any_order, adds = _operation_traits(loops, loop)
    sums = adds and array.dtype == loop
    if operand is None or not (sums or (any_order and _has_atomic_exchange(array))):
        _apply_in_order(loops, array, places, operand, loop, stream)
        return None
    numbers = operands.to_device(places.array, stream)
    count, length = places.size, array.size
    is_few = sums and length * array.itemsize <= _FEW_BYTES and count > length
    if is_few:
        work = _zero_counters(2 + -(-length * array.itemsize // 8), stream)
    else:
        work = _zero_counters(1, stream)
        if places.unchecked is not None:
            flat = numbers._reshaped_view((count,), "C", False)
            _find_bad_index[_block_count(count), plans.THREADS, stream](flat, length, work)
    kind = "at_few" if is_few else "at_each_sum" if sums else "at_each_any"
    kind += str(8 * numbers.dtype.itemsize)
    grid = _block_count(count, _FEW_EACH, _FEW_BLOCKS) if is_few else _block_count(count)
    _launch_kernel(loops, kind, array, operand, loop, grid, (numbers, work), stream)
    return None if places.unchecked is None or _is_captured(work, stream) else work


def _operation_traits(loops, loop):
    """Returns (whether the updates may run in any order, whether the function is a sum)"""

    found = loops.natures.get(loop.num)
    if found is None:
        function = loops.function_for(loop)
        found = commuting.is_order_independent(function, loop), commuting.is_sum(function, loop)
        loops.natures[loop.num] = found
    return found


def _has_atomic_exchange(array):
    """Returns whether the hardware has an atomic exchange for aligned elements of this size."""
    size = array.itemsize
    if size == 16:
        return False
    return not (array._address % size or any(step % size for step in array.strides))


def _launch_kernel(loops, kind, array, operand, loop, grid, given, stream):
    """Launches a kernel of scatter.cuh. ``given``: the kernel's arguments, (places, work) or (places,
    order)."""
    is_array = operands.is_on_device(operand)
    stored = array.dtype if operand is None else operand.dtype
    plan, wide = plans.packed_plan(
        plans.Schedule("at", plans.THREADS, 1, 1, array.size),
        _dimensions(array),
        _dimensions(operand) if is_array else [],
        results=given[0].size,
        initial=None if operand is None or is_array else operand.tobytes(),
        itemsize=max(loop.itemsize, stored.itemsize),
        merges=3,
    )
    kernel = loops.loop(kind, stored, loop, array.dtype, wide=wide, unary=operand is None)
    place = operands.from_first_element(array)
    other = operands.from_first_element(operand) if is_array else place
    kernel[grid, plans.THREADS, stream](plan, other, given[0], place, given[1], given[1])


def _dimensions(array):
    return [(n, step, 0, 0) for n, step in zip(array.shape, array.strides, strict=True)]


def _apply_in_order(loops, array, places, operand, loop, stream):
    """Applies an operation in order: sorts the flat indices on their device, and uses one thread per
    element."""
    numbers = places.array
    if places.unchecked is not None:
        _check_bounds(places.unchecked, stream)
        numbers = _flat_indices((array.size,), [places.unchecked], stream)
    if operands.is_on_device(numbers):
        numbers = numbers._reshaped_view((places.size,), "C", False)
        order, ordered = (
            numbers.argsort(stream=stream),
            device_array(places.size, np.int64, stream=stream),
        )
        _take_values[_block_count(places.size), plans.THREADS, stream](numbers, order, ordered)
    else:
        numbers = numbers.ravel()
        order = np.argsort(numbers, kind="stable")
        order, ordered = (operands.to_device(part, stream) for part in (order, numbers[order]))
    grid = -(-places.size // plans.THREADS)
    _launch_kernel(loops, "at_in_order", array, operand, loop, grid, (ordered, order), stream)


@jit
def _take_values(values, order, taken):
    "for (long long i = grid<1>(); i < taken.size(); i += gridsize<1>()) taken[i] = values[order[i]];"
