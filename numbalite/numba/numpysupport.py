"""numba.np.numpy_support: between numba's types and NumPy's dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numbalite.types import Array, Type, from_dtype

if TYPE_CHECKING:
    import numpy as np

__all__ = ["as_dtype", "from_dtype", "is_array"]


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
