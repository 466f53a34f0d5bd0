"""Defines the sort orders of dtypes, for kernels (cuda_src/numbalite/order.cuh)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite.kernels.decorators import builtin_kernel

if TYPE_CHECKING:
    from typing import Any

_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}
_EVERY_BIT = (1 << 64) - 1
_SPACE = "numbalite::nl_sort::"
_KEPT = 64


class Order:
    """The order of the elements of a dtype, ascending as in NumPy, or descending.

    ``kind`` is the C++ type of the order, ``digits`` the number of digits of a key, ``flip`` a mask of the
    bits of keys that are inverted. One block sorts rows of up to ``most`` elements, with ``entry`` bytes of
    shared memory per element.
    """

    __slots__ = ("digits", "entry", "flip", "itemsize", "kind", "most")

    def __init__(self, dtype: np.dtype, descending: bool) -> None:
        size = dtype.itemsize
        word = size // 2 if dtype.kind == "c" else size
        if dtype.kind not in "biufcmM" or word not in _WORDS:
            raise TypeError(f"sort: elements of dtype {dtype} cannot be sorted on the device")
        name = {"f": "real", "c": "pair", "m": "date", "M": "date"}.get(dtype.kind, "whole")
        self.kind = f"{_SPACE}{name}<{_WORDS[word]}>"
        self.itemsize = size
        self.digits = size + (dtype.kind == "c")
        sign = 1 << (8 * size - 1) if dtype.kind == "i" else 0
        self.flip = sign ^ (_EVERY_BIT if descending else 0)
        key = size if dtype.kind != "c" else size + word
        self.most = 4096 if key <= 8 else 2048 if key <= 16 else 1024
        self.entry = 8 if key <= 4 else key + 2


@functools.lru_cache(_KEPT)
def order_of(dtype: np.dtype, descending: bool = False) -> Order:
    """Returns the Order of a dtype; raises TypeError for a dtype without an order."""
    return Order(dtype, descending)


@functools.lru_cache(4 * _KEPT)
def header_kernel(header: str, name: str, head: str = "") -> Any:
    """Returns the kernel for a name expression in a header of cuda_src/numbalite; ``head`` precedes
    the include."""
    return builtin_kernel(f'{head}#include "numbalite/{header}.cuh"\n', name)
