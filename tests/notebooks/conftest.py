"""Shared by the tests here: books.py, and the process that runs notebooks."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # books, outputs


@pytest.fixture(scope="session")
def kernels(driver_kind):
    """Runs notebooks in Jupyter kernels; None where the packages for that are missing."""
    import books

    if not books.HAS_KERNEL:
        yield None
        return
    running = books.Kernels()
    yield running
    running.close()
