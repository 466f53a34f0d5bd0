"""Selects integer types for copies: copy kernels treat each element as one or more integers of the same total
size.

C code plans copies between device arrays (cext/py/batchcopy.c)."""

from __future__ import annotations

import numpy as np

_MAX_DIMS = 32
WORDS: dict[int, np.dtype] = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8"), 16: np.dtype("c16")}  # fmt: skip
"""By their bytes."""


def copy_dtype(shape: tuple[int, ...], size: int, steps: tuple[int, ...]) -> np.dtype | None:
    """Returns the dtype in which elements of ``size`` bytes are copied: an integer type of the same size, or
    of the largest size that divides it.

    An element of 16 bytes is copied as one number if all strides are multiples of 16. Returns None for size
    0, or if the array has the maximum number of axes already."""
    if size == 16 and not any(step % 16 for step in steps):
        return WORDS[16]
    if not size or len(shape) == _MAX_DIMS:
        return None
    return next(WORDS[n] for n in (8, 4, 2, 1) if size % n == 0)


def layout_in_words(
    shape: tuple[int, ...], strides: tuple[int, ...], size: int, word: np.dtype
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns shape and strides in units of ``word``; several words per element add a last axis."""
    if size == word.itemsize:
        return shape, strides
    return (*shape, size // word.itemsize), (*strides, word.itemsize)
