"""Reads and writes the elements that a boolean mask of the array's shape selects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.algorithms import selection
from numbalite.ndarray import assign as assignment
from numbalite.ndarray.assign import on_device_of
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


def as_booleans(condition: Any) -> Any:
    """Converts elements to booleans."""
    return condition if condition.dtype == bool else np.not_equal(condition, 0)


def select_by_mask(array: DeviceNDArray, mask: Any, stream: Any = 0) -> DeviceNDArray:
    """Returns the elements that the mask selects, in C order; waits for their number."""
    with on_device_of(array):
        mask = _mask_on_device(mask, array)
        source = array if operands.is_aligned(array) else array.copy(stream=stream)
        words = selection.integer_view(source)
        found = selection.select_by_mask(
            "values", words, mask, (), 0, words.dtype, stream or array.stream
        )
    return found._view(found.shape, found.strides, array.dtype, 0, False, False)


def assign_to_mask(
    array: DeviceNDArray, mask: Any, values: Any, stream: Any = 0, in_order: bool = True
) -> None:
    """Implements array[mask] = values, for 1-D values of the array's dtype, which are repeated if the mask
    selects more elements.

    Without `in_order`, each element gets the value of its own index in C order, independent of the number of
    selected elements before it.
    """
    if array.readonly:
        raise ValueError("assignment destination is read-only")
    if not array.size:
        return
    with on_device_of(array):
        stream = stream or array.stream
        mask, values = (
            _copy_if_overlapping(_mask_on_device(mask, array), array, stream),
            _copy_if_overlapping(values, array, stream),
        )
        if not values.is_c_contiguous():
            values = values.copy(stream=stream)
        aligned = operands.is_aligned(array)
        target = array if aligned else array.copy(stream=stream)
        what = "spread" if in_order and values.size > 1 else "cover"
        moved = selection.integer_view(target)
        values = values._view(values.shape, values.strides, moved.dtype)
        selection.launch_selection(
            what, moved, values, selection.empty_count(), mask=mask, stream=stream
        )
        if not aligned:
            array._copy(target, stream)


def _copy_if_overlapping(other, array, stream):
    return other.copy(stream=stream) if assignment.may_overlap(other, array) else other


def _mask_on_device(mask, array):
    return (
        mask
        if mask.device == array.device
        else assignment.copy_to_device_number(mask, array.device)
    )
