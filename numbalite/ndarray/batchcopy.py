"""Several copies to places of one array: in one launch where they are small, since what takes time is the launch."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbalite.ndarray import assign, copyplan
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_MAX_BYTES = 16 << 20
"""Of a launch; beyond, kernels that copy a part each are as fast or faster."""
_COUNTS = 2, 3, 4, 5, 6, 7, 8, 16, 32
"""Of parts for which there are kernels; the last ones of others have no blocks."""
_MAX_DIMS = 4
_MAX_OF_MANY_DIMS = 16
"""Parts of 4 dimensions, more of which are not in the 4 KB that a kernel's parameters may have."""
_THREADS, _EACH = 256, 4  # as in cuda_src/templates/join.cu


class Part(NamedTuple):
    """Elements to copy: their shape, strides on both sides, and how many bytes behind the first element of either
    array they begin."""

    source: DeviceNDArray
    shape: tuple[int, ...]
    of: tuple[int, ...]
    to: tuple[int, ...]
    begin: int
    at: int


class _Plan(NamedTuple):
    word: np.dtype
    ndim: int
    geometry: tuple[tuple[tuple[int, ...], ...], ...]
    """(shape, strides on both sides) of each part."""
    blocks: tuple[int, ...]


def copy(target: DeviceNDArray, parts: Sequence[Part]) -> None:
    """Copies elements of the target's dtype, from anywhere, to where nobody reads them."""
    parts = [part for part in parts if 0 not in part.shape]
    for some in _for_launches(parts, target.itemsize):
        if not _copied(target, some):
            for source, shape, of, to, begin, at in some:
                into = target._view(shape, to, target.dtype, at)
                assign.copy(source._view(shape, of, source.dtype, begin), into, apart=True)


def _for_launches(parts, itemsize):
    """The parts in groups of as many as one launch copies."""
    group, size = [], 0
    for part in parts:
        more = itemsize * math.prod(part.shape)
        if group and (size + more > _MAX_BYTES or len(group) == _COUNTS[-1]):
            yield group
            group, size = [], 0
        group.append(part)
        size += more
    if group:
        yield group


def _copied(target, parts):
    """By one launch, if they are small and several."""
    if len(parts) < 2 or any(part.source.device != target.device for part in parts):
        return False
    lies = [
        (shape, of, to, (source._address + begin | target._address + at) % 16)
        for source, shape, of, to, begin, at in parts
    ]
    plan = _plan(target.itemsize, tuple(lies))
    if plan is None:
        return False
    if plan.ndim == _MAX_DIMS and len(parts) > _MAX_OF_MANY_DIMS:
        half = len(parts) // 2
        return _copied(target, parts[:half]) and _copied(target, parts[half:])
    given: list[Any] = []
    for part, (shape, of, to), blocks in zip(parts, plan.geometry, plan.blocks, strict=True):
        into = target._view(shape, to, plan.word, part.at)
        given += into, part.source._view(shape, of, plan.word, part.begin), blocks
    count = next(n for n in _COUNTS if n >= len(parts))
    given += (*given[:2], 0) * (count - len(parts))
    launch = _kernel(plan.word, plan.ndim, count)
    with assign.on_device(target.device):
        launch[sum(plan.blocks), _THREADS, target.stream](*given)
    return True


@functools.lru_cache(512)
def _plan(itemsize, lies):
    merged = [_runs(itemsize, *lie[:3]) for lie in lies]
    size = _word_size(itemsize, merged, [lie[3] for lie in lies])
    ndim = max(map(len, merged))
    if ndim > _MAX_DIMS:
        return None
    geometry = tuple(_in_words(axes, itemsize, size, ndim) for axes in merged)
    blocks = tuple(-(-math.prod(shape) // (_THREADS * _EACH)) for shape, _, _ in geometry)
    return _Plan(copyplan.WORDS[size], ndim, geometry, blocks)


def _runs(itemsize, shape, of, to):
    """Axes (length, strides of both sides) in the order of the target, merged; the last one is a run of elements on both
    sides, if need be of one."""
    axes = [axis for axis in zip(shape, of, to, strict=True) if axis[0] != 1]
    axes = shapes.merged(sorted(axes, key=lambda axis: -abs(axis[2])))
    is_run = axes and axes[-1][1:] == (itemsize, itemsize)
    return axes if is_run else [*axes, (1, itemsize, itemsize)]


def _word_size(itemsize, merged, lows):
    """The largest one that runs consist of, and all addresses are multiples of."""
    size = 16
    while any(
        low % size
        or axes[-1][0] * itemsize % size
        or any(step % size for _, *steps in axes[:-1] for step in steps)
        for axes, low in zip(merged, lows, strict=True)
    ):
        size //= 2
    return size


def _in_words(axes, itemsize, size, ndim):
    """(shape, strides of both sides) with a number of axes."""
    length, *_ = axes[-1]
    axes = [*axes[:-1], (length * itemsize // size, size, size)]
    axes = [(1, 0, 0)] * (ndim - len(axes)) + axes
    return tuple(zip(*axes, strict=True))


@functools.cache
def _kernel(word, ndim, count):
    from numbalite.kernels.decorators import jit

    return jit(source=source(count), name=f"join<{word.name}, {ndim}>")


def source(count: int) -> str:
    """The kernel for so many parts."""
    from numbalite.compilers import templates

    numbers = range(count)
    parts = "".join(
        f"    if (block < blocks{k})\n        return copy_part(to{k}, of{k}, block);\n    block -= blocks{k};\n"
        for k in numbers
    )
    return templates.fill(
        "join", parts=parts,
        parameters=", ".join(
            f"array<T, D> to{k}, array<const T, D> of{k}, int blocks{k}" for k in numbers
        ),
    )  # fmt: skip
