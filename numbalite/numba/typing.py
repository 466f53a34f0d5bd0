"""Implements the part of numba.core.typing that programs use: signatures that consist of types."""

from __future__ import annotations

from numbalite.types import Signature, Type

__all__ = ["Signature", "signature"]


def signature(return_type: Type, *args: Type) -> Signature:
    """Returns the signature of a function with these types; for example, signature(float32, int32) returns
    float32(int32)."""
    return Signature(return_type, args)
