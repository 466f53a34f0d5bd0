"""Walking through the ways in which an operation can fail."""

import contextlib
import gc
import itertools

import pytest

from numbalite import _core, cuda, errors

CLEAN = (errors.CudaAPIError, errors.CudaSupportError, errors.KernelError, MemoryError)


def collected():
    gc.collect()
    return dict(_core.live())


def walk_through(run, operation, arm):
    """Fails step 1, 2, 3... of the operation until it succeeds; checks each failure. Returns the failures."""
    run(operation)  # once for what is made once (compiled, loaded, cached)
    cuda.synchronize()
    before = collected()
    for step in itertools.count(1):
        assert step < 1000, "this never succeeds"
        arm(step)
        failure = None
        try:
            run(operation)
        except CLEAN as error:
            failure = error.with_traceback(None)
            failure.__context__ = failure.__cause__ = None
        finally:
            seen = arm(0)
        # Some failures are survived, a pool that falls back for instance.
        if failure is None and seen < step:
            break
        with contextlib.suppress(Exception):
            cuda.synchronize()
        if failure is not None:
            assert str(failure) or isinstance(failure, MemoryError)
            del failure
        after = collected()
        assert after == before, f"step {step} left something behind: {before} -> {after}"
        run(operation)  # and the next one works
        cuda.synchronize()
        after = collected()
        assert after == before, f"after step {step}: {before} -> {after}"
    return step - 1


@pytest.fixture
def walk():
    """walk(run, operation, arm): arm(n) makes the n-th step fail, arm(0) none, and returns the steps seen."""
    return walk_through
