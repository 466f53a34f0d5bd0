"""numba.np.numpy_support: between numba's types and NumPy's dtypes."""

from __future__ import annotations

import numpy as np

from numbalite.python.pointers import carray, farray
from numbalite.types import Array, Type, from_dtype

__all__ = ["as_dtype", "carray", "farray", "from_dtype", "is_array", "numpy_version"]

numpy_version = tuple(map(int, np.__version__.split(".")[:2]))
"""NumPy's, as (major, minor)."""


def as_dtype(nbtype: Type) -> np.dtype:
    """NumPy's dtype of a type, of an array type that of its elements.

    Raises NotImplementedError for types that NumPy has not.
    """
    found = getattr(nbtype, "dtype", None)
    if isinstance(found, Type):
        found = getattr(found, "dtype", None)
    if found is None:
        raise NotImplementedError(f"NumPy has no dtype for {nbtype!r}")
    return found


def is_array(val: object) -> bool:
    """Is this an array type?"""
    return isinstance(val, Array)
