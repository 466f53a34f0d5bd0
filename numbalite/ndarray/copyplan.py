"""The numbers that elements are copied as: kernels that only move elements need no other types. Copies between
device arrays are planned in C (cext/py/batchcopy.c)."""

from __future__ import annotations

import numpy as np

_MAX_DIMS = 32
WORDS: dict[int, np.dtype] = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8"), 16: np.dtype("c16")}  # fmt: skip
"""By their bytes."""


def word_of(shape: tuple[int, ...], size: int, steps: tuple[int, ...]) -> np.dtype | None:
    """The number that elements of so many bytes are, or consist of; None where there is none, or no
    room for one more axis. 16 bytes are one number where all steps are multiples of it."""
    if size == 16 and not any(step % 16 for step in steps):
        return WORDS[16]
    if not size or len(shape) == _MAX_DIMS:
        return None
    return next(WORDS[n] for n in (8, 4, 2, 1) if size % n == 0)


def in_words(
    shape: tuple[int, ...], strides: tuple[int, ...], size: int, word: np.dtype
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of the words that elements consist of: several in one get an axis of their own."""
    if size == word.itemsize:
        return shape, strides
    return (*shape, size // word.itemsize), (*strides, word.itemsize)
