"""Selects elements of an array, in order, or their indices, by launching the kernels of select.cuh.

The elements are selected by a function of an element, or by a boolean mask of the array's shape.
The number of selected elements stays on the device, in an array of one int64. `count_as_int` waits for this
number.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.ndarray import copyplan
from numbalite.ufuncs import element, operands, reduceloops

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

# Maximum size in bytes of an output with space for all elements. For larger outputs,
# the wait for the number of selected elements is short compared with the kernels.
_MAX_CAPACITY = 16 << 20


@functools.cache
def mask_selection_kernels() -> reduceloops.Loops:
    """Returns the object with the kernels that select by a mask."""
    function = element.element_function(source="true", args="x", name="by_mask")
    return reduceloops.Loops(lambda dtype: function, "by_mask")


def integer_view(array: DeviceNDArray) -> DeviceNDArray:
    """Returns the elements as integers of their size, if such a type exists, so that one kernel serves many dtypes."""
    word = copyplan.WORDS.get(array.itemsize)
    if word is None:
        return array
    same = array._view(array.shape, array.strides, word)
    return same if operands.is_aligned(same) else array


def empty_count() -> DeviceNDArray:
    return _core.device_empty((1,), np.dtype("i8"), "C")


def check_count_array(operation: Any, count: Any, like: Any) -> Any:
    """Checks the count= of a call."""
    if not isinstance(count, _core.DeviceArray) or count.dtype != np.int64 or count.shape != (1,):
        raise TypeError(f"{operation.called}: count= must be a device array of one int64")
    if count.device != like.device or count.readonly:
        raise ValueError(f"{operation.called}: count= is read-only or on another device")
    return count


def count_as_int(count: DeviceNDArray, stream: Any) -> int:
    """Returns the number of selected elements, after a wait for the kernel. In a capture, raises the error that
    names counts of selected elements."""
    is_copied = stream or _core.capture_here()
    return int(count.copy_to_host(stream=stream)[0] if is_copied else count[0])


def launch_selection(
    what: str,
    array: DeviceNDArray,
    out: DeviceNDArray,
    count: DeviceNDArray | None,
    *,
    loops: Any = None,
    mask: Any = None,
    steps: Any = None,
    stream: Any = 0,
) -> int | None:
    """Launches the kernel of select.cuh for the selection `what`. Without `count`, waits and returns the number of
    selected elements, or returns None without a launch if `count` is necessary.

    "values" and "halves" write to a 1-D `out`. "indices" writes indices to `out` with `steps`, the strides in
    bytes from element to element, and from axis to axis of one element. "spread" and "cover" read
    elements from `out`.
    """
    step, apart = steps or (out.strides[0], 0)
    loops = loops or mask_selection_kernels()
    return _core.select_elements(loops, what, array, mask, out, count, step, apart, stream)


def select_by_mask(
    what: str, array: DeviceNDArray, mask: DeviceNDArray, dims: tuple[int, ...], axis: int, dtype: Any,
    stream: Any = 0,
) -> DeviceNDArray:  # fmt: skip
    """Returns a new array with the selected "values" or "indices" along `axis`, and with the other axes `dims`. Waits
    for their number.

    A small array is selected into an array with space for all elements, by the kernel that counts them."""
    size, steps = mask.size, None
    is_small = size * math.prod(dims) * dtype.itemsize <= _MAX_CAPACITY
    capacity = size if is_small else int(np.count_nonzero(mask))
    out = _core.device_empty((*dims[:axis], capacity, *dims[axis:]), dtype, "C")
    if not out.size:
        return out
    if what == "indices":
        steps = out.strides[axis], out.strides[1 - axis]
    options = {"mask": mask, "steps": steps, "stream": stream}
    count = launch_selection(what, array, out, None, **options) if is_small else None
    if count is None:
        found = empty_count()
        launch_selection(what, array, out, found, **options)
        if not is_small:
            return out
        count = count_as_int(found, stream)
    part = out[:, :count] if axis else out[:count]
    return part if 2 * count >= size else part.copy(stream=stream)  # frees unused memory


def indices_of(mask: DeviceNDArray, as_rows: bool) -> DeviceNDArray:
    """Returns the indices of the true elements, with shape (dimensions, count), or with `as_rows`
    (count, dimensions)."""
    return select_by_mask(
        "indices", mask, mask, (mask.ndim,), int(not as_rows), np.dtype("i8"), mask.stream
    )
