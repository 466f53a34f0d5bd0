"""Implements numba.misc.special: names with a special meaning for the compiler."""

from __future__ import annotations

from typing import Any

from numbalite.numba import names
from numbalite.python.unroll import literal_unroll
from numbalite.types import typeof
from numbalite.types.parallelrange import prange

__all__ = ["literal_unroll", "prange", "typeof"]


def __getattr__(name: str) -> Any:
    raise AttributeError(names.missing_name("numba.misc.special", name))
