"""numbalite does not use libNVVM: kernels are CUDA C++, compiled by NVRTC.

This module exists for programs that test for NVVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numbalite.errors import NvvmError, NvvmSupportError, NvvmWarning

if TYPE_CHECKING:
    from typing import Any

__all__ = ["NvvmError", "NvvmSupportError", "NvvmWarning", "is_available"]


def is_available() -> bool:
    """Returns False; use `cuda.is_available()` instead."""
    return False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NvvmSupportError(
        f"nvvm.{name}: numbalite has no NVVM; it compiles CUDA C++ with NVRTC (cuda.compile)"
    )
