"""Defines fixtures for the tests of Python bodies."""

import numpy as np
import pytest

from numbalite import config


@pytest.fixture(autouse=True)
def host_arrays(monkeypatch):
    """Lets kernels accept host arrays without a warning."""
    monkeypatch.setattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", False)


@pytest.fixture
def assert_as_python():
    """assert_as_python(kernel, *args): asserts that the kernel with one thread changes its arrays as the Python
    function does."""

    def run_both(kernel, *args):
        ours = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        kernel[1, 1](*ours)
        with np.errstate(all="ignore"):
            kernel.py_func(*theirs)
        for position, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            np.testing.assert_array_equal(a, b, err_msg=f"argument {position}")

    return run_both
