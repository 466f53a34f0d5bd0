"""Implements cuFFT's functions with NumPy, for the same plans and layouts. Device memory is read and written
as host copies, in the stream's order.

A transform writes to its whole work area, as cuFFT does, so that the simulator's checks find a work area that was
released or that two streams share. Transforms whose lengths are powers of two need no padding. Wrong use,
such as a missing or too small work area, returns an error status.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import weakref
from typing import NamedTuple

import numpy as np

from numbalite import _core
from numbalite.runtime.libraries.solversim import CHARACTERS, read_contents

INVALID_PLAN, INVALID_VALUE, EXEC_FAILED, NO_WORKSPACE = 1, 4, 6, 13
ALLOWED_IN_CAPTURES = ("SetWorkArea", "SetStream")
"""Functions that prepare a call and compute nothing."""
WRITTEN = 0xA5
"""The byte that a transform leaves in its work area."""
_numbers = itertools.count(1)


class _SideLayout(NamedTuple):
    embed: tuple
    stride: int
    distance: int
    dtype: np.dtype

    def strided_view(self, flat, shape, batch):
        """Returns a strided view of a flat array: the elements of all transforms, of shape (batch,
        *shape)."""
        steps = [self.stride * math.prod(self.embed[i + 1 :]) for i in range(len(shape))]
        strides = [self.dtype.itemsize * step for step in (self.distance, *steps)]
        return np.lib.stride_tricks.as_strided(flat, (batch, *shape), strides)

    def range_size(self, shape, batch):
        """Returns the number of elements of the memory range, including gaps."""
        steps = [self.stride * math.prod(self.embed[i + 1 :]) for i in range(len(shape))]
        inside = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
        return inside + (batch - 1) * self.distance + 1


class _PlanLayout(NamedTuple):
    lengths: tuple
    source: _SideLayout
    target: _SideLayout
    batch: int

    @property
    def work_size(self):
        """Returns the size in bytes of the work area that a transform needs."""
        if not any(n & (n - 1) for n in self.lengths):
            return 0
        itemsize = max(self.source.dtype.itemsize, self.target.dtype.itemsize)
        return self.batch * math.prod(self.lengths) * itemsize


class _Plan:
    """`layout` is None until the plan is created, `area` (a weak reference) until a work area is set."""

    def __init__(self):
        self.layout = self.area = None
        self.automatic = True
        self.stream = 0


_plans: dict[int, _Plan] = {}


def _int64s_at(address, count):
    return tuple((ctypes.c_longlong * count).from_address(address))


def Create(stream, out):
    number = next(_numbers)
    _plans[number] = _Plan()
    ctypes.c_int.from_address(out).value = number
    return 0


def Destroy(stream, number):
    return 0 if _plans.pop(number, None) else INVALID_PLAN


def SetAutoAllocation(stream, number, automatic):
    """Sets whether the plan allocates its work area; fails once the plan is created."""
    plan = _plans.get(number)
    if plan is None or plan.layout:
        return INVALID_PLAN
    plan.automatic = bool(automatic)
    return 0


def SetWorkArea(stream, number, area):
    plan = _plans.get(number)
    if plan is None or not plan.layout:
        return INVALID_PLAN
    plan.area = None if area is None else weakref.ref(area)
    return 0


def SetStream(stream, number, handle):
    plan = _plans.get(number)
    if plan is None:
        return INVALID_PLAN
    plan.stream = handle
    return 0


def XtMakePlanMany(
    stream, number, rank, lengths, from_embed, from_stride, from_distance, from_type,
    to_embed, to_stride, to_distance, to_type, batch, size, computed,
):  # fmt: skip
    sides = [
        _SideLayout(_int64s_at(embed, rank), stride, distance, np.dtype(CHARACTERS[kind]))
        for embed, stride, distance, kind in (
            (from_embed, from_stride, from_distance, from_type),
            (to_embed, to_stride, to_distance, to_type),
        )
    ]
    plan = _plans.get(number)
    if plan is None or plan.layout:
        return INVALID_PLAN
    if not 1 <= rank <= 3 or batch < 1:
        return INVALID_VALUE
    plan.layout = _PlanLayout(_int64s_at(lengths, rank), *sides, batch)
    ctypes.c_size_t.from_address(size).value = plan.layout.work_size
    return 0


def _use_work_area(plan, stream):
    """Writes to the work area, as cuFFT does; returns a status code."""
    size = plan.layout.work_size
    if plan.automatic or not size:
        return 0
    area = plan.area and plan.area()
    if area is None:
        return NO_WORKSPACE
    if area.nbytes < size:
        return EXEC_FAILED
    _view_as_1d(area, size, np.dtype("u1"))._write(np.full(size, WRITTEN, "u1"), stream)
    return 0


def XtExec(stream, number, source, target, direction):
    made = _plans.get(number)
    if made is None or not made.layout:
        return INVALID_PLAN
    if made.stream != _core.stream_place(stream)[2]:
        return EXEC_FAILED
    status = _use_work_area(made, stream)
    if status:
        return status
    plan = made.layout
    half = (*plan.lengths[:-1], plan.lengths[-1] // 2 + 1)
    is_real = plan.source.dtype.kind == "f", plan.target.dtype.kind == "f"
    shapes = [half if other else plan.lengths for other in reversed(is_real)]
    data = plan.source.strided_view(
        _read_side(source, plan.source, shapes[0], plan.batch, stream), shapes[0], plan.batch
    )
    axes = range(1, data.ndim)
    if is_real[0]:
        result = np.fft.rfftn(data, axes=axes)
    elif is_real[1]:
        result = np.fft.irfftn(data, plan.lengths, axes, "forward")
        spoilt = np.full(plan.source.range_size(shapes[0], plan.batch), np.nan, plan.source.dtype)
        _view_as_1d(source, spoilt.size, spoilt.dtype)._write(spoilt, stream)  # as cuFFT may
    else:
        result = (
            np.fft.fftn(data, axes=axes)
            if direction < 0
            else np.fft.ifftn(data, axes=axes, norm="forward")
        )
    count = plan.target.range_size(shapes[1], plan.batch)
    if count == result.size:
        flat = np.empty(count, plan.target.dtype)
    else:
        flat = read_contents(_view_as_1d(target, count, plan.target.dtype), stream)
    plan.target.strided_view(flat, shapes[1], plan.batch)[...] = result
    _view_as_1d(target, flat.size, flat.dtype)._write(flat, stream)
    return 0


def _view_as_1d(array, count, dtype):
    return array._view((count,), (dtype.itemsize,), dtype)


def _read_side(array, side, shape, batch, stream):
    return _view_as_1d(array, side.range_size(shape, batch), side.dtype).copy_to_host(stream=stream)
