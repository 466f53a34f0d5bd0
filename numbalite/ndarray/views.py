"""Defines methods that return an array with another shape, axis order or dtype. The result is a view or a
copy as in NumPy, with NumPy's exceptions."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, config, errors
from numbalite.ndarray import assign
from numbalite.ndarray.flat import Flat
from numbalite.runtime import shapes
from numbalite.runtime.traced import traced

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, SupportsIndex

    from numpy.typing import DTypeLike

    from numbalite.arguments import StreamLike
    from numbalite.ndarray.arrays import DeviceNDArray


class Views:
    """NumPy's methods of DeviceNDArray that return views."""

    __slots__ = ()

    def _view_with_layout(self, shape, strides):
        return self._view(tuple(shape), tuple(strides), self.dtype)

    @traced
    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> DeviceNDArray:
        """Returns the elements in another shape; one length may be -1.

        Returns a view if the strides allow it, otherwise a copy, with a PerformanceWarning. copy=False raises
        ValueError instead of copying; copy=True always copies.
        """
        shape = shapes.new_shape_of(self.size, shape)
        order = shapes.order_of(order, "C", "CFA")
        shapes.check_copy(copy)
        if copy:
            return self._reshaped_view(shape, order, True)
        view = self._reshaped_view(shape, order, False)
        if view is not None:
            return view
        if copy is not None:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        if not config.DISABLE_PERFORMANCE_WARNINGS:
            errors.warn(
                f"reshape of an array of shape {self.shape} and strides {self.strides} to {shape} "
                "copies it: writing to the result does not change it (copy=True says that this is "
                "meant)",
                errors.PerformanceWarning,
            )
        return self._reshaped_view(shape, order, True)

    def _reshaped_view(self, shape, order, copy):
        """Returns a view (None if a view is impossible); with `copy=True`, a copy."""
        if order == "A":
            order = self._memory_order()
        if copy:
            return self._copy_reshaped(shape, order)
        if order == "C" and self.is_c_contiguous():
            return self._view(shape, None, self.dtype)
        strides = shapes.strides_of_reshape(self.shape, self.strides, self.itemsize, shape, order)
        return None if strides is None else self._view_with_layout(shape, strides)

    def _copy_reshaped(self, shape, order):
        """Returns a copy with another shape, which owns its memory."""
        with assign.on_device(self.device):
            result = _core.device_empty(shape, self.dtype, order)
        if self.size:
            target = result._view_with_layout(
                self.shape, shapes.packed(self.shape, self.itemsize, order)
            )
            assign.copy_elements(self, target, self.stream, apart=True)
        return result._bind(self.stream) if self.stream else result

    def _memory_order(self):
        return "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"

    @traced
    def ravel(self, order: str = "C", stream: StreamLike = 0) -> DeviceNDArray:
        """Returns the elements as a 1-dimensional array: a view if the array is contiguous in that order,
        otherwise a copy.

        order: C, F, A (F for a Fortran-contiguous array, else C) or K (memory order).
        """
        source, order = self._bind(stream) if stream else self, shapes.order_of(order, "C")
        if order == "K":
            axes = shapes.memory_axis_order(self.shape, self.strides)
            source, order = source.transpose(axes), "C"
        if order == "A":
            order = self._memory_order()
        contiguous = source.is_c_contiguous() if order == "C" else source.is_f_contiguous()
        return source._reshaped_view((self.size,), order, not contiguous)

    @traced
    def flatten(self, order: str = "C") -> DeviceNDArray:
        """Returns a 1-dimensional copy."""
        flat = self.ravel(order)
        return flat.copy() if flat._address == self._address else flat

    @property
    def flat(self) -> Flat:
        """The elements of the array in C order, as numpy.ndarray.flat: `d.flat[::n + 1] = 1`."""
        return Flat(self)

    @flat.setter
    def flat(self, values: Any) -> None:
        Flat(self)[...] = values

    @property
    @traced
    def T(self) -> DeviceNDArray:
        """The array with its axes reversed, as a view."""
        return self._view_with_layout(self.shape[::-1], self.strides[::-1])

    @property
    def mT(self) -> DeviceNDArray:
        """The array with its last two axes exchanged, as a view."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    @traced
    def transpose(self, *given: Any, axes: Any = None) -> DeviceNDArray:
        """Returns a view with permuted axes: `transpose(1, 0, 2)`, `transpose((1, 0, 2))` or
        `transpose(axes=(1, 0, 2))`.

        Without axes, reverses their order."""
        if given and axes is not None:
            raise TypeError("transpose() takes axes or axes=, not both")
        axes = given if len(given) > 1 else given[0] if given else axes
        axes = range(self.ndim)[::-1] if axes is None else shapes.tuple_of_integers(axes)
        if len(axes) != self.ndim:
            raise ValueError("axes don't match array")
        order = [shapes.axis_number(axis, self.ndim) for axis in axes]
        if len(set(order)) != self.ndim:
            raise ValueError("repeated axis in transpose")
        shape, strides = self.shape, self.strides
        return self._view_with_layout((shape[i] for i in order), (strides[i] for i in order))

    @traced
    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> DeviceNDArray:
        """Returns the array with two axes exchanged (a view)."""
        order = list(range(self.ndim))
        i = shapes.axis_number(axis1, self.ndim, "axis1")
        j = shapes.axis_number(axis2, self.ndim, "axis2")
        order[i], order[j] = order[j], order[i]
        return self.transpose(order)

    @traced
    def squeeze(self, axis: Any = None, stream: StreamLike = 0) -> DeviceNDArray:
        """Returns a view without the axes of length one, or without the axes `axis`; returns the array itself
        if it has no axes of length one."""
        shape, strides = self.shape, self.strides
        if axis is None:
            gone = [i for i, length in enumerate(shape) if length == 1]
        else:
            axes = axis if isinstance(axis, (tuple, list)) else (axis,)
            if not self.ndim and not isinstance(axis, (tuple, list)) and axis in (0, -1):
                axes = ()  # as NumPy has it
            gone = [shapes.axis_number(one, self.ndim) for one in axes]
            if len(set(gone)) < len(gone):
                raise ValueError("duplicate value in 'axis'")
            if any(shape[i] != 1 for i in gone):
                raise ValueError(
                    "cannot select an axis to squeeze out which has size not equal to one"
                )
        if not gone and not stream:
            return self
        kept = [i for i in range(self.ndim) if i not in gone]
        result = self._view_with_layout((shape[i] for i in kept), (strides[i] for i in kept))
        return result.bind(stream) if stream else result

    def diagonal(
        self, offset: int = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1
    ) -> DeviceNDArray:
        """Returns a writable view of the elements with equal indices along two axes."""
        if self.ndim < 2:
            raise ValueError("diag requires an array of at least two dimensions")
        i = shapes.axis_number(axis1, self.ndim, "axis1")
        j = shapes.axis_number(axis2, self.ndim, "axis2")
        if i == j:
            raise ValueError("axis1 and axis2 cannot be the same")
        offset = operator.index(offset)
        key = [slice(None)] * self.ndim
        key[j if offset >= 0 else i] = slice(abs(offset), None)
        part = self[tuple(key)]
        kept = [k for k in range(self.ndim) if k not in (i, j)]
        shape, strides = part.shape, part.strides
        return part._view_with_layout(
            (*(shape[k] for k in kept), min(shape[i], shape[j])),
            (*(strides[k] for k in kept), strides[i] + strides[j]),
        )

    @property
    def real(self) -> DeviceNDArray:
        """The real parts (a view)."""
        if self.dtype.kind != "c":
            return self
        return self._view(self.shape, self.strides, self.dtype.char.lower())

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> DeviceNDArray:
        """The imaginary parts: a view of a complex array, new zeros for other arrays."""
        if self.dtype.kind == "c":
            half = self.itemsize // 2 if self.size else 0
            return self._view(self.shape, self.strides, self.dtype.char.lower(), half)
        strides = shapes.packed_like(self.shape, self.strides, self.itemsize)
        with assign.on_device(self.device):
            zeros = _core.device_empty(self.shape, self.dtype, strides=strides)
        zeros.fill(0)
        return zeros

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    @traced
    def view(self, dtype: DTypeLike | None = None) -> DeviceNDArray:
        """Returns a view of the same bytes with another dtype. If the itemsize differs, the last axis must be
        contiguous, and its length changes."""
        if isinstance(dtype, type) and issubclass(dtype, (_core.DeviceArray, np.ndarray)):
            raise TypeError(f"view() takes a dtype, not the array type {dtype.__name__}")
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        old, new = self.itemsize, dtype.itemsize
        if old == new or dtype.hasobject:  # which is refused
            return self._view(self.shape, self.strides, dtype)
        if not self.ndim:
            raise ValueError(
                "Changing the dtype of a 0d array is only supported if the itemsize is unchanged"
            )
        if not (old and new):
            raise ValueError("a view cannot change the size of elements from or to 0 bytes")
        shape, strides = self.shape, self.strides
        if shape[-1] != 1 and self.size and strides[-1] != old:
            raise ValueError(
                "To change to a dtype of a different size, the last axis must be contiguous"
            )
        length = shape[-1] * old
        if new < old and old % new:
            raise ValueError(
                "When changing to a smaller dtype, its size must be a divisor of the size of "
                "original dtype"
            )
        if length % new:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in "
                "bytes of the last axis of the array."
            )
        return self._view((*shape[:-1], length // new), (*strides[:-1], new), dtype)

    def split(self, section: int, stream: StreamLike = 0) -> Iterator[DeviceNDArray]:
        """Yields parts of `section` elements of a 1-dimensional array; the last may be shorter."""
        if self.ndim != 1:
            raise ValueError("only a one-dimensional array can be split")
        section = operator.index(section)
        if section < 1:
            raise ValueError("section must be positive")
        for start in range(0, self.size, section):
            piece = self[start : start + section]
            yield piece.bind(stream) if stream else piece
