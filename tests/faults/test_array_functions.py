"""The n-th driver call and the n-th host allocation fail in NumPy's functions on device arrays:
each raises an exception of ours, leaks nothing, and the next call works."""

import warnings

import numpy as np
import pytest
from kit.likenumpy import to_device
from kit.numpycalls import CALLS, NEEDED

from numbalite import _core
from numbalite.ndarray import dispatch

CASES = [name for name in CALLS if dispatch.numpy_function(name) is not None]


def make_call(name):
    """Returns a call with device arrays that exist before the call; every call writes to the same
    arrays."""
    function = dispatch.numpy_function(name)
    args = to_device(CALLS[name])

    def call_quietly():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            function(*args, **NEEDED.get(name, {}))

    return call_quietly


@pytest.mark.sim
@pytest.mark.parametrize("name", CASES)
def test_array_functions_survive_failing_driver_calls(name, fail_each_step):
    fail_each_step(make_call(name), _core.fail_call_at)


@pytest.mark.sim
@pytest.mark.parametrize("name", CASES)
def test_array_functions_survive_failing_allocations(name, fail_each_step):
    fail_each_step(make_call(name), _core.fail_alloc_at)


@pytest.mark.sim
@pytest.mark.parametrize("name", ["roll", "concatenate", "take", "histogram", "std", "dot"])
@pytest.mark.parametrize("fail", [_core.fail_call_at, _core.fail_alloc_at], ids=["calls", "memory"])
def test_traced_calls_survive_failing_driver_calls(name, fail, fail_each_step):
    call = make_call(name)

    def call_three_times():
        """The first call stores its key, the second call is recorded, the third call is replayed."""
        for _ in range(3):
            call()

    fail_each_step(call_three_times, fail)
