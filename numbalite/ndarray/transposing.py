"""Implements tiled transposition: copies between arrays that are contiguous along different axes, such as a
matrix and its transpose.

An element-wise copy would access only parts of cache lines in one of the arrays. The kernel
(cuda_src/templates/transpose.cu) copies tiles through shared memory.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from numbalite.runtime import shapes

if TYPE_CHECKING:
    from typing import Any

MIN_BYTES = 1 << 20
"""Below, the element-wise kernel is as fast, and needs no look at the geometry here."""
_MIN_SIDE = 32
_MAX_STEP = 4
"""Elements from one to the next that the same cache lines have."""
_SIDE = {1: 128, 2: 64, 4: 64, 8: 32, 16: 32}
_WIDE = {1: 2, 2: 2, 4: 2, 8: 1, 16: 1}
"""Elements of a tile's side, and of one access, by their bytes."""


def copy_transposed(source: Any, target: Any, stream: Any) -> bool:
    """Copies elements of 1 to 16 bytes if the two layouts are transposed. Returns whether the elements were
    copied.

    Both arrays have equal shape and dtype, and share no memory."""
    found = as_matrix_stack(source.shape, source.strides, target.strides, source.itemsize)
    if found is None:
        return False
    shape, of, to = found
    side = _SIDE[source.itemsize]
    tiles = shape[0] * -(-shape[1] // side) * -(-shape[2] // side)
    if tiles >= 1 << 31:
        return False
    wide = _WIDE[source.itemsize]
    steps = (source._address, target._address, *of[:2], to[0], to[2])
    are_runs = (of[2], to[1]) == (source.itemsize, source.itemsize)
    if not are_runs or any(step % (wide * source.itemsize) for step in steps):
        wide = 1
    _transpose_kernel(source.dtype, side, wide)[tiles, 256, stream](
        source._view_with_layout(shape, of), target._view_with_layout(shape, to)
    )
    return True


def as_matrix_stack(shape: Any, of: Any, to: Any, size: int) -> Any:
    """Describes a copy as transpositions of a stack of matrices: returns (shape, source strides, target strides), or
    None if the target's layout is not transposed.

    Rows are contiguous in the source. Columns are contiguous in the target, or have small strides in the
    target."""
    axes: list[Any] = [axis for axis in zip(shape, of, to, strict=True) if axis[0] != 1]
    if any(a <= 0 or b <= 0 for _, a, b in axes):
        return None
    axes = shapes.merge_axes(sorted(axes, key=lambda axis: (-axis[2], -axis[1])))
    if not 2 <= len(axes) <= 3:
        return None
    row, column = min(axes, key=lambda axis: axis[1]), min(axes, key=lambda axis: axis[2])
    if row is column or max(row[1], column[2]) > _MAX_STEP * size:
        return None
    if row[0] < _MIN_SIDE or column[0] < _MIN_SIDE:
        return None
    outer = next((axis for axis in axes if axis is not row and axis is not column), (1, 0, 0))
    return tuple(zip(outer, column, row, strict=True))


@functools.cache
def _transpose_kernel(dtype, side, wide):
    name = f"transpose<{dtype.name}, {side}, {wide}>"
    from numbalite.compilers import templates
    from numbalite.kernels.decorators import builtin_kernel

    return builtin_kernel(templates.fill_template("transpose"), name)
