"""Runs NumPy's own tests of functions on device arrays: ``python tests/programs/numpy_suite.py [ARG ...]``

NumPy contains its tests. Before they are imported, each function of numpy, numpy.linalg, numpy.fft
and numpy.lib.stride_tricks that has a counterpart on the device is replaced by a wrapper that
copies the arrays among its arguments to the device, calls NumPy's function on them, and copies the
results and changed arguments back, with their layout. If the device has no type for one of the
arrays (objects, texts, subclasses, other byte orders), or no memory, NumPy computes the result on
the host. ARGs are passed to pytest; the default is the list of files below. At the end it prints
the number of calls on the device.

EXPECTED lists the tests that fail for a reason, which is a limit of these wrappers or a documented
difference of device arrays. A test of the list that has no parameters must fail: it is reported if it passes."""

import functools
import os
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
COPIED = "the wrapper copies the result to the host: it is no view of the host array"
NO_DISPATCH = (
    "NumPy asks only the array arguments, not the items of this list, for another implementation"
)
NO_WARNINGS = "elements are not inspected on the device: no warnings about values"
ROUNDING = "the test requires two computations to round equally"
WORDING = "the message has other words"
TWO = "cross() accepts vectors of three elements: NumPy has deprecated those of two"
DEPRECATED = "deprecated arguments are accepted without NumPy's warning"
OBJECTS = "device arrays hold no Python objects"
CONVERTS = "the function that the test passes converts its argument to a class of NumPy"
# Dict from the end of a test's id, without parameters, to the reason why some of its cases must fail.
EXPECTED = {
    "test_numeric.py::TestNonarrayArgs::test_reshape_copy_arg": COPIED,
    "test_numeric.py::TestNonarrayArgs::test_squeeze": NO_DISPATCH,
    "test_numeric.py::TestNonarrayArgs::test_std_with_mean_keyword_keepdims_false": ROUNDING,
    "test_numeric.py::TestNonarrayArgs::test_var_with_mean_keyword_keepdims_false": ROUNDING,
    "test_numeric.py::TestCross::test_broadcasting": TWO,
    "test_numeric.py::TestCross::test_broadcasting_shapes": TWO,
    "test_einsum.py::TestEinsum::test_einsum_errors": NO_DISPATCH,
    "test_einsum.py::TestEinsum::test_einsum_views": COPIED,
    "test_einsum.py::TestEinsum::test_einsum_0d_out": "NumPy's optimized path ignores `casting`",
    "test_function_base.py::TestPiecewise::test_simple": NO_DISPATCH,
    "test_function_base.py::TestMedian::test_empty": NO_WARNINGS,
    "test_shape_base.py::TestApplyAlongAxis::test_axis_insertion": CONVERTS,
    "test_shape_base.py::TestApplyAlongAxis::test_subclass_preservation": CONVERTS,
    "test_shape_base.py::TestApplyAlongAxis::test_axis_insertion_ma": CONVERTS,
    "test_shape_base.py::TestMayShareMemory::test_basic": COPIED,
    "test_arraypad.py::test_legacy_vector_functionality": "pad() takes no function as its mode",
    "test_arraypad.py::TestPadWidth::test_misshaped_pad_width_2": WORDING,
    "test_histograms.py::TestHistogram::test_object_array_of_0d": NO_DISPATCH,
    "test_arraysetops.py::TestSetOps::test_isin_first_array_is_object": OBJECTS,
    "test_arraysetops.py::TestUnique::test_unique_axis_float_raises_typeerror": WORDING,
    "test_linalg.py::TestDet::test_generalized_sq_cases": ROUNDING,
    "test_linalg.py::TestLstsq::test_rcond": ROUNDING,
    "test_linalg.py::TestLstsq::test_incompatible_dims": WORDING,
    "test_linalg.py::test_cross": WORDING,
    "test_pocketfft.py::TestFFT1D::test_fft_bad_out": WORDING,
    "test_pocketfft.py::TestFFT1D::test_s_axes_none": DEPRECATED,
    "test_pocketfft.py::TestFFT1D::test_s_axes_none_2D": DEPRECATED,
    "test_pocketfft.py::TestFFT1D::test_s_contains_none": DEPRECATED,
    "test_nanfunctions.py::TestNanFunctions_MinMax::test_allnans": NO_WARNINGS,
    "test_nanfunctions.py::TestNanFunctions_MeanVarStd::test_ddof_too_big": NO_WARNINGS,
    "test_nanfunctions.py::TestNanFunctions_MeanVarStd::test_empty": NO_WARNINGS,
    "test_nanfunctions.py::TestNanFunctions_Median::test_empty": NO_WARNINGS,
    "test_nanfunctions.py::TestNanFunctions_Percentile::test_empty": NO_WARNINGS,
    "test_nanfunctions.py::TestNanFunctions_Percentile::test_allnans": NO_WARNINGS,
    "test_nanfunctions.py::TestNanFunctions_Quantile::test_allnans": NO_WARNINGS,
    "test_nanfunctions.py::TestNanFunctions_Percentile::test_result_values": NO_DISPATCH,
}
LARGEST = 2**30  # maximum bytes of an array that is copied to the device
LONG = 100_000  # a test has a tuple of 2**31 arrays, which does not fit into memory
calls: dict[str, int] = {}
inside = False  # inside a call on the device: nested calls are not wrapped


