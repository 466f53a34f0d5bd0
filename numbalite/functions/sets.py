"""Implements set functions (isin, intersect1d, union1d, ...), by sorting and binary search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.algorithms import sorting
from numbalite.functions import arguments
from numbalite.functions.joining import concatenate
from numbalite.functions.searching import contains_values
from numbalite.functions.uniques import unique
from numbalite.ndarray.dispatch import implements

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


def _as_1d(a):
    return arguments.as_1d(a)


def _common_1d_arrays(*given):
    """Returns the arguments as 1-dimensional device arrays with a common dtype."""
    arrays = arguments.arrays_of(given)
    dtype = np.result_type(*(one.dtype for one in arrays))
    return [_as_1d(one).astype(dtype, copy=False) for one in arrays]


@implements("isin", "in1d")
def isin(
    element, test_elements, assume_unique: bool = False, invert: bool = False, *, kind=None
) -> DeviceNDArray:
    """Searches the sorted test elements; ``assume_unique`` and ``kind`` have no effect."""
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    element, test_elements = arguments.arrays_of((element, test_elements))
    values, known = _common_1d_arrays(element, test_elements)
    known = sorting.sort(known, 0)
    with arguments.on_device_of(known):
        found = contains_values(known, values, invert)
    if (
        values.dtype.kind in "fc"
    ):  # remove NaN, which binary search finds although NaN equals no element
        nan = np.isnan(values)
        found = np.logical_or(found, nan) if invert else np.logical_and(found, ~nan)
    return found.reshape(element.shape)


@implements("union1d")
def union1d(ar1, ar2) -> DeviceNDArray:
    return unique(concatenate((ar1, ar2), axis=None))


@implements("setdiff1d")
def setdiff1d(ar1, ar2, assume_unique: bool = False) -> DeviceNDArray:
    ar1, ar2 = arguments.arrays_of((ar1, ar2))
    ar1 = _as_1d(ar1) if assume_unique else unique(ar1)
    return ar1[isin(ar1, ar2, invert=True)]


def _sorted_concatenation(ar1, ar2, assume_unique):
    one, other = _common_1d_arrays(ar1, ar2)
    if not assume_unique:
        one, other = unique(one), unique(other)
    return sorting.sort(concatenate([one, other]), 0)


@implements("setxor1d")
def setxor1d(ar1, ar2, assume_unique: bool = False) -> DeviceNDArray:
    line = _sorted_concatenation(ar1, ar2, assume_unique)
    if line.size == 0:
        return line
    differs = arguments.empty((line.size + 1,), bool, line)
    differs[:1], differs[-1:] = True, True
    differs[1:-1] = np.not_equal(line[1:], line[:-1])
    return line[np.logical_and(differs[1:], differs[:-1])]


@implements("intersect1d")
def intersect1d(ar1, ar2, assume_unique: bool = False, return_indices: bool = False) -> Any:
    if not return_indices:
        line = _sorted_concatenation(ar1, ar2, assume_unique)
        return line[:-1][np.equal(line[1:], line[:-1])]
    one, other = _common_1d_arrays(ar1, ar2)
    indices = None
    if not assume_unique:
        (one, of_one), (other, of_other) = unique(one, True), unique(other, True)
        indices = of_one, of_other
    line = concatenate([one, other])
    # The sort is stable: of two equal elements, the element of ar1 is first
    order = sorting.argsort(line, 0)
    line = line[order]
    both = np.equal(line[1:], line[:-1])
    in_one, in_other = order[:-1][both], order[1:][both] - one.size
    if indices is not None:
        in_one, in_other = indices[0][in_one], indices[1][in_other]
    return line[:-1][both], in_one, in_other
