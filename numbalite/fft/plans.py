"""Plans of cuFFT: made once for a layout, kept for each thread, device and stream.

A plan has a work area, so that two streams never share one; and it is used by one thread at a time. The
least recently used are destroyed.
"""

from __future__ import annotations

import collections
import ctypes
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core
from numbalite.libraries.table import CUDA_TYPES, CUFFT, workspace

if TYPE_CHECKING:
    from typing import Any

    from numbalite.cuda.arrays import DeviceNDArray

FORWARD, INVERSE = -1, 1
MOST_DIMENSIONS = 3
"""cuFFT transforms so many at once."""
KEPT = 64
"""Plans of a thread."""
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
    return None if inner is None or distance is None else Layout(*inner, distance)


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


class Number(int):
    """A plan's number at cuFFT. Who holds it holds the plan and its work area: a graph that captured a
    transform does, however many plans come after."""

    device: int
    generation: int
    stream: Any
    work: Any = None

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if not is_finalizing() and _core.is_open():
            if self.generation == _core.device_generation(self.device):
                CUFFT.find("Destroy")(self.stream, int(self))


class Plan:
    """A plan of cuFFT on the current device: lengths, two layouts, a number of transforms."""

    def __init__(
        self, stream: Any, lengths: tuple[int, ...], batch: int, dtypes: str, layouts: tuple[Layout, Layout],
    ) -> None:  # fmt: skip
        device = _core.current_device()
        self.generation, self.device, self.stream = _core.device_generation(device), device, stream
        number, size, rank = ctypes.c_int(), ctypes.c_size_t(), len(lengths)
        _call("Create", stream, ctypes.addressof(number))
        self.number = Number(number.value)
        self.number.generation, self.number.device = self.generation, device
        self.number.stream = stream
        _call("SetAutoAllocation", stream, self.number, 0)
        whole = ctypes.c_longlong * rank
        sides, kept = [], [whole(*lengths)]
        for layout, dtype in zip(layouts, dtypes, strict=True):
            kept.append(whole(*layout.embed))
            sides += [ctypes.addressof(kept[-1]), layout.stride, layout.distance, CUDA_TYPES[dtype]]
        computed = CUDA_TYPES[max(dtypes.upper())]
        _call(
            "XtMakePlanMany", stream, self.number, rank, ctypes.addressof(kept[0]), *sides, batch,
            ctypes.addressof(size), computed,
        )  # fmt: skip
        self.number.work = workspace(size.value) if size.value else None
        _call("SetWorkArea", stream, self.number, self.number.work)
        handle = (stream or _core.Stream.wrap(0)).handle
        _call("SetStream", stream, self.number, handle)

    def run(self, source: DeviceNDArray, target: DeviceNDArray, direction: int) -> None:
        """Transforms, on the plan's stream."""
        _call("XtExec", self.stream, self.number, source, target, direction)


def _call(name, stream, *args):
    status = CUFFT.find(name)(stream, *args)
    if status:
        raise CUFFT.failure(name, status)


class Kept:
    """What a thread keeps by a key, the least recently used goes."""

    def __init__(self) -> None:
        self.items: collections.OrderedDict = collections.OrderedDict()

    def get(self, key: Any) -> Any:
        """What is kept, if its device is still the same."""
        found = self.items.get(key)
        if found is None:
            return None
        if found.generation != _core.device_generation(found.device):
            del self.items[key]
            return None
        self.items.move_to_end(key)
        return found

    def put(self, key: Any, value: Any) -> None:
        self.items[key] = value
        while len(self.items) > KEPT:
            self.items.popitem(last=False)


def kept(what: str) -> Kept:
    """The calling thread's, by name."""
    found = _thread.__dict__.get(what)
    if found is None:
        found = _thread.__dict__[what] = Kept()
    return found


def plan(
    stream: Any, lengths: tuple[int, ...], batch: int, dtypes: str, layouts: tuple[Layout, Layout],
) -> Plan:  # fmt: skip
    """The plan of the calling thread, on the current device."""
    plans = kept("plans")
    key = (_core.current_device(), stream, lengths, batch, dtypes, layouts)
    found = plans.get(key)
    if found is None:
        found = Plan(stream, lengths, batch, dtypes, layouts)
        plans.put(key, found)
    return found
