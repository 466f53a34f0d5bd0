"""Transforms of whole arrays: the layout that cuFFT needs, the copy that makes it where there is none, the
scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.cuda import assign
from numbalite.cuda.arrayfunctions import arguments
from numbalite.cuda.arrayfunctions.arguments import empty_beside
from numbalite.fft import plans
from numbalite.fft.plans import FORWARD, INVERSE
from numbalite.libraries.table import CUFFT
from numbalite.ufuncs import protocols

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numbalite.cuda.arrays import DeviceNDArray


class Operand:
    """An array on its way to a transform; `owned`: it is a copy that may be written to."""

    def __init__(self, array: DeviceNDArray, owned: bool = False) -> None:
        self.array = array
        self.owned = owned

    def converted(self, dtype: Any) -> Operand:
        """In another dtype."""
        if self.array.dtype == dtype:
            return self
        return Operand(self.array.astype(dtype), True)

    def fitted(self, lengths: dict[int, int]) -> Operand:
        """Cut, or padded with zeros, to lengths by axis."""
        array = self.array
        cut = [slice(None)] * array.ndim
        shape = list(array.shape)
        for axis, n in lengths.items():
            cut[axis] = slice(min(n, shape[axis]))
            shape[axis] = n
        part = array[tuple(cut)]
        if part.shape == tuple(shape):
            return Operand(part, self.owned)
        made = empty_beside(array, shape, array.dtype)
        made.fill(0)
        assign.assign(made[tuple(cut)], part)
        return Operand(made, True)

    def ordered(self, axes: Sequence[int]) -> Operand:
        """A copy that lies so that the axes are the last in memory."""
        view = moved(self.array, axes)
        made = empty_beside(view, view.shape, view.dtype)
        assign.assign(made, view)
        return Operand(moved_back(made, axes), True)


def _order(ndim, axes):
    return [i for i in range(ndim) if i not in axes] + list(axes)


def moved(array: DeviceNDArray, axes: Sequence[int]) -> DeviceNDArray:
    """A view with the axes last."""
    return array.transpose(_order(array.ndim, axes))


def moved_back(array: DeviceNDArray, axes: Sequence[int]) -> DeviceNDArray:
    """The view that `moved` was made of."""
    return array.transpose(np.argsort(_order(array.ndim, axes)).tolist())


def _layout(array, axes):
    """Of the moved view. Pairs of real numbers that are no complex number's place are not for cuFFT."""
    if array._address % (
        2 * array.dtype.itemsize if array.dtype.kind == "f" else array.dtype.itemsize
    ):
        return None
    return plans.layout_of(moved(array, axes), len(axes))


def _target(source, shape, dtype, axes):
    """A new array for the result: C order if cuFFT can write that."""
    made = empty_beside(source, shape, dtype)
    if _layout(made, axes) is None:
        view = moved(made, axes)
        made = moved_back(empty_beside(source, view.shape, dtype), axes)
    return made


def _run(source, target, axes, lengths, direction):
    layouts = _layout(source, axes), _layout(target, axes)
    batch = source.size // math.prod(source.shape[axis] for axis in axes)
    dtypes = source.dtype.char + target.dtype.char
    with arguments.on_device_of(source):
        plan = plans.plan(source.stream, tuple(lengths), batch, dtypes, layouts)
        plan.run(source.stream, source, target, direction)
    return plan


def _prepared(operand, axes):
    return operand if _layout(operand.array, axes) is not None else operand.ordered(axes)


def groups(axes: Sequence[int]) -> list[list[int]]:
    """As many axes at once as cuFFT takes, the last ones first."""
    left, found = list(axes), []
    while left:
        found.append(left[-plans.MOST_DIMENSIONS :])
        del left[-plans.MOST_DIMENSIONS :]
    return found