def is_device_compatible(value):
    """Returns whether this is an array that the device can store."""
    if type(value) is not np.ndarray or not value.dtype.isnative:
        return False
    return (
        value.dtype.kind in "biufc"
        and value.dtype.itemsize <= 16
        and value.dtype.char not in "gG"
        and value.nbytes <= LARGEST
    )


def supports_dtype(dtype):
    """Returns whether the device supports the type of a `dtype=` argument."""
    try:
        return dtype is None or is_device_compatible(np.empty(0, dtype))
    except TypeError:
        return True  # the function raises


def are_all_compatible(value):
    """Returns whether the device can store all arrays in the arguments."""
    if isinstance(value, np.ndarray):
        return is_device_compatible(value)
    if type(value) is dict:
        return all(map(are_all_compatible, value.values())) and supports_dtype(value.get("dtype"))
    return (
        type(value) not in (list, tuple)
        or len(value) >= LONG
        or all(map(are_all_compatible, value))
    )


def axes_in_memory_order(array):
    """Returns the permutation of the axes in which their strides decrease."""
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


class CallArrays:
    """Copies the arrays of one call: each to the device once, and back if the call changed it."""

    def __init__(self, name):
        self.arrays = {}  # dict from the id of a host array to the array and its device copy
        self.keeps_arrays = name in RETURN_ARRAYS

    def to_device_argument(self, value):
        from numbalite import cuda

        if is_device_compatible(value):
            if id(value) not in self.arrays:
                self.arrays[id(value)] = value, cuda.to_device(value)
            return self.arrays[id(value)][1]
        if type(value) in (list, tuple) and len(value) < LONG:
            return type(value)(map(self.to_device_argument, value))
        if type(value) is dict:
            return {name: self.to_device_argument(one) for name, one in value.items()}
        return value

    def to_host_result(self, value):
        from numbalite import cuda

        if isinstance(value, cuda.DeviceNDArray):
            for host, device in self.arrays.values():
                if device is value:
                    return host
            order = axes_in_memory_order(value)
            host = value.transpose(order).copy_to_host().transpose(np.argsort(order))
            return host[()] if host.ndim == 0 and not self.keeps_arrays else host
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.to_host_result, value))
        if type(value) in (list, tuple):
            return type(value)(map(self.to_host_result, value))
        return value

    def write_back(self):
        for host, device in self.arrays.values():
            if host.flags.writeable:
                host[...] = device.copy_to_host()


def is_test(module):
    return module.rpartition(".")[2].startswith("test_")


def wrap_for_device(name, function):
    @functools.wraps(function)
    def call_on_device(*args, **keywords):
        global inside
        if inside or not is_test(sys._getframe(1).f_globals.get("__name__", "")):
            return function(*args, **keywords)
        if not (are_all_compatible(args) and are_all_compatible(keywords)):
            return function(*args, **keywords)
        inside, moved = True, CallArrays(name)
        try:
            there, named = moved.to_device_argument(args), moved.to_device_argument(keywords)
            if not moved.arrays:
                return function(*args, **keywords)
            calls[name] = calls.get(name, 0) + 1
            result = moved.to_host_result(function(*there, **named))
            moved.write_back()
            return result
        finally:
            inside = False

    return call_on_device


def replace_numpy_functions():
    """Replaces functions in NumPy's namespaces by wrappers that call the device versions."""
    from numbalite import _core
    from numbalite.ndarray import dispatch

    for namespace in dispatch.MODULES:
        dispatch.load_namespace(namespace)
    for namespace in NAMESPACES:
        module = sys.modules[namespace]
        for name, function in list(vars(module).items()):
            try:
                known = function in _core.array_functions
            except TypeError:  # not hashable
                continue
            if known and name not in MAKE_HOST_ARRAYS:
                setattr(module, name, wrap_for_device(f"{namespace}.{name}", function))


class ExpectedFailures:
    """Marks the tests of EXPECTED as expected failures."""

    def pytest_collection_modifyitems(self, items):
        for item in items:
            name = item.nodeid.rpartition("/")[2].partition("[")[0]
            if name in EXPECTED:
                item.add_marker(
                    pytest.mark.xfail(reason=EXPECTED[name], strict="[" not in item.nodeid)
                )


def main():
    # Runs all cases of each test; this project's conftest would draw some cases.
    os.environ.setdefault("NUMBALITE_TEST_SEED", "all")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
    for namespace in NAMESPACES:
        __import__(namespace)
    replace_numpy_functions()
    given = sys.argv[1:] or ["--pyargs", *(f"numpy.{file}" for file in FILES)]
    code = pytest.main(
        [
            "-q",
            "-p",
            "no:cacheprovider",
            # If pytest imported test files by path (this project's setting),
            # pytest would import NumPy a second time.
            "--import-mode=prepend",
            "--tb=short",
            "-W",
            "ignore::pytest.PytestRemovedIn10Warning",
            "-o",
            "xfail_strict=false",
            "-o",
            "timeout=1800",  # the simulator multiplies integer matrices slowly (test_einsum_broadcast)
            "-W",
            "ignore::PendingDeprecationWarning",
            *given,
        ],
        plugins=[ExpectedFailures()],
    )
    print(f"{sum(calls.values())} calls of {len(calls)} functions went to the device")
    raise SystemExit(code)


if __name__ == "__main__":
    main()
