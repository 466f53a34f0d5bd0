"""Handles the `out=` argument of functions that compute a temporary result: checks, and the copy to `out`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core

if TYPE_CHECKING:
    from typing import Any


def check_out(name: str, out: Any) -> None:
    """Raises TypeError if `out` is not an array."""
    if not isinstance(out, (_core.DeviceArray, np.ndarray)):
        raise TypeError(f"{name}: out must be an array, not {type(out).__name__}")


def check_shape(name: str, out: Any, shape: tuple[int, ...]) -> None:
    """Raises TypeError if `out` is not an array, ValueError if its shape differs from the result's."""
    check_out(name, out)
    if out.shape != shape:
        raise ValueError(f"{name}: out has shape {out.shape}, the result {shape}")


def copy_to_out(name: str, out: Any, made: Any, casting: Any = "same_kind") -> Any:
    """Returns the result `made`, or copies it to `out` and returns `out`."""
    if out is None:
        return made
    check_shape(name, out, made.shape)
    if not np.can_cast(made.dtype, out.dtype, casting):
        raise TypeError(
            f"{name}: cannot cast array data from {made.dtype!r} to {out.dtype!r}, the dtype of out, according "
            f"to the rule {casting!r}"
        )
    np.copyto(out, made, casting=casting)
    return out


def copy_to_wider_out(name: str, out: Any, made: Any) -> Any:
    """Like `copy_to_out`, for NumPy functions that compute in a copy of `out`: the dtype of `out` must convert
    safely to the result's dtype, and the result is converted to it without a check.
    """
    if out is None:
        return made
    check_shape(name, out, made.shape)
    if not np.can_cast(out.dtype, made.dtype):
        raise TypeError(
            f"{name}: cannot cast array data from {out.dtype!r}, which out has, to {made.dtype!r} according to "
            "the rule 'safe'"
        )
    np.copyto(out, made, casting="unsafe")
    return out
