"""Exports the module numbalite.types.libdevice under numba.cuda's name."""

from __future__ import annotations

import sys

from numbalite.types import libdevice

sys.modules[__name__] = libdevice
