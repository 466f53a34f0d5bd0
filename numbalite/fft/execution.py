"""Executes transforms of arrays: copies the input to the layout that cuFFT needs, if necessary, and
scales the result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.fft import plans
from numbalite.fft.plans import FORWARD, INVERSE
from numbalite.functions import arguments
from numbalite.functions.arguments import empty_like
from numbalite.ndarray import assign
from numbalite.runtime.libraries.table import stream_number
from numbalite.ufuncs import protocols

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


class TransformInput:
    """The input of a transform. `owned` states whether the array is a temporary copy that the transform may
    overwrite."""

    def __init__(self, array: DeviceNDArray, owned: bool = False) -> None:
        self.array = array
        self.owned = owned

    def with_dtype(self, dtype: Any) -> TransformInput:
        """In another dtype."""
        if self.array.dtype == dtype:
            return self
        return TransformInput(self.array.astype(dtype), True)

    def with_lengths(self, lengths: dict[int, int]) -> TransformInput:
        """Cuts the array, or pads it with zeros, to lengths by axis."""
        array = self.array
        cut = [slice(None)] * array.ndim
        shape = list(array.shape)
        for axis, n in lengths.items():
            cut[axis] = slice(min(n, shape[axis]))
            shape[axis] = n
        part = array[tuple(cut)]
        if part.shape == tuple(shape):
            return TransformInput(part, self.owned)
        made = empty_like(array, shape, array.dtype)
        made.fill(0)
        assign.assign(made[tuple(cut)], part)
        return TransformInput(made, True)

    def with_axes_last(self, axes: Sequence[int]) -> TransformInput:
        """Returns a copy with these axes last in memory."""
        view = move_axes_last(self.array, axes)
        made = empty_like(view, view.shape, view.dtype)
        assign.assign(made, view)
        return TransformInput(restore_axis_order(made, axes), True)


def _axis_order(ndim, axes):
    return [i for i in range(ndim) if i not in axes] + list(axes)


def move_axes_last(array: DeviceNDArray, axes: Sequence[int]) -> DeviceNDArray:
    """Returns a view with these axes last."""
    return array.transpose(_axis_order(array.ndim, axes))


def restore_axis_order(array: DeviceNDArray, axes: Sequence[int]) -> DeviceNDArray:
    """Returns a view with the axes in their original order: the inverse of `move_axes_last`."""
    return array.transpose(np.argsort(_axis_order(array.ndim, axes)).tolist())


def _cufft_layout(array, axes):
    """Returns cuFFT's layout of an array, or None. cuFFT requires that an array of real numbers is aligned like complex
    numbers."""
    if array._address % (
        2 * array.dtype.itemsize if array.dtype.kind == "f" else array.dtype.itemsize
    ):
        return None
    return plans.layout_of(array, axes)


def _output_array(source, shape, dtype, axes, out=None):
    """Returns `out` if cuFFT can write the result there, otherwise a new array, in C order if possible."""
    if out is not None and _can_write_into(out, source, shape, dtype, axes):
        return out
    made = empty_like(source, shape, dtype)
    if _cufft_layout(made, axes) is None:
        view = move_axes_last(made, axes)
        made = restore_axis_order(empty_like(source, view.shape, dtype), axes)
    return made


def _can_write_into(out, source, shape, dtype, axes):
    """Returns whether the transform of `source` can be written directly to `out`."""
    in_place = (source._address, source.strides, source.dtype) == (
        out._address, out.strides, dtype,
    )  # fmt: skip
    return (
        (out.shape, out.dtype, out.device) == (tuple(shape), dtype, source.device)
        and not out.readonly
        and stream_number(out.stream) == stream_number(source.stream)
        and _cufft_layout(out, axes) is not None
        and (in_place or not assign.may_overlap(source, out))
    )


def execute_transform(
    source: DeviceNDArray,
    target: DeviceNDArray,
    axes: Sequence[int],
    lengths: Sequence[int],
    direction: int,
) -> None:
    """Executes a transform over `axes` of both arrays, whose layouts cuFFT must support."""
    layouts = _cufft_layout(source, axes), _cufft_layout(target, axes)
    batch = source.size // math.prod(source.shape[axis] for axis in axes)
    dtypes = source.dtype.char + target.dtype.char
    transform = plans.transform(tuple(lengths), batch, dtypes, layouts)
    with arguments.on_device_of(source):
        _core.trace_step(transform, source.stream, source, target, direction)


def _operand_with_layout(operand, axes):
    return (
        operand if _cufft_layout(operand.array, axes) is not None else operand.with_axes_last(axes)
    )


def axis_groups(axes: Sequence[int]) -> list[list[int]]:
    """Transforms as many axes at once as cuFFT supports, beginning with the last axes."""
    left, found = list(axes), []
    while left:
        found.append(left[-plans.MAX_DIMENSIONS :])
        del left[-plans.MAX_DIMENSIONS :]
    return found


def complex_to_complex(
    operand: TransformInput, axes: Sequence[int], direction: int, out: DeviceNDArray | None = None
) -> TransformInput:
    """Returns the result of a transform: in `out` if it can be written directly, otherwise in place if the
    array is a temporary."""
    parts = axis_groups(axes)
    for i, part in enumerate(parts, 1):
        prepared = _operand_with_layout(operand, part)
        source, own = prepared.array, out if i == len(parts) else None
        if own is not None and not _can_write_into(own, source, source.shape, source.dtype, part):
            own = None
        if own is None and not prepared.owned:
            own = _output_array(source, source.shape, source.dtype, part)
        target = source if own is None else own
        execute_transform(source, target, part, [source.shape[axis] for axis in part], direction)
        operand = TransformInput(target, True)
    return operand


def real_to_complex(
    operand: TransformInput, axes: Sequence[int], out: DeviceNDArray | None = None
) -> TransformInput:
    """Returns the result for a real array, which has about half the length along the last axis."""
    first, *others = axis_groups(axes)
    source, last = _operand_with_layout(operand, first).array, axes[-1]
    shape = list(source.shape)
    shape[last] = shape[last] // 2 + 1
    dtype = np.dtype(source.dtype.char.upper())
    target = _output_array(source, shape, dtype, first, None if others else out)
    execute_transform(source, target, first, [source.shape[axis] for axis in first], FORWARD)
    if not others:
        return TransformInput(target, True)
    rest = [axis for axis in axes if axis not in first]
    return complex_to_complex(TransformInput(target, True), rest, FORWARD, out)


def complex_to_real(
    operand: TransformInput, axes: Sequence[int], length: int, out: DeviceNDArray | None = None
) -> TransformInput:
    """Transforms a half spectrum to `length` real numbers along the last axis. As in NumPy, the other axes are
    transformed first, and then the imaginary part at frequency 0 is ignored. cuFFT overwrites its input, so the
    input is always a copy."""
    *others, last = axes
    if others:
        operand = complex_to_complex(operand, others, INVERSE)
    if not operand.owned or _cufft_layout(operand.array, [last]) is None:
        operand = operand.with_axes_last([last])
    source = operand.array
    shape = list(source.shape)
    shape[last] = length
    target = _output_array(source, shape, np.dtype(source.dtype.char.lower()), [last], out)
    execute_transform(source, target, [last], [length], INVERSE)
    return TransformInput(target, True)


def scale_in_place(array: DeviceNDArray, factor: float) -> None:
    """Multiplies in place, treating real and imaginary parts as real numbers, so that infinities cause no
    NaN."""
    real = np.dtype(array.dtype.char.lower())
    if array.dtype.kind != "c":
        view = array
    elif array.is_c_contiguous():
        view = array._view((array.size * 2,), (real.itemsize,), real)
    else:
        view = array._view((*array.shape, 2), (*array.strides, real.itemsize), real)
    with arguments.on_device_of(view):
        protocols.cuda_ufunc_for(np.multiply)(
            view, real.type(factor), out=view, stream=array.stream
        )
