"""Marks of tests that need optional software, and where it is found."""

import pathlib
import shutil

import numpy as np
import pytest

from numbalite.compilers import toolkit

NO_NVRTC = "NVRTC is not installed"

needs_nvrtc = pytest.mark.skipif(not toolkit.libraries(), reason=NO_NVRTC)


def numpy_since(version, change):
    """For tests that compare with behaviour of NumPy since a release after 2.0, the oldest that
    numbalite supports. Device arrays behave as NumPy's of the newest release. `change`: what the
    release changed."""
    return pytest.mark.skipif(
        np.lib.NumpyVersion(np.__version__) < f"{version}.0", reason=f"NumPy {version}: {change}"
    )


def compute_sanitizer():
    """Returns the path of compute-sanitizer: on PATH, or in the newest toolkit; None if there is
    none."""
    toolkits = sorted(pathlib.Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or (str(toolkits[-1]) if toolkits else None)
