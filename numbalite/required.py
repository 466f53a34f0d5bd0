"""Checks attributes of arguments, and raises a TypeError with the function's name."""

from __future__ import annotations

from typing import Any

import numpy as np


def dtype_of(value: Any) -> np.dtype | None:
    """Returns the dtype of an array or a NumPy scalar, and None for other objects and for a class."""
    dtype = getattr(value, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else None


def require(value: Any, function: str, what: str, *names: str) -> None:
    """Raises TypeError if a value lacks an attribute in `names`. `what` is the description of the accepted
    values, for the message."""
    if isinstance(value, type) or any(getattr(value, name, None) is None for name in names):
        raise TypeError(f"{function} takes {what}, not {short_repr(value)}")


def require_array(value: Any, function: str) -> None:
    """Raises TypeError for objects without shape and dtype."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if not isinstance(shape, tuple) or not isinstance(dtype, np.dtype):
        raise TypeError(f"{function} takes an array, not {short_repr(value)}")


def require_kind(value: Any, function: str, what: str, kind: Any) -> None:
    """Raises TypeError for objects that are not instances of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"{function} takes {what}, not {short_repr(value)}")


def short_repr(value: Any) -> str:
    """Returns the value as text, if the text is short."""
    try:
        text = repr(value)
    except Exception:
        text = ""
    return text if 0 < len(text) <= 80 else f"a {type(value).__name__}"
