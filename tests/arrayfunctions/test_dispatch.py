"""Tests NumPy's functions on device arrays: which implementation is called, and the error if there
is none."""

import pathlib
import re
import types

import numpy as np
import pytest

from numbalite import _core, cuda
from numbalite.ndarray import dispatch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_numpy_functions_dispatch_to_device_versions():
    d = cuda.to_device(np.arange(6.0).reshape(2, 3))
    assert np.shape(d) == (2, 3)
    assert _core.array_functions[np.shape](d) == (2, 3)
    moved = np.moveaxis(d, 0, 1)
    assert isinstance(moved, cuda.DeviceNDArray) and moved.address == d.address
    broadcast = np.broadcast_arrays(d, np.ones(3))  # host arrays are copied
    assert all(isinstance(one, cuda.DeviceNDArray) for one in broadcast)


def test_every_function_namespace_loads():
    for namespace in dispatch.MODULES:
        dispatch.load_namespace(namespace)
    assert all(callable(function) for function in _core.array_functions.values())


def test_documentation_lists_every_supported_function():
    """The table of docs/guide/numpy.md lists exactly the implemented functions; functions of newer
    NumPy releases may be missing here."""
    for namespace in dispatch.MODULES:
        dispatch.load_namespace(namespace)
    table = (ROOT / "docs/guide/numpy.md").read_text().partition("<!-- the functions -->")[2]
    table = table.partition("<!-- to here -->")[0]
    shown = {name for words in re.findall(r"`([^`]*)`", table) for name in words.split()}
    known = {function for name in shown if (function := dispatch.numpy_function(name))}
    lacking = {
        dispatch.qualified_name(function)
        for function in set(_core.array_functions) - known
        if not dispatch.qualified_name(function).startswith("numpy.fft.")
        and dispatch.qualified_name(function) != "numpy.in1d"  # removed in NumPy 2.4
        and not isinstance(function, types.MethodDescriptorType)
    }
    assert not lacking, "name them in docs/guide/numpy.md"
    extra = [one for one in known if one not in _core.array_functions]
    assert not [one for one in extra if not isinstance(one, np.ufunc)]


def test_functions_without_a_device_version_raise():
    d = cuda.to_device(np.arange(3.0))
    for call, name in (
        (lambda d: np.polydiv(d, d), "numpy.polydiv"),
        (np.is_busday, "numpy.is_busday"),
    ):
        with pytest.raises(TypeError, match=name) as problem:
            call(d)
        for way in ("d.copy_to_host()", "cupy.asarray(d)", "torch.from_dlpack(d)"):
            assert way in str(problem.value)


def test_array_function_defers_to_other_types():
    class ArrayFunctionHandler:
        def __array_function__(self, function, types, args, keywords):
            return NotImplemented

    class OtherArray(ArrayFunctionHandler):
        def __array_function__(self, function, types, args, keywords):
            return "asked" if cuda.DeviceNDArray in types else NotImplemented

    d = cuda.to_device(np.arange(3.0))
    assert np.broadcast_arrays(d, OtherArray()) == "asked"
    with pytest.raises(TypeError, match="no implementation found"):
        np.broadcast_arrays(d, ArrayFunctionHandler())


def test_array_function_protocol_checks_its_arguments():
    d = cuda.to_device(np.arange(3.0))
    for args in ((), (np.shape, (), [d], {}), (np.shape, (), (d,), None), (np.shape, (), (d,))):
        with pytest.raises(TypeError, match="__array_function__ takes"):
            d.__array_function__(*args)
    with pytest.raises(TypeError):
        d.__array_function__([], (cuda.DeviceNDArray,), (d,), {})  # no key of a dict
    assert d.__array_function__(np.shape, [cuda.DeviceNDArray], (d,), {}) == (3,)


def test_numpy_testing_and_conversions_accept_device_arrays():
    """An explicit conversion to a NumPy array is allowed."""
    host = np.arange(6.0).reshape(2, 3)
    d = cuda.to_device(host)
    assert type(np.asarray(d)) is np.ndarray and type(np.array(d)) is np.ndarray
    np.testing.assert_array_equal(d, host)
    np.testing.assert_allclose(host, d)
    np.testing.assert_equal(d, host)
    np.testing.assert_array_almost_equal(d, d)
    np.testing.assert_array_less(d, host + 1)
    assert np.array_equal(d, host) is np.allclose(host, d) is True
    with pytest.raises(AssertionError, match="Mismatched elements: 1"):
        other = host.copy()
        other[1, 1] = 7
        np.testing.assert_array_equal(d, other)


def test_masked_arrays_are_refused():
    d = cuda.to_device(np.arange(3.0))
    with pytest.raises(TypeError, match="masked array"):
        np.broadcast_arrays(d, np.ma.masked_array([1.0, 2, 3], [0, 1, 0]))
