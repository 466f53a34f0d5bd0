"""Runs NumPy's own tests of functions on device arrays: ``python tests/programs/numpy_suite.py [ARG ...]``

NumPy contains its tests. Before they are imported, each function of numpy, numpy.linalg, numpy.fft
and numpy.lib.stride_tricks that has a counterpart on the device is replaced by a wrapper that
copies the arrays among its arguments to the device, calls NumPy's function on them, and copies the
results and changed arguments back. If the device has no type for an array (objects, texts,
sub-classes, other byte orders), NumPy computes the result on the host. ARGs are pytest's; without
them the files below are run. At the end it prints the number of calls on the device.

Some tests fail because a view that they expect is a copy here, or because a device raises no
warnings; these failures must be checked by hand. So do tests of features that device arrays lack on
purpose: objects as operands (isin, weights of quantile), isin(kind="table"), vectors of two
elements in cross, which NumPy has deprecated; results of a subclass of ndarray that is an operand
next to a plain array (test_0_size and test_0_size_k of solve); and tests that require two
computations to round equally (std(mean=), geomspace)."""

import functools
import pathlib
import sys

import numpy as np
import pytest

FILES = """
_core.tests.test_numeric _core.tests.test_shape_base _core.tests.test_einsum _core.tests.test_item_selection
_core.tests.test_function_base lib.tests.test_function_base lib.tests.test_shape_base
lib.tests.test_twodim_base lib.tests.test_arraysetops lib.tests.test_arraypad lib.tests.test_histograms
lib.tests.test_index_tricks lib.tests.test_nanfunctions lib.tests.test_packbits lib.tests.test_polynomial
lib.tests.test_stride_tricks lib.tests.test_type_check lib.tests.test_ufunclike linalg.tests.test_linalg
fft.tests.test_pocketfft fft.tests.test_helper
""".split()
NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.lib.stride_tricks")
MAKE_HOST_ARRAYS = {
    "array",
    "asarray",
    "asanyarray",
    "ascontiguousarray",
    "asfortranarray",
    "copyto",
    "shape",
    "ndim",
}
RETURN_ARRAYS = {
    "numpy.real",
    "numpy.imag",
}  # functions that return arrays for 0-dimensional arrays, too; others return numbers
LONG = 100_000  # a test has a tuple of 2**31 arrays, which does not fit into memory
calls: dict[str, int] = {}
inside = False  # inside a call on the device: nested calls are not wrapped


def goes(value):
    """Is it an array that the device can hold?"""
    if type(value) is not np.ndarray or not value.dtype.isnative:
        return False
    return (
        value.dtype.kind in "biufc" and value.dtype.itemsize <= 16 and value.dtype.char not in "gG"
    )


class Moved:
    """The arrays of one call: each is copied to the device once, and back if it was changed."""

    def __init__(self, name):
        self.arrays = {}  # id of the host array -> the array, and that of the device
        self.keeps_arrays = name in RETURN_ARRAYS

    def there(self, value):
        from numbalite import cuda

        if goes(value):
            if id(value) not in self.arrays:
                self.arrays[id(value)] = value, cuda.to_device(value)
            return self.arrays[id(value)][1]
        if type(value) in (list, tuple) and len(value) < LONG:
            return type(value)(map(self.there, value))
        if type(value) is dict:
            return {name: self.there(one) for name, one in value.items()}
        return value

    def back(self, value):
        from numbalite import cuda

        if isinstance(value, cuda.DeviceNDArray):
            for host, device in self.arrays.values():
                if device is value:
                    return host
            host = value.copy_to_host()
            return host[()] if host.ndim == 0 and not self.keeps_arrays else host
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.back, value))
        if type(value) in (list, tuple):
            return type(value)(map(self.back, value))
        return value

    def write_back(self):
        for host, device in self.arrays.values():
            if host.flags.writeable:
                host[...] = device.copy_to_host()


def is_numpy_itself(module):
    return module.startswith("numpy.") and ".tests." not in module


def on_device(name, function):
    @functools.wraps(function)
    def call(*args, **keywords):
        global inside
        if inside or is_numpy_itself(sys._getframe(1).f_globals.get("__name__", "")):
            return function(*args, **keywords)
        inside, moved = True, Moved(name)
        try:
            there, named = moved.there(args), moved.there(keywords)
            if not moved.arrays:
                return function(*args, **keywords)
            calls[name] = calls.get(name, 0) + 1
            result = moved.back(function(*there, **named))
            moved.write_back()
            return result
        finally:
            inside = False

    return call


def replace():
    """Replaces functions in NumPy's namespaces by wrappers that call the device versions."""
    from numbalite import _core
    from numbalite.ndarray import dispatch

    for namespace in dispatch.MODULES:
        dispatch.load(namespace)
    for namespace in NAMESPACES:
        module = sys.modules[namespace]
        for name, function in list(vars(module).items()):
            try:
                known = function in _core.array_functions
            except TypeError:  # not hashable
                continue
            if known and name not in MAKE_HOST_ARRAYS:
                setattr(module, name, on_device(f"{namespace}.{name}", function))


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
    for namespace in NAMESPACES:
        __import__(namespace)
    replace()
    given = sys.argv[1:] or ["--pyargs", *(f"numpy.{file}" for file in FILES)]
    code = pytest.main(
        [
            "-q",
            "-p",
            "no:cacheprovider",
            # By path (this project's setting), pytest would import NumPy a second time.
            "--import-mode=prepend",
            "--tb=short",
            "-W",
            "ignore::pytest.PytestRemovedIn10Warning",
            *given,
        ]
    )
    print(f"{sum(calls.values())} calls of {len(calls)} functions went to the device")
    raise SystemExit(code)


if __name__ == "__main__":
    main()
