"""Modules under the names by which numba's users import them; their contents are in other
packages."""

from numbalite import config

__all__ = ["config"]
