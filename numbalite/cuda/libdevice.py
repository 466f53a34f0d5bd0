"""numba.cuda's name for the module numbalite.types.libdevice."""

from __future__ import annotations

import sys

from numbalite.types import libdevice

sys.modules[__name__] = libdevice
