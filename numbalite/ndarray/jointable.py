"""Joins many contiguous arrays by one launch, whose table of addresses is copied to the device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.ndarray import assign, copyplan
from numbalite.ndarray.arrays import to_device

if TYPE_CHECKING:
    from numbalite.ndarray.arrays import DeviceNDArray

MIN_PARTS = 33
"""For fewer arrays, kernels that have the addresses as parameters are faster (batchcopy.py)."""
_THREADS = 256  # equal to the constant in cuda_src/templates/join_table.cu


def join_arrays(parts: list[DeviceNDArray], axis: int, stacks: bool) -> DeviceNDArray | None:
    """Joins arrays along an axis; with ``stacks``, along a new axis.

    Returns None for few arrays, and for arrays that are not contiguous or differ in dtype, device or shape.
    """
    if len(parts) < MIN_PARTS:
        return None
    plan = _core.join_table(parts, axis, stacks)
    if plan is None:
        return None
    shape, table, size, rows, pitch, blocks = plan
    with assign.on_device_of(parts[0]):
        made = _core.device_empty(shape, parts[0].dtype, "C")
        if blocks:
            rows_of_table = to_device(np.frombuffer(table, np.int64).reshape(-1, 4))
            words = made._view((rows * pitch,), (size,), copyplan.WORDS[size])
            _join_kernel(copyplan.WORDS[size])[blocks, _THREADS](rows_of_table, words, rows, pitch)
    return made


@functools.cache
def _join_kernel(word):
    from numbalite.compilers import templates
    from numbalite.kernels.decorators import builtin_kernel

    return builtin_kernel(templates.fill_template("join_table"), f"join_table<{word.name}>")
