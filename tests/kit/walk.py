"""Repeats an operation, each time with another failing step."""

import contextlib
import gc
import itertools

from numbalite import _core, cuda, errors
from numbalite.runtime import traced

CLEAN = (errors.CudaAPIError, errors.CudaSupportError, errors.KernelError, MemoryError)


def count_live_objects():
    """Returns the counters of C code, without the cached traces."""
    traced.drop_traces()
    gc.collect()
    return dict(_core.live())


def fail_steps_until_success(operation, arm):
    """Fails step 1, 2, 3... of the operation until it succeeds; checks each failure. Returns the failures."""
    operation()  # run once before, so that compiled, loaded and cached objects exist
    cuda.synchronize()
    before = count_live_objects()
    for step in itertools.count(1):
        assert step < 1000, "this never succeeds"
        arm(step)
        failure = None
        try:
            operation()
        except CLEAN as error:
            failure = error.with_traceback(None)
            failure.__context__ = failure.__cause__ = None
        finally:
            seen = arm(0)
        # Some failures have a fallback, for example another kind of memory pool.
        if failure is None and seen < step:
            break
        with contextlib.suppress(Exception):
            cuda.synchronize()
        if failure is not None:
            assert str(failure) or isinstance(failure, MemoryError)
            del failure
        after = count_live_objects()
        assert after == before, f"step {step} left something behind: {before} -> {after}"
        operation()  # and the next one works
        cuda.synchronize()
        after = count_live_objects()
        assert after == before, f"after step {step}: {before} -> {after}"
    return step - 1


def count_after_collection():
    traced.drop_traces()
    gc.collect(0)
    return _core.live()


def fail_steps_without_repeat(operation, fail, clean):
    """Fails step 1, 2, 3... until the operation succeeds without reaching the failing step.

    The operation is not repeated between the steps, because there may be thousands of them.
    """
    operation()
    cuda.synchronize()
    gc.collect()
    before = count_after_collection()
    for step in itertools.count(1):
        assert step < 20000, "this never succeeds"
        fail(step)
        try:
            operation()
            failed = False
        except clean:
            failed = True
        finally:
            met = fail(0) >= step
        cuda.synchronize()
        if count_after_collection() != before:
            gc.collect()
        assert _core.live() == before, f"step {step}"
        if not failed and not met:
            break
    operation()
    cuda.synchronize()
    assert count_live_objects() == before
