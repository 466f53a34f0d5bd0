"""Defines the methods of DeviceNDArray that call the NumPy function of the same name.

The NumPy function calls DeviceArray.__array_function__, which runs the device version (numbalite/functions)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.ndarray import dispatch
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import TypeVar

    from numbalite.ndarray.arrays import DeviceNDArray

    Output = TypeVar("Output", default=DeviceNDArray)
    """The type of out=; without out=, a method returns a new device array."""

_NO_VALUE: Any = np._NoValue


class Methods:
    """NumPy's methods of DeviceNDArray. Results are device arrays; these are 0-dimensional if NumPy returns a
    number."""

    __slots__ = ()

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Output | None = None,
        keepdims: Any = False,
        initial: Any = _NO_VALUE,
        where: Any = True,
    ) -> Output:
        """Returns the sum of all elements or along axes, as numpy.sum."""
        return np.sum(self, axis, dtype, out, keepdims, initial, where)  # type: ignore[call-overload]

    def ptp(self, axis: Any = None, out: Output | None = None, keepdims: Any = False) -> Output:
        """Returns the difference of maximum and minimum, of all elements or along axes, as numpy.ptp."""
        return np.ptp(self, axis, out, keepdims)  # type: ignore[call-overload]

    def searchsorted(self, v: Any, side: Any = "left", sorter: Any = None) -> DeviceNDArray:
        """Returns the indices at which values must be inserted into this sorted array, as
        numpy.searchsorted."""
        return np.searchsorted(self, v, side, sorter)  # type: ignore[call-overload]

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Output | None = None,
        keepdims: Any = False,
        initial: Any = _NO_VALUE,
        where: Any = True,
    ) -> Output:
        """Returns the product of all elements or along axes, as numpy.prod."""
        return np.prod(self, axis, dtype, out, keepdims, initial, where)  # type: ignore[call-overload]

    def max(
        self,
        axis: Any = None,
        out: Output | None = None,
        keepdims: Any = False,
        initial: Any = _NO_VALUE,
        where: Any = True,
    ) -> Output:
        """Returns the maximum of all elements or along axes, as numpy.max."""
        return np.max(self, axis, out, keepdims, initial, where)  # type: ignore[call-overload]

    def min(
        self,
        axis: Any = None,
        out: Output | None = None,
        keepdims: Any = False,
        initial: Any = _NO_VALUE,
        where: Any = True,
    ) -> Output:
        """Returns the minimum of all elements or along axes, as numpy.min."""
        return np.min(self, axis, out, keepdims, initial, where)  # type: ignore[call-overload]

    def any(
        self,
        axis: Any = None,
        out: Output | None = None,
        keepdims: Any = False,
        *,
        where: Any = True,
    ) -> Output:
        """Returns whether any element is true, as numpy.any."""
        return np.any(self, axis, out, keepdims, where=where)  # type: ignore[call-overload]

    def all(
        self,
        axis: Any = None,
        out: Output | None = None,
        keepdims: Any = False,
        *,
        where: Any = True,
    ) -> Output:
        """Returns whether all elements are true, as numpy.all."""
        return np.all(self, axis, out, keepdims, where=where)  # type: ignore[call-overload]

    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Output | None = None,
        keepdims: Any = False,
        *,
        where: Any = True,
    ) -> Output:
        """Returns the mean of all elements or along axes, as numpy.mean."""
        return np.mean(self, axis, dtype, out, keepdims, where=where)  # type: ignore[call-overload]

    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Output | None = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        **words: Any,
    ) -> Output:
        """Returns the variance of all elements or along axes, as numpy.var."""
        return np.var(self, axis, dtype, out, ddof, keepdims, where=where, **words)  # type: ignore[call-overload]

    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Output | None = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        **words: Any,
    ) -> Output:
        """Returns the standard deviation of all elements or along axes, as numpy.std."""
        return np.std(self, axis, dtype, out, ddof, keepdims, where=where, **words)  # type: ignore[call-overload]

    def argmax(
        self, axis: Any = None, out: Output | None = None, *, keepdims: Any = False
    ) -> Output:
        """Returns the index of the first maximum, of all elements or along an axis, as numpy.argmax."""
        return np.argmax(self, axis, out, keepdims=keepdims)  # type: ignore[call-overload]

    def argmin(
        self, axis: Any = None, out: Output | None = None, *, keepdims: Any = False
    ) -> Output:
        """Returns the index of the first minimum, of all elements or along an axis, as numpy.argmin."""
        return np.argmin(self, axis, out, keepdims=keepdims)  # type: ignore[call-overload]

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Output | None = None) -> Output:
        """Returns the cumulative sums, as numpy.cumsum."""
        return np.cumsum(self, axis, dtype, out)  # type: ignore[call-overload]

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Output | None = None) -> Output:
        """Returns the cumulative products, as numpy.cumprod."""
        return np.cumprod(self, axis, dtype, out)  # type: ignore[call-overload]

    def sort(
        self,
        axis: Any = -1,
        kind: Any = None,
        order: Any = None,
        *,
        stable: Any = None,
        descending: bool = False,
        stream: Any = 0,
    ) -> None:
        """Sorts the array in place, as numpy.ndarray.sort; the sort is always stable. ``descending``: True to
        sort from the largest to the smallest element."""
        in_place = dispatch.find_function(np.ndarray.sort)
        in_place(self, axis, kind, order, stable=stable, descending=descending, stream=stream)

    def argsort(
        self,
        axis: Any = -1,
        kind: Any = None,
        order: Any = None,
        *,
        stable: Any = None,
        descending: bool = False,
        stream: Any = 0,
    ) -> DeviceNDArray:
        """Returns the indices of the elements in sorted order, as numpy.argsort; the sort is always
        stable."""
        places = dispatch.find_function(np.ndarray.argsort)
        return places(self, axis, kind, order, stable=stable, descending=descending, stream=stream)

    def partition(
        self, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
    ) -> None:
        """Partitions the array in place, as numpy.ndarray.partition. The implementation sorts the array,
        which is a valid partition."""
        dispatch.find_function(np.ndarray.partition)(self, kth, axis, kind, order)

    def argpartition(
        self, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
    ) -> DeviceNDArray:
        """Returns the indices that partition the array, as numpy.argpartition. The result is the indices of
        the sorted order."""
        return dispatch.find_function(np.argpartition)(self, kth, axis, kind, order)

    def nonzero(self) -> tuple[DeviceNDArray, ...]:
        """Returns the indices of the nonzero elements, one array per dimension, as
        numpy.nonzero."""
        return np.nonzero(self)  # type: ignore

    def compress(self, condition: Any, axis: Any = None, out: Output | None = None) -> Output:
        """Returns the elements, or slices along an axis, at the indices where `condition` is true,
        as numpy.compress."""
        return np.compress(condition, self, axis, out)  # type: ignore[call-overload]

    def clip(
        self, min: Any = None, max: Any = None, out: Output | None = None, **words: Any
    ) -> Output:
        """Returns the elements limited to an interval, as numpy.clip."""
        return np.clip(self, min, max, out, **words)  # type: ignore[call-overload]

    def round(self, decimals: Any = 0, out: Output | None = None) -> Output:
        """Returns the elements rounded, as numpy.round."""
        return np.round(self, decimals, out)  # type: ignore[call-overload]

    def take(
        self, indices: Any, axis: Any = None, out: Output | None = None, mode: Any = "raise"
    ) -> Output:
        """Returns the elements at indices, as numpy.take."""
        return np.take(self, indices, axis, out, mode)  # type: ignore[call-overload]

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Sets the elements at flat indices (C order), as numpy.put."""
        np.put(self, indices, values, mode)  # type: ignore[arg-type]

    def choose(self, choices: Any, out: Output | None = None, mode: Any = "raise") -> Output:
        """Selects elements of several arrays, as numpy.choose; each element of this array is the index of an
        array."""
        choices = shapes.list_of_items(choices, "choices")
        return np.choose(self, choices, out, mode)  # type: ignore[call-overload]

    def repeat(self, repeats: Any, axis: Any = None) -> DeviceNDArray:
        """Repeats each element, as numpy.repeat."""
        return np.repeat(self, repeats, axis)  # type: ignore[call-overload]

    def dot(self, b: Any, out: Output | None = None) -> Output:
        """Returns the product with another array, as numpy.dot."""
        return np.dot(self, b, out)  # type: ignore[call-overload]

    def trace(
        self,
        offset: Any = 0,
        axis1: Any = 0,
        axis2: Any = 1,
        dtype: Any = None,
        out: Output | None = None,
    ) -> Output:
        """Returns the sum along a diagonal, as numpy.trace."""
        return np.trace(self, offset, axis1, axis2, dtype, out)  # type: ignore[call-overload]

    def conjugate(self) -> DeviceNDArray:
        """Returns the complex conjugates, as numpy.conjugate; the array itself if it is not
        complex."""
        return np.conjugate(self) if self.dtype.kind == "c" else self  # type: ignore

    conj = conjugate
