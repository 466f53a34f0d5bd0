"""Compares a NumPy function on device arrays with the same function on host arrays: results are
equal, or both calls raise."""

import warnings

import numpy as np

from kit import drawn
from kit.drawn import result_or_error
from numbalite import cuda


def assert_equal_results(result, expected):
    """Compares each item of the device's result with the host's."""
    if isinstance(expected, (tuple, list)):
        assert type(result) in (tuple, list) and len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            assert_equal_results(one, other)
    elif isinstance(expected, (np.ndarray, np.generic)) and not isinstance(result, (bool, int)):
        drawn.assert_close(result, np.asarray(expected), ulps=8, scale=8.0, device=True)
    else:
        assert result == expected


def assert_same(function, on_device, on_host, keywords=None):
    """Asserts that both calls return equal results, or that both raise."""
    keywords = keywords or {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = result_or_error(function, *on_host, **keywords)
        ours = result_or_error(function, *on_device, **keywords)
    drawn.assert_same_value_or_error(ours, theirs, assert_equal_results)


def to_device(value):
    """Converts NumPy's arrays to device arrays, in lists, tuples and dicts too; other objects are
    unchanged."""
    if isinstance(value, dict):
        return {name: to_device(one) for name, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(to_device, value))
    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


def assert_same_result(function, *args, **keywords):
    """Calls the function with host arguments and with device copies of them, and compares the
    results."""
    call = lambda args, keywords: function(*args, **keywords)
    assert_same(call, (to_device(args), to_device(keywords)), (args, keywords))
