"""Fixtures of this folder: makes books.py importable, and starts the process that runs
notebooks."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # books, outputs


@pytest.fixture(scope="session")
def notebook_kernels(driver_kind):
    """Runs notebooks in Jupyter kernels; Returns None if the packages of Jupyter are missing."""
    import books

    if not books.HAS_KERNEL:
        yield None
        return
    running = books.NotebookKernels()
    yield running
    running.close()
