"""Contains modules under the names by which numba's users import them; the contents are in other packages."""

from numbalite import config

__all__ = ["config"]
