"""Defines Pytest marks for tests that need optional software, and functions that find this
software."""

import pathlib
import platform
import shutil

import numpy as np
import pytest

from numbalite.compilers import toolkit

NO_NVRTC = "NVRTC is not installed"

IS_X86 = platform.machine() == "x86_64"


def x86_only(reason):
    """Marks tests of reports that only an x86-64 processor makes possible (docs/install.md, "64-bit
    Arm")."""
    return pytest.mark.skipif(not IS_X86, reason=f"x86-64 only: {reason}")


needs_nvrtc = pytest.mark.skipif(not toolkit.libraries(), reason=NO_NVRTC)


def numpy_since(version, change):
    """Marks tests of NumPy behaviour that is newer than NumPy 2.0, the oldest supported release.
    Device arrays behave like arrays of NumPy's newest release. `change`: what
    the
    release changed."""
    return pytest.mark.skipif(
        np.lib.NumpyVersion(np.__version__) < f"{version}.0", reason=f"NumPy {version}: {change}"
    )


def compute_sanitizer():
    """Returns the path of compute-sanitizer: on PATH, or in the newest toolkit; None if there is
    none."""
    toolkits = sorted(pathlib.Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or (str(toolkits[-1]) if toolkits else None)
