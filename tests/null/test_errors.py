"""Tests exception classes: bases, messages, attributes, and aliases with numba's names."""

import copy
import pickle
import warnings

import pytest

from numbalite import errors


def test_all_errors_derive_from_numbalite_error():
    for kind in (errors.CudaSupportError, errors.CudaAPIError, errors.CompileError,
                 errors.SignatureError, errors.KernelError):  # fmt: skip
        assert issubclass(kind, errors.NumbaliteError)
    assert issubclass(errors.CudaSupportError, ImportError)
    assert issubclass(errors.SignatureError, (TypeError)) and issubclass(
        errors.SignatureError, ValueError
    )
    assert issubclass(errors.PerformanceWarning, UserWarning)
    assert issubclass(errors.SimulatorWarning, RuntimeWarning)


def test_api_error_has_code_call_and_remedy():
    text = "cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (2): out of memory. Free some."
    error = errors.CudaAPIError(2, text, call="cuMemAlloc")
    assert (error.code, error.call, error.remedy) == (2, "cuMemAlloc", "Free some.")
    assert str(error) == f"[2] {text}" and error.msg == text
    plain = errors.CudaAPIError(1, "invalid argument")
    assert str(plain) == "[1] invalid argument" and plain.remedy == ""


@pytest.mark.parametrize(
    "error",
    [
        errors.CudaAPIError(2, "out of memory", "cuMemAlloc"),
        errors.CompileError("a.py(3): error: no", log="all of it", source="x"),
        errors.KernelError("bad index", kernel="k", block=(1, 0, 0), thread=(2, 0, 0),
                           array="x", index=(7,), file="a.py", line=3),
        errors.CudaSupportError("nothing here"),
        errors.SignatureError("no signature"),
    ],
)  # fmt: skip
def test_errors_are_copied_and_pickled(error):
    for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(other) is type(error) and str(other) == str(error)
        assert other.__dict__ == error.__dict__


def test_kernel_error_under_numbas_names():
    error = errors.KernelRuntimeError("m", block=(1, 2, 3), thread=(4, 5, 6))
    assert (error.msg, error.tid, error.ctaid) == ("m", (4, 5, 6), (1, 2, 3))


def test_error_messages_are_not_parsed_when_unpickled():
    error = errors.KernelError(
        "kernel k, block (1,0,0), thread (2,0,0), a.py:3: Assertion `x` failed"
    )
    assert not vars(error) and error.kind is error.kernel is error.block is error.line is None
    with pytest.raises(TypeError, match="'blok'"):
        errors.KernelError("m", blok=(1, 2, 3))


def test_numbas_error_names_exist():
    names = """NumbaPerformanceWarning NumbaInvalidConfigWarning NumbaWarning TypingError LoweringError
        DeprecationError LinkerError DeadMemoryError CCSupportError NvrtcError NvrtcCompilationError
        NvrtcBuiltinOperationFailure NvrtcSupportError NvvmError NvvmSupportError NvvmWarning
        CudaDriverError CudaRuntimeError"""
    for name in names.split():
        assert issubclass(getattr(errors, name), (errors.NumbaliteError, errors.NumbaliteWarning))
    assert issubclass(errors.CudaAPIError, errors.CudaDriverError)


def test_warnings_point_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        errors.warn("look here", errors.PerformanceWarning)
    assert caught[0].filename == __file__
    assert caught[0].category is errors.PerformanceWarning
