"""Marks of tests that need what may not be installed."""

import pytest

from numbalite.compilers import toolkit

NO_NVRTC = "NVRTC is not installed"

needs_nvrtc = pytest.mark.skipif(not toolkit.libraries(), reason=NO_NVRTC)
