"""How elements of one dtype go from one device array to another: what copies them, and as what words.

It depends on shapes and strides alone, is decided once for each way in which both arrays lie, and is
remembered. (numbalite/ndarray/assign.py copies.)
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from numbalite.ndarray import transposing
from numbalite.runtime import shapes

_KEPT = 1024
_MAX_DIMS = 32
_LONG_ROW = 512  # bytes from which the driver copies rows as fast as a kernel
_MAX_ROWS = 1 << 22  # bytes beyond which it takes twice as long
_SMALL = 4096  # bytes for which no kernel is worth its compilation
WORDS: dict[int, np.dtype] = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8"), 16: np.dtype("c16")}  # fmt: skip
"""What kernels that only move elements take them, or parts of them, for, by the bytes."""


class Plan(NamedTuple):
    """One copy, for all arrays that lie so."""

    shape: tuple[int, ...]
    of: tuple[int, ...]
    to: tuple[int, ...]
    """Strides on both sides."""
    word: np.dtype | None
    """What a kernel takes the elements, or parts of them, for; None: the driver copies the elements."""
    is_turned: bool
    """Large, and along different axes: a copy of tiles."""


@functools.lru_cache(_KEPT)
def plan(
    shape: tuple[int, ...], of: tuple[int, ...], to: tuple[int, ...], size: int, low: int
) -> Plan:
    """The plan for elements of `size` bytes; `low`: the lowest bits of all addresses, from which on all
    of them are multiples of 16."""
    word = None if _is_one_copy(shape, of, to, size) else word_of(shape, size, (*of, *to, low))
    if word is None:
        return Plan(shape, of, to, None, False)
    lengths, of = in_words(shape, of, size, word)
    _, to = in_words(shape, to, size, word)
    nbytes = word.itemsize
    for length in lengths:
        nbytes *= length
    is_turned = nbytes >= transposing.MIN_BYTES and (
        transposing.stack_of(lengths, of, to, word.itemsize) is not None
    )
    return Plan(lengths, of, to, word, is_turned)


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


def _is_one_copy(shape, of, to, size):
    """Can the driver do it at once? Dense blocks, and rows that go up on both sides."""
    axes = [(b, a, n) for n, a, b in zip(shape, of, to, strict=True) if n != 1]
    nbytes = size
    for _, _, n in axes:
        nbytes *= n
    lengths, of, to = (tuple(axis[i] for axis in axes) for i in (2, 1, 0))
    if of == to and any(of == shapes.packed(lengths, size, order) for order in "CF"):
        return True
    if len(axes) > 2 or any(a < size or b < size for b, a, _ in axes):
        return not axes
    if len(axes) == 2 and min(axes)[:2] != (size, size):
        return False
    row = size * (min(axes)[2] if min(axes)[:2] == (size, size) else 1)
    return nbytes <= _SMALL or (row >= _LONG_ROW and nbytes <= _MAX_ROWS)
