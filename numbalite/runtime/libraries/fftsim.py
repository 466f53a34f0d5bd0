"""What cuFFT's functions compute, by NumPy: the same plans and layouts. The memory is read and written as host
copies, in the stream's order."""

from __future__ import annotations

import ctypes
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from numbalite.runtime.libraries.solversim import CHARACTERS, as_it_is

INVALID_PLAN, INVALID_VALUE = 1, 4
_numbers = itertools.count(1)


class _Side(NamedTuple):
    embed: tuple
    stride: int
    distance: int
    dtype: np.dtype

    def view(self, flat, shape, batch):
        """The elements of all transforms in the memory of a flat array."""
        steps = [self.stride * math.prod(self.embed[i + 1 :]) for i in range(len(shape))]
        strides = [self.dtype.itemsize * step for step in (self.distance, *steps)]
        return np.lib.stride_tricks.as_strided(flat, (batch, *shape), strides)

    def size(self, shape, batch):
        """How many elements there are, those between included."""
        steps = [self.stride * math.prod(self.embed[i + 1 :]) for i in range(len(shape))]
        inside = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
        return inside + (batch - 1) * self.distance + 1


class _Plan(NamedTuple):
    lengths: tuple
    source: _Side
    target: _Side
    batch: int


_plans: dict[int, Any] = {}


def _numbers_at(address, count):
    return tuple((ctypes.c_longlong * count).from_address(address))


def Create(stream, out):
    number = next(_numbers)
    _plans[number] = None
    ctypes.c_int.from_address(out).value = number
    return 0


def Destroy(stream, number):
    return 0 if _plans.pop(number, INVALID_PLAN) != INVALID_PLAN else INVALID_PLAN


def SetAutoAllocation(stream, number, automatic):
    return 0 if number in _plans else INVALID_PLAN


SetWorkArea = SetStream = SetAutoAllocation


def XtMakePlanMany(
    stream, number, rank, lengths, from_embed, from_stride, from_distance, from_type,
    to_embed, to_stride, to_distance, to_type, batch, size, computed,
):  # fmt: skip
    sides = [
        _Side(_numbers_at(embed, rank), stride, distance, np.dtype(CHARACTERS[kind]))
        for embed, stride, distance, kind in (
            (from_embed, from_stride, from_distance, from_type),
            (to_embed, to_stride, to_distance, to_type),
        )
    ]
    if not 1 <= rank <= 3 or batch < 1:
        return INVALID_VALUE
    _plans[number] = _Plan(_numbers_at(lengths, rank), *sides, batch)
    ctypes.c_size_t.from_address(size).value = 0
    return 0


def XtExec(stream, number, source, target, direction):
    plan = _plans.get(number)
    if plan is None:
        return INVALID_PLAN
    half = (*plan.lengths[:-1], plan.lengths[-1] // 2 + 1)
    is_real = plan.source.dtype.kind == "f", plan.target.dtype.kind == "f"
    shapes = [half if other else plan.lengths for other in reversed(is_real)]
    data = plan.source.view(
        _read(source, plan.source, shapes[0], plan.batch, stream), shapes[0], plan.batch
    )
    axes = range(1, data.ndim)
    if is_real[0]:
        result = np.fft.rfftn(data, axes=axes)
    elif is_real[1]:
        result = np.fft.irfftn(data, plan.lengths, axes, "forward")
        spoilt = np.full(plan.source.size(shapes[0], plan.batch), np.nan, plan.source.dtype)
        _flat(source, spoilt.size, spoilt.dtype)._write(spoilt, stream)  # as cuFFT may
    else:
        result = (
            np.fft.fftn(data, axes=axes)
            if direction < 0
            else np.fft.ifftn(data, axes=axes, norm="forward")
        )
    count = plan.target.size(shapes[1], plan.batch)
    if count == result.size:
        flat = np.empty(count, plan.target.dtype)
    else:
        flat = as_it_is(_flat(target, count, plan.target.dtype), stream)
    plan.target.view(flat, shapes[1], plan.batch)[...] = result
    _flat(target, flat.size, flat.dtype)._write(flat, stream)
    return 0


def _flat(array, count, dtype):
    return array._view((count,), (dtype.itemsize,), dtype)


def _read(array, side, shape, batch, stream):
    return _flat(array, side.size(shape, batch), side.dtype).copy_to_host(stream=stream)
