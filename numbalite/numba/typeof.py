"""Implements numba.core.typing.typeof: the type of a value."""

from numbalite.types import typeof

__all__ = ["typeof"]
