"""Modules under the names by which numba's users import them; what they hold lives elsewhere."""

from numbalite import config

__all__ = ["config"]
