"""Plans of cuFFT: made once for a layout; C keeps them for each thread, device and stream (py/planned)."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core
from numbalite.runtime.libraries.table import CUDA_TYPES, CUFFT, stream_number, workspace

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

FORWARD, INVERSE = -1, 1
MOST_DIMENSIONS = 3
"""cuFFT transforms so many at once."""


class Layout(NamedTuple):
    """How cuFFT finds the elements of a batch of transforms, counted in elements.

    embed: how many there are in each dimension, without those that strides skip; stride: from one to the next in
    the last one; distance: from one transform to the next.
    """

    embed: tuple[int, ...]
    stride: int
    distance: int


def layout_of(array: DeviceNDArray, rank: int) -> Layout | None:
    """The layout of an array whose last `rank` dimensions are transformed, None where cuFFT has no words
    for it. No dimension is 0."""
    itemsize = array.dtype.itemsize
    if any(
        s % itemsize or (s <= 0 and n > 1) for n, s in zip(array.shape, array.strides, strict=True)
    ):
        return None
    strides = [s // itemsize for s in array.strides]
    inner = _inner(array.shape[-rank:], strides[-rank:])
    distance = _distance(array.shape[:-rank], strides[:-rank])
    if inner is None or distance is None:
        return None
    embed, stride = inner
    return Layout(embed, stride, distance)


def _inner(shape, strides):
    """(embed, stride) of the dimensions that are transformed. The stride of one element is free."""
    stride = strides[-1] if shape[-1] > 1 else 1
    embed, step = [], stride
    for n, outer, outer_stride in zip(shape[:0:-1], shape[-2::-1], strides[-2::-1], strict=True):
        count = outer_stride // step if outer > 1 else n
        if count < n or (outer > 1 and outer_stride % step):
            return None
        embed.append(count)
        step *= count
    return (shape[0], *reversed(embed)), stride


def _distance(shape, strides):
    """From one transform to the next, if all dimensions before are like one."""
    distance = following = None
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n == 1:
            continue
        if distance is None:
            distance = stride
        elif stride != following:
            return None
        following = stride * n
    return distance or 1


def make(what: tuple[Any, ...], stream: Any) -> _core.LibraryValue:
    """A plan of cuFFT on the current device, for the calls on a stream. It owns its work area: a graph that
    captured a transform has both, however many plans come after."""
    lengths, batch, dtypes, layouts = what
    cufft, size, rank = CUFFT.on(stream), ctypes.c_size_t(), len(lengths)
    plan = cufft.make("Create", "Destroy", kind=ctypes.c_int)
    cufft.plain("SetAutoAllocation", plan, 0)
    whole = ctypes.c_longlong * rank
    sides, kept = [], [whole(*lengths)]
    for layout, dtype in zip(layouts, dtypes, strict=True):
        kept.append(whole(*layout.embed))
        sides += [ctypes.addressof(kept[-1]), layout.stride, layout.distance, CUDA_TYPES[dtype]]
    computed = CUDA_TYPES[max(dtypes.upper())]
    cufft.plain(
        "XtMakePlanMany", plan, rank, ctypes.addressof(kept[0]), *sides, batch, ctypes.addressof(size),
        computed,
    )  # fmt: skip
    work = workspace(size.value) if size.value else None
    plan.kept = (work,)
    cufft.plain("SetWorkArea", plan, work)
    cufft.plain("SetStream", plan, stream_number(stream))
    return plan


def run_captured(
    stream: Any,
    plan: _core.LibraryValue,
    source: DeviceNDArray,
    target: DeviceNDArray,
    direction: int,
) -> int:
    """The status of a transform with what a capture needs: its stream where none is named, and a work area of
    the graph's own, for others that run at the same time have theirs."""
    cufft, (work,) = CUFFT.on(stream), plan.kept
    captured = 0 if stream else _core.capture_stream()
    own = None if work is None else _core.workspace_of_graph(stream, work.size)
    if captured:
        cufft.plain("SetStream", plan, captured)
    if own is not None:
        cufft.plain("SetWorkArea", plan, own)
    try:
        return CUFFT.functions["XtExec"](stream, plan, source, target, direction)
    finally:
        if own is not None:
            cufft.plain("SetWorkArea", plan, work)
        if captured:
            cufft.plain("SetStream", plan, 0)


def _fail(status):
    raise CUFFT.failure("XtExec", status)


_transforms: weakref.WeakValueDictionary[Hashable, _core.Planned] = weakref.WeakValueDictionary()


def transform(
    lengths: tuple[int, ...], batch: int, dtypes: str, layouts: tuple[Layout, Layout]
) -> _core.Planned:
    """transform(stream, source, target, direction), on the current device. dtypes: the characters of both, "fF".

    There is one of a kind as long as plans are kept for it.
    """
    what = lengths, batch, dtypes, layouts
    found = _transforms.get(what)
    if found is None:
        CUFFT.find("XtExec", False)
        made = _core.Planned(what, make, CUFFT.functions, "XtExec", run_captured, _fail)
        found = _transforms.setdefault(what, made)
    return found
