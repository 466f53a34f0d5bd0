"""Creates plans of cuFFT, once for each layout. C code caches the plans for each thread, device and stream
(py/planned)."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core
from numbalite.errors import CudaAPIError
from numbalite.runtime.libraries.table import CUDA_TYPES, CUFFT, stream_number

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

FORWARD, INVERSE = -1, 1
MAX_DIMENSIONS = 3
"""The maximum number of dimensions that one cuFFT plan transforms."""
ALLOC_FAILED = 2
"""cuFFT's status for lack of memory"""


class BatchLayout(NamedTuple):
    """The position of the elements of a batch of transforms for cuFFT, counted in elements.

    embed: the number of elements in each dimension, without elements that strides skip; stride: the step
    between elements in the last dimension; distance: the step between transforms.
    """

    embed: tuple[int, ...]
    stride: int
    distance: int


def layout_of(array: DeviceNDArray, axes: Sequence[int]) -> BatchLayout | None:
    """Returns the layout of an array for a transform over some axes, or None if cuFFT does not support these
    strides. No dimension is 0."""
    itemsize = array.dtype.itemsize
    if any(
        s % itemsize or (s <= 0 and n > 1) for n, s in zip(array.shape, array.strides, strict=True)
    ):
        return None
    others = [i for i in range(array.ndim) if i not in axes]
    inner = _embed_and_stride(*_lengths_and_strides(array, axes))
    distance = _batch_distance(*_lengths_and_strides(array, others))
    if inner is None or distance is None:
        return None
    embed, stride = inner
    return BatchLayout(embed, stride, distance)


def _lengths_and_strides(array, axes):
    """Returns (lengths of some axes, their strides in elements)."""
    shape, strides, itemsize = array.shape, array.strides, array.dtype.itemsize
    return [shape[i] for i in axes], [strides[i] // itemsize for i in axes]


def _embed_and_stride(shape, strides):
    """Returns (embed, stride) of the transformed dimensions. The stride of a dimension with one
    element is arbitrary."""
    stride = strides[-1] if shape[-1] > 1 else 1
    embed, step = [], stride
    for n, outer, outer_stride in zip(shape[:0:-1], shape[-2::-1], strides[-2::-1], strict=True):
        count = outer_stride // step if outer > 1 else n
        if count < n or (outer > 1 and outer_stride % step):
            return None
        embed.append(count)
        step *= count
    return (shape[0], *reversed(embed)), stride


def _batch_distance(shape, strides):
    """Returns the distance between transforms, if all preceding dimensions can be merged into one
    dimension."""
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


def create_plan_on_device(what: tuple[Any, ...], stream: Any) -> tuple[_core.LibraryValue, int]:
    """Returns a plan of cuFFT on the current device, for calls on a stream, and the size of its work area in
    bytes.

    If cuFFT has no memory for the plan, the thread releases its other plans, and tries once more.
    """
    try:
        return _create_plan(what, stream)
    except CudaAPIError as problem:
        if problem.code != ALLOC_FAILED or not _core.thread_plans():
            raise
    _core.thread_plans_clear()
    return _create_plan(what, stream)


def _create_plan(what, stream):
    lengths, batch, dtypes, layouts = what
    cufft, size, rank = CUFFT.calls_on(stream), ctypes.c_size_t(), len(lengths)
    plan = cufft.create_object("Create", "Destroy", kind=ctypes.c_int)
    cufft.call_without_handle("SetAutoAllocation", plan, 0)
    whole = ctypes.c_longlong * rank
    sides, numbers = [], [whole(*lengths)]
    for layout, dtype in zip(layouts, dtypes, strict=True):
        numbers.append(whole(*layout.embed))
        sides += [
            ctypes.addressof(numbers[-1]), layout.stride, layout.distance, CUDA_TYPES[dtype],
        ]  # fmt: skip
    computed = CUDA_TYPES[max(dtypes.upper())]
    cufft.call_without_handle(
        "XtMakePlanMany", plan, rank, ctypes.addressof(numbers[0]), *sides, batch,
        ctypes.addressof(size), computed,
    )  # fmt: skip
    if not size.value:  # C code (py/planned.c) sets work areas only for plans that need one
        cufft.call_without_handle("SetWorkArea", plan, None)
    number = stream_number(stream)
    if number:  # a new plan uses the default stream
        cufft.call_without_handle("SetStream", plan, number)
    return plan, size.value


def run_captured(
    stream: Any,
    plan: _core.LibraryValue,
    source: DeviceNDArray,
    target: DeviceNDArray,
    direction: int,
) -> int:
    """Runs a transform during a capture and returns cuFFT's status. If `stream` is 0, the transform runs on
    the captured stream."""
    cufft = CUFFT.calls_on(stream)
    captured = 0 if stream else _core.capture_stream()
    if captured:
        cufft.call_without_handle("SetStream", plan, captured)
    try:
        return CUFFT.functions["XtExec"](stream, plan, source, target, direction)
    finally:
        if captured:
            cufft.call_without_handle("SetStream", plan, 0)


def _raise_cufft_error(name, status):
    raise CUFFT.failure(name, status)


_transforms: weakref.WeakValueDictionary[Hashable, _core.Planned] = weakref.WeakValueDictionary()


def transform(
    lengths: tuple[int, ...], batch: int, dtypes: str, layouts: tuple[BatchLayout, BatchLayout]
) -> _core.Planned:
    """Returns transform(stream, source, target, direction), on the current device. dtypes: the dtype
    characters of source and target, such as "fF".

    Equal arguments return the same object while one of its plans is cached.
    """
    what = lengths, batch, dtypes, layouts
    found = _transforms.get(what)
    if found is None:
        for name in ("XtExec", "SetWorkArea"):
            CUFFT.find(name, False)
        made = _core.Planned(
            what,
            create_plan_on_device,
            CUFFT.functions,
            "XtExec",
            "SetWorkArea",
            run_captured,
            _raise_cufft_error,
        )
        found = _transforms.setdefault(what, made)
    return found
