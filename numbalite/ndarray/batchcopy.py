"""Copies several arrays into parts of one array. One launch copies several small arrays, because separate
launches would dominate the time."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core
from numbalite.ndarray import assign, copyplan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numbalite.ndarray.arrays import DeviceNDArray

_MAX_BYTES = 16 << 20
"""The maximum number of parts of a launch; for more, a kernel for each part is as fast or faster."""
_COUNTS = 2, 3, 4, 5, 6, 7, 8, 16, 32
"""The numbers of parts for which there are kernels. A launch with another number uses the next larger kernel, whose
last parts then have no blocks."""
_MAX_DIMS = 4  # as in cext/py/batchcopy.c
_MAX_OF_MANY_DIMS = 16
"""The maximum number of parts with 4 dimensions: more would exceed the 4 KB of a kernel's parameters."""
_THREADS = 256  # equal to the constant in cuda_src/templates/join.cu


class CopyPart(NamedTuple):
    """One copy: the shape, the strides of source and target, and the byte offset of the first element in each array."""

    kernel_source: DeviceNDArray
    shape: tuple[int, ...]
    of: tuple[int, ...]
    to: tuple[int, ...]
    begin: int
    at: int


def copy_parts(target: DeviceNDArray, parts: Sequence[CopyPart]) -> None:
    """Copies parts into the target. The source arrays have the target's dtype and must not overlap with the
    target."""
    parts = [part for part in parts if 0 not in part.shape]
    is_one_launch = target.nbytes <= _MAX_BYTES and len(parts) <= _COUNTS[-1]
    for some in [parts] if is_one_launch else _split_launches(parts, target.itemsize):
        if not _copy_by_one_launch(target, some):
            for source, shape, of, to, begin, at in some:
                into = target._view(shape, to, target.dtype, at)
                assign.copy_elements(source._view(shape, of, source.dtype, begin), into, apart=True)


def _split_launches(parts, itemsize):
    """Splits the copies into groups that one launch can execute."""
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


def _copy_by_one_launch(target, parts):
    """Executes several small copies in one launch; returns False if the copies are unsuitable."""
    if len(parts) < 2:
        return False
    plan = _core.batch_copy_plan(target, parts)
    if plan is None:
        return False
    size, ndim, blocks, given = plan
    if ndim == _MAX_DIMS and len(parts) > _MAX_OF_MANY_DIMS:
        half = len(parts) // 2
        return _copy_by_one_launch(target, parts[:half]) and _copy_by_one_launch(
            target, parts[half:]
        )
    count = len(parts)
    if count not in _COUNTS:
        count = next(n for n in _COUNTS if n > count)
        given += (*given[:2], 0) * (count - len(parts))
    launch = _copy_kernel(copyplan.WORDS[size], ndim, count)
    with assign.on_device(target.device):
        launch[blocks, _THREADS, target.stream](*given)
    return True


@functools.cache
def _copy_kernel(word, ndim, count):
    from numbalite.kernels.decorators import builtin_kernel

    return builtin_kernel(kernel_source(count), f"join<{word.name}, {ndim}>")


def kernel_source(count: int) -> str:
    """Returns the source of the kernel for `count` copies."""
    from numbalite.compilers import templates

    numbers = range(count)
    parts = "".join(
        f"    if (block < blocks{k})\n        return copy_part(to{k}, of{k}, block);\n    block -= blocks{k};\n"
        for k in numbers
    )
    return templates.fill_template(
        "join", parts=parts,
        parameters=", ".join(
            f"array<T, D> to{k}, array<const T, D> of{k}, int blocks{k}" for k in numbers
        ),
    )  # fmt: skip
