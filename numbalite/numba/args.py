"""numba.cuda.args: how arguments of kernels are copied."""

from __future__ import annotations

from typing import Any

from numbalite import _core
from numbalite.cuda import In, InOut, Out

__all__ = ["In", "InOut", "Out", "wrap_arg"]


def wrap_arg(value: Any, default: Any = InOut) -> Any:
    """Returns a value with a copy policy: ``default(value)``, where it does not yet."""
    return value if isinstance(value, _core.Transfer) else default(value)
