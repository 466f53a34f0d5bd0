"""Plans of cuFFT: made once for a layout, kept for each thread, device and stream.

A plan has a work area, so that two streams never share one; and it is used by one thread at a time. The
least recently used are destroyed. A stream is known by its number: a plan does not keep it.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core
from numbalite.libraries.table import CUDA_TYPES, CUFFT, stream_number, workspace

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

    from numbalite.cuda.arrays import DeviceNDArray

FORWARD, INVERSE = -1, 1
MOST_DIMENSIONS = 3
"""cuFFT transforms so many at once."""
KEPT = 64
"""Plans of a thread."""


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


class Transform:
    """What a plan is made for: how many transforms of which lengths, the dtypes of source and target, and how
    their elements lie. There is one of a kind: `transform` finds it."""

    __slots__ = "__weakref__", "what"

    def __init__(self, what: tuple[Any, ...]) -> None:
        self.what = what

    def run(
        self, stream: Any, source: DeviceNDArray, target: DeviceNDArray, direction: int
    ) -> None:
        """source -> target, on the current device, on their stream, by the plan of the calling thread."""
        key = *_core.stream_place(stream), self
        plans = of_thread()
        plan = plans.get(key) or plans.put(Plan(key, stream))
        plan.run(stream, source, target, direction)


_transforms: weakref.WeakValueDictionary[Hashable, Transform] = weakref.WeakValueDictionary()


def transform(
    lengths: tuple[int, ...], batch: int, dtypes: str, layouts: tuple[Layout, Layout]
) -> Transform:
    """The Transform of these. dtypes: the characters of both, "fF"."""
    what = lengths, batch, dtypes, layouts
    found = _transforms.get(what)
    return _transforms.setdefault(what, Transform(what)) if found is None else found


class Plan:
    """A plan of cuFFT on the current device. Its number owns it, and the work area: a graph that captured a
    transform has it, however many plans come after."""

    def __init__(self, key: tuple[int, int, int, Transform], stream: Any) -> None:
        lengths, batch, dtypes, layouts = key[-1].what
        self.key = key
        self.used = 0
        cufft, size, rank = CUFFT.on(stream), ctypes.c_size_t(), len(lengths)
        number = cufft.make("Create", "Destroy", kind=ctypes.c_int)
        cufft.plain("SetAutoAllocation", number, 0)
        whole = ctypes.c_longlong * rank
        sides, kept = [], [whole(*lengths)]
        for layout, dtype in zip(layouts, dtypes, strict=True):
            kept.append(whole(*layout.embed))
            sides += [ctypes.addressof(kept[-1]), layout.stride, layout.distance, CUDA_TYPES[dtype]]
        computed = CUDA_TYPES[max(dtypes.upper())]
        cufft.plain(
            "XtMakePlanMany", number, rank, ctypes.addressof(kept[0]), *sides, batch, ctypes.addressof(size),
            computed,
        )  # fmt: skip
        work = workspace(size.value) if size.value else None
        number.kept = (work,)
        self.work = work
        cufft.plain("SetWorkArea", number, work)
        cufft.plain("SetStream", number, stream_number(stream))
        self.number = number
        CUFFT.find("XtExec", False)

    def run(
        self, stream: Any, source: DeviceNDArray, target: DeviceNDArray, direction: int
    ) -> None:
        """Transforms, on the plan's stream; in a capture, on the captured one where none is named."""
        captured = 0 if stream else _core.capture_stream()
        if captured or self.work is not None:
            status = self._run_apart(captured, stream, source, target, direction)
        else:
            status = CUFFT.functions["XtExec"](stream, self.number, source, target, direction)
        if status:
            raise CUFFT.failure("XtExec", status)

    def _run_apart(self, captured, stream, source, target, direction):
        """With what a capture needs: its stream, and a work area of the graph's own, for others that run at the
        same time have theirs."""
        cufft = CUFFT.on(stream)
        own = None if self.work is None else _core.workspace_of_graph(stream, self.work.size)
        if captured:
            cufft.plain("SetStream", self.number, captured)
        if own is not None:
            cufft.plain("SetWorkArea", self.number, own)
        try:
            return CUFFT.functions["XtExec"](stream, self.number, source, target, direction)
        finally:
            if own is not None:
                cufft.plain("SetWorkArea", self.number, self.work)
            if captured:
                cufft.plain("SetStream", self.number, 0)


class Plans:
    """What a thread keeps: plans by device, stream and transform."""

    def __init__(self) -> None:
        self.plans: dict[Hashable, Plan] = {}
        self.clock = 0

    def get(self, key: Hashable) -> Plan | None:
        """The plan, which counts as used."""
        found = self.plans.get(key)
        if found is not None:
            self.clock = found.used = self.clock + 1
        return found

    def put(self, plan: Plan) -> Plan:
        """Keeps a plan, and returns it; the least recently used one goes."""
        self.clock = plan.used = self.clock + 1
        self.plans[plan.key] = plan
        if len(self.plans) > KEPT:
            del self.plans[min(self.plans.values(), key=lambda one: one.used).key]
        return plan


_thread = threading.local()


def of_thread() -> Plans:
    """The calling thread's."""
    try:
        return _thread.plans
    except AttributeError:
        _thread.plans = Plans()
        return _thread.plans
