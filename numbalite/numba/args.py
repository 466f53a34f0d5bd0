"""Implements numba.cuda.args: the copy policies of kernel arguments."""

from __future__ import annotations

from typing import Any

from numbalite import _core
from numbalite.cuda import In, InOut, Out

__all__ = ["In", "InOut", "Out", "wrap_arg"]


def wrap_arg(value: Any, default: Any = InOut) -> Any:
    """Returns a value with a copy policy: Values without a copy policy get ``default(value)``."""
    return value if isinstance(value, _core.Transfer) else default(value)
