"""numba.core.typing, the part that programs use: signatures made of types."""

from __future__ import annotations

from numbalite.types import Signature, Type

__all__ = ["Signature", "signature"]


def signature(return_type: Type, *args: Type) -> Signature:
    """Returns the signature of a function with these types: signature(float32, int32) is
    float32(int32)."""
    return Signature(return_type, args)
