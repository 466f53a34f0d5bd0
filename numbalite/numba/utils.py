"""Implements the part of numba.core.utils that programs use."""

import sys

__all__ = ["PYVERSION"]

PYVERSION = sys.version_info[:2]
"""Python's version, as (major, minor)."""
