"""Implements numba.cuda.testing: helpers for tests of numba.cuda programs. The simulator of numbalite runs
everything that a GPU runs, so `skip_on_cudasim` skips no test. Requirements on the GPU (`skip_unless_cc_90`)
are also checked for the simulated GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import sys
import tempfile
import unittest
from typing import TYPE_CHECKING

from numbalite import config, cuda

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    Test = TypeVar("Test")

__all__ = [
    "CUDATestCase",
    "ContextResettingTestCase",
    "ForeignArray",
    "TestCase",
    "captured_cuda_stdout",
    "captured_output",
    "captured_stderr",
    "captured_stdout",
    "override_config",
    "skip_if_cuda_includes_missing",
    "skip_if_external_memmgr",
    "skip_if_mvc_enabled",
    "skip_if_nvjitlink_missing",
    "skip_on_cudasim",
    "skip_under_cuda_memcheck",
    "skip_unless_cc_53",
    "skip_unless_cc_60",
    "skip_unless_cc_75",
    "skip_unless_cc_90",
    "skip_unless_cudasim",
    "unittest",
    "xfail_unless_cudasim",
]


class TestCase(unittest.TestCase):
    """unittest's, with numba's additional assertions."""

    def assertPreciseEqual(self, first: Any, second: Any, prec: str = "exact", **_: Any) -> None:
        """Asserts that numbers are equal in a precision ("exact", "single" or "double")."""
        import numpy as np

        if prec == "exact":
            np.testing.assert_array_equal(first, second)
        else:
            np.testing.assert_allclose(first, second, rtol=1e-6 if prec == "single" else 1e-14)


class CUDATestCase(TestCase):
    """A test case whose kernels may print and issue warnings; warnings about speed are not shown."""

    def setUp(self) -> None:
        self._given = {
            name: getattr(config, name)
            for name in ("CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_WARN_ON_IMPLICIT_COPY")
        }
        for name in self._given:
            setattr(config, name, False)

    def tearDown(self) -> None:
        for name, value in self._given.items():
            setattr(config, name, value)


class ContextResettingTestCase(CUDATestCase):
    """A test case that checks that no object on the device leaks."""

    def tearDown(self) -> None:
        super().tearDown()
        cuda.close()


class ForeignArray:
    """An array whose only interface is the CUDA Array Interface."""

    def __init__(self, arr: Any) -> None:
        self._arr = arr
        self.__cuda_array_interface__ = arr.__cuda_array_interface__


def _never_skip(_reason: Any = None) -> Callable[[Test], Test]:
    return lambda test: test


def skip_on_cudasim(reason: str) -> Callable[[Test], Test]:
    """Skips no test, because numbalite's simulator runs everything that a GPU runs."""
    return _never_skip(reason)


def skip_unless_cudasim(reason: str) -> Callable[[Any], Any]:
    """Skips the test if kernels run on a GPU."""
    return unittest.skipUnless(cuda.is_simulated(), reason)


def xfail_unless_cudasim(test: Any) -> Any:
    """Expects the test to fail on a GPU."""
    return test if cuda.is_simulated() else unittest.expectedFailure(test)


def skip_if_external_memmgr(reason: str) -> Callable[[Any], Any]:
    """Skips the test if a plug-in allocates device memory."""
    return unittest.skipIf(config.CUDA_MEMORY_MANAGER != "default", reason)


def skip_under_cuda_memcheck(reason: str) -> Callable[[Any], Any]:
    """Skips the test in a process that runs under compute-sanitizer or cuda-memcheck."""
    return unittest.skipIf("CUDA_MEMCHECK" in os.environ, reason)


skip_if_mvc_enabled = _never_skip
"""Skips nothing: compatibility with newer minor versions of CUDA needs no switch."""


def _skip_unless_capability(least: tuple) -> Callable[[Any], Any]:
    def decorate(test):
        found = tuple(cuda.get_current_device().compute_capability)
        text = "{}.{} or more".format(*least)
        return unittest.skipUnless(found >= least, f"needs compute capability {text}")(test)

    return decorate


skip_unless_cc_53 = _skip_unless_capability((5, 3))
skip_unless_cc_60 = _skip_unless_capability((6, 0))
skip_unless_cc_75 = _skip_unless_capability((7, 5))
skip_unless_cc_90 = _skip_unless_capability((9, 0))


def skip_if_cuda_includes_missing(test: Test) -> Test:
    """Skips no test. If the toolkit's headers are not installed, an error explains how to install them."""
    return test


def skip_if_nvjitlink_missing(reason: str) -> Callable[[Test], Test]:
    """Skips no test, because the installed library links code."""
    return _never_skip(reason)


@contextlib.contextmanager
def override_config(name: str, value: object) -> Iterator[None]:
    """Sets a variable of numba.config for the duration of a with statement."""
    given = getattr(config, name)
    setattr(config, name, value)
    try:
        yield
    finally:
        setattr(config, name, given)


class _CapturedText(io.StringIO):
    """The text that was written during the capture."""


@contextlib.contextmanager
def captured_output(stream_name: str) -> Iterator[io.StringIO]:
    """Captures sys.stdout or sys.stderr as text; `getvalue()` returns the text."""
    given, found = getattr(sys, stream_name), _CapturedText()
    setattr(sys, stream_name, found)
    try:
        yield found
    finally:
        setattr(sys, stream_name, given)


def captured_stdout() -> contextlib.AbstractContextManager[io.StringIO]:
    """Captures Python's output to sys.stdout."""
    return captured_output("stdout")


def captured_stderr() -> contextlib.AbstractContextManager[io.StringIO]:
    """Captures Python's output to sys.stderr."""
    return captured_output("stderr")


@contextlib.contextmanager
def captured_cuda_stdout() -> Iterator[io.StringIO]:
    """Captures the output of kernels and C code: the process's file descriptor 1, until all kernels are done."""
    found = _CapturedText()
    flush = ctypes.CDLL(None).fflush
    cuda.synchronize()
    sys.stdout.flush()
    flush(None)
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            with captured_stdout() as python:
                yield found
                cuda.synchronize()
        finally:
            flush(None)
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        found.write(file.read().decode("utf-8", "replace") + python.getvalue())