def complex_to_complex(
    operand: Operand, axes: Sequence[int], direction: int
) -> tuple[Operand, plans.Plan | None]:
    """The result, in place where the array is owned, and the plan if that did all of it."""
    plan, given = None, operand
    parts = groups(axes)
    for part in parts:
        prepared = _prepared(operand, part)
        source = prepared.array
        target = source if prepared.owned else _target(source, source.shape, source.dtype, part)
        plan = _run(source, target, part, [source.shape[axis] for axis in part], direction)
        operand = Operand(target, True)
    return operand, plan if len(parts) == 1 and prepared is given else None


def real_to_complex(operand: Operand, axes: Sequence[int]) -> tuple[Operand, plans.Plan | None]:
    """The same of a real array: half of the last axis."""
    first, *others = groups(axes)
    prepared = _prepared(operand, first)
    source, last = prepared.array, axes[-1]
    shape = list(source.shape)
    shape[last] = shape[last] // 2 + 1
    target = _target(source, shape, np.dtype(source.dtype.char.upper()), first)
    plan = _run(source, target, first, [source.shape[axis] for axis in first], FORWARD)
    if not others:
        return Operand(target, True), plan if prepared is operand else None
    rest = [axis for axis in axes if axis not in first]
    return complex_to_complex(Operand(target, True), rest, FORWARD)[0], None


def complex_to_real(operand: Operand, axes: Sequence[int], length: int) -> Operand:
    """From half of the last axis, whose whole length is given. As NumPy, which takes the real part of what
    the other axes leave at frequency 0; cuFFT writes on its input, so it is always a copy."""
    *others, last = axes
    if others:
        operand, _ = complex_to_complex(operand, others, INVERSE)
    if not operand.owned or _layout(operand.array, [last]) is None:
        operand = operand.ordered([last])
    source = operand.array
    shape = list(source.shape)
    shape[last] = length
    target = _target(source, shape, np.dtype(source.dtype.char.lower()), [last])
    _run(source, target, [last], [length], INVERSE)
    return Operand(target, True)


def scale(array: DeviceNDArray, factor: float) -> None:
    """Multiplies in place, real and imaginary parts as real numbers: infinities stay where they are."""
    real = np.dtype(array.dtype.char.lower())
    if array.dtype.kind != "c":
        view = array
    elif array.is_c_contiguous():
        view = array._view((array.size * 2,), (real.itemsize,), real)
    else:
        view = array._view((*array.shape, 2), (*array.strides, real.itemsize), real)
    with arguments.on_device_of(view):
        protocols.counterpart(np.multiply)(view, real.type(factor), out=view, stream=array.stream)


class Direct:
    """A call that needs no copy: a plan, and what its result is."""

    def __init__(
        self, plan: plans.Plan, direction: int, result: DeviceNDArray, factor: float
    ) -> None:
        self.plan, self.direction, self.factor = plan, direction, factor
        self.shape, self.dtype = result.shape, result.dtype

    def fits(self, array: DeviceNDArray, out: DeviceNDArray) -> bool:
        """Can the plan write the result of the array right into `out`, apart from whether they overlap?"""
        streams = {plans.stream_number(one.stream) for one in (array, out)}
        return (
            (out.shape, out.dtype, out.device) == (self.shape, self.dtype, array.device)
            and out.is_c_contiguous()
            and not out.readonly
            and out._address % out.dtype.itemsize == 0
            and len(streams) == 1
        )

    def __call__(self, array: DeviceNDArray, out: DeviceNDArray | None = None) -> DeviceNDArray:
        """The transform of an array like the one that it was made for, on the current device."""
        made, stream = out, array.stream
        if made is None:
            made = _core.device_empty(self.shape, self.dtype, "C")
            if stream:
                made = made.bind(stream)
        plan = self.plan
        if plan.work is None:  # as plan.run does it
            status = CUFFT.functions["XtExec"](stream, plan.number, array, made, self.direction)
            if status:
                raise CUFFT.failure("XtExec", status)
        else:
            plan.run(stream, array, made, self.direction)
        if self.factor != 1:
            scale(made, self.factor)
        return made
