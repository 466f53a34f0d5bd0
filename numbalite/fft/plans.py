"""Plans of cuFFT: made once for a layout, kept for each thread, device and stream, with the calls that need
nothing but them.

A plan has a work area, so that two streams never share one; and it is used by one thread at a time. The
least recently used are destroyed. A stream is known by its number: a plan does not keep it.
"""

from __future__ import annotations

import ctypes
import threading
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
KEPT_CALLS = 4 * KEPT
_thread = threading.local()


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


class Plan:
    """A plan of cuFFT on the current device: lengths, two layouts, a number of transforms. Its number owns it,
    and the work area: a graph that captured a transform has it, however many plans come after."""

    def __init__(
        self, key: Hashable, stream: Any, lengths: tuple[int, ...], batch: int, dtypes: str,
        layouts: tuple[Layout, Layout],
    ) -> None:  # fmt: skip
        self.key = key
        self.device = _core.current_device()
        self.generation = _core.device_generation(self.device)
        self.calls: list[Hashable] = []
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

    def run(
        self, stream: Any, source: DeviceNDArray, target: DeviceNDArray, direction: int
    ) -> None:
        """Transforms, on the plan's stream; in a capture, on the captured one where none is named, and with a
        work area of the graph's own: others that run at the same time have theirs."""
        captured = 0 if stream else _core.capture_stream()
        if captured:
            CUFFT.on(stream).plain("SetStream", self.number, captured)
        own = None if self.work is None else _core.workspace_of_graph(stream, self.work.size)
        if own is not None:
            CUFFT.on(stream).plain("SetWorkArea", self.number, own)
        try:
            function = CUFFT.functions.get("XtExec") or CUFFT.find("XtExec", False)
            status = function(stream, self.number, source, target, direction)
        finally:
            if own is not None:
                CUFFT.on(stream).plain("SetWorkArea", self.number, self.work)
            if captured:
                CUFFT.on(stream).plain("SetStream", self.number, 0)
        if status:
            raise CUFFT.failure("XtExec", status)


class Plans:
    """What a thread keeps: plans by layout, and by what they were given the calls that go straight to one."""

    def __init__(self) -> None:
        self.plans: dict[Hashable, Plan] = {}
        self.calls: dict[Hashable, tuple[Plan, Any]] = {}
        self.clock = 0

    def get(self, key: Hashable) -> Plan | None:
        """The plan, if its device is still the same."""
        found = self.plans.get(key)
        if found is None:
            return None
        if found.generation != _core.device_generation(found.device):
            self._drop(found)
            return None
        self.clock = found.used = self.clock + 1
        return found

    def put(self, plan: Plan) -> None:
        """Keeps a plan; the least recently used one goes, with its calls."""
        self.clock = plan.used = self.clock + 1
        self.plans[plan.key] = plan
        if len(self.plans) > KEPT:
            self._drop(min(self.plans.values(), key=lambda one: one.used))

    def put_call(self, key: Hashable, plan: Plan, call: Any) -> None:
        """Keeps a call as long as its plan, if the plan's device is the current one. The key has both devices in
        it, and the generation."""
        if plan.device != _core.current_device() or _core.capture_stream():
            return
        if len(self.calls) >= KEPT_CALLS:
            self.calls.clear()
            for one in self.plans.values():
                one.calls.clear()
        if plan is self.plans.get(plan.key):
            plan.calls.append(key)
            self.calls[key] = plan, call

    def _drop(self, plan):
        del self.plans[plan.key]
        for call in plan.calls:
            self.calls.pop(call, None)


def of_thread() -> Plans:
    """The calling thread's."""
    found = _thread.__dict__.get("plans")
    if found is None:
        found = _thread.plans = Plans()
    return found


def call(key: Hashable) -> Any:
    """What the calling thread has kept of a call; TypeError for arguments that are no key."""
    kept = _thread.__dict__.get("plans")
    if kept is None or (found := kept.calls.get(key)) is None:
        return None
    kept.clock = found[0].used = kept.clock + 1
    return found[1]


def plan(
    stream: Any, lengths: tuple[int, ...], batch: int, dtypes: str, layouts: tuple[Layout, Layout],
) -> Plan:  # fmt: skip
    """The plan of the calling thread, on the current device."""
    plans = of_thread()
    key = (_core.current_device(), stream_number(stream), lengths, batch, dtypes, layouts)
    found = plans.get(key)
    if found is None:
        found = Plan(key, stream, lengths, batch, dtypes, layouts)
        plans.put(found)
    return found
