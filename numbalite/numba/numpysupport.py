"""Implements numba.np.numpy_support: converts between numba's types and NumPy's dtypes."""

from __future__ import annotations

import numpy as np

from numbalite.python.pointers import carray, farray
from numbalite.types import Array, Type, from_dtype

__all__ = ["as_dtype", "carray", "farray", "from_dtype", "is_array", "numpy_version"]

numpy_version = tuple(map(int, np.__version__.split(".")[:2]))
"""NumPy's, as (major, minor)."""


def as_dtype(nbtype: Type) -> np.dtype:
    """Returns NumPy's dtype of a type; for an array type, the dtype of its elements.

    Raises NotImplementedError for types that NumPy lacks.
    """
    found = getattr(nbtype, "dtype", None)
    if isinstance(found, Type):
        found = getattr(found, "dtype", None)
    if found is None:
        raise NotImplementedError(f"NumPy has no dtype for {nbtype!r}")
    return found


def is_array(val: object) -> bool:
    """Returns whether the type is an array type."""
    return isinstance(val, Array)
