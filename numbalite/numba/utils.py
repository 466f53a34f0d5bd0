"""numba.core.utils, as far as programs use it."""

import sys

__all__ = ["PYVERSION"]

PYVERSION = sys.version_info[:2]
"""Python's version, as (major, minor)."""
