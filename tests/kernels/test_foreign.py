"""Tests cuda.declare_device: functions that are defined elsewhere, in numba's ABI and in C's."""

import pickle

import numpy as np
import pytest

from numbalite import cuda, errors, float32, int32, int64, jit, types, vectorize, void

# The functions have the types of C headers, in which int64_t is long,
# while the declarations' int64 is long long.
CODE = """
#include <stdint.h>
extern "C" __device__ int twice(int64_t* out, int64_t a) { *out = 2 * a; return 0; }
extern "C" __device__ int plus(int64_t a, float b) { return a + b; }
extern "C" __device__ int const42() { return 42; }
extern "C" __device__ int bump(char* nothing, int64_t* p) { *p += nothing == nullptr; return 0; }
extern "C" __device__ void zero(float* p) { *p = 0; }
extern "C" __device__ int total(
    float* out, void* meminfo, void* parent, int64_t n, int64_t item, const char* p,
    int64_t rows, int64_t columns, int64_t down, int64_t right) {
    *out = 1000 * n + 100 * item;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) *out += *(const float*)(p + i * down + j * right);
    return 0;
}
"""
SOURCE = cuda.CUSource(CODE, name="code.cu")
doubled = cuda.declare_device("twice", "int64(int64)", link=SOURCE)
plus = cuda.declare_device("plus", int32(int64, float32), link=[SOURCE], abi="c")
const42 = cuda.declare_device("const42", "int32()", link={SOURCE}, abi="c")
bump = cuda.declare_device("bump", void(types.CPointer(types.int64)), link=(SOURCE,))
zero = cuda.declare_device("zero", "void(float32*)", link=SOURCE, abi="c")
total = cuda.declare_device("total", "float32(const float32[:, :])", link=SOURCE)


@cuda.jit(device=True)
def doubled_plus_one(x):
    "return doubled(x) + 1;"


@cuda.jit
def call_all_functions(x, m, out):
    """
    x[0] = doubled_plus_one(x[0]) + doubled(1) + plus(x[1], 0.5f) + const42();
    bump(x.data() + 1);
    out[0] = total(m); zero(&out[1]);
    """


def test_functions_of_linked_sources_are_called():
    m = np.arange(12, dtype="f4").reshape(3, 4)
    for kernel in (call_all_functions, pickle.loads(pickle.dumps(call_all_functions))):
        x, out = np.array([5, 6]), np.ones(2, "f4")
        kernel[1, 1](x, m[::2, 1::2], out)
        assert x.tolist() == [11 + 2 + 6 + 42, 7]
        assert out.tolist() == [4000 + 400 + (1 + 3 + 9 + 11), 0]


def test_foreign_function_has_name_signature_and_repr():
    assert (doubled.name, str(doubled.sig)) == ("twice", "int64(int64)")
    assert repr(doubled) == "<foreign function twice: int64(int64)>"
    assert repr(pickle.loads(pickle.dumps(doubled))) == repr(doubled)
    assert "::twice(" in doubled.inspect_source()
    with pytest.raises(TypeError, match="twice is a device function"):
        doubled(1)


def test_foreign_functions_work_in_cpu_functions():
    @vectorize(["int64(int64)"])
    def doubled_ufunc(x):
        "doubled(x) + 1"

    @jit
    def doubled_on_cpu(x):
        "return doubled(x);"

    assert doubled_ufunc(np.arange(3)).tolist() == [1, 3, 5] and doubled_on_cpu(4) == 8
    itself = vectorize(["int64(int64)"], target="cuda")(doubled)
    assert itself(np.arange(3)).tolist() == [0, 2, 4]


def test_kernel_link_option_supplies_the_code():
    late = cuda.declare_device("twice", int64(int64))

    @cuda.jit(link=[SOURCE])
    def with_code(x):
        "x[0] = late(x[0]);"

    @cuda.jit
    def call_late_without_link(x):
        "x[0] = late(x[0]);"

    x = np.array([3])
    with_code[1, 1](x)
    assert x[0] == 6
    with pytest.raises(errors.CompileError, match=r"twice(?s:.*)hint: .* as link="):
        call_late_without_link[1, 1](x)


def test_declared_cooperative_functions_launch_cooperatively():
    waits = cuda.declare_device("twice", "int64(int64)", link=SOURCE, use_cooperative=True)

    @cuda.jit(device=True)
    def call_waits(x):
        "return waits(x);"

    @cuda.jit
    def call_cooperative(x):
        "x[0] = call_waits(x[0]);"

    @cuda.jit(cooperative=False)
    def declare_not_cooperative(x):
        "x[0] = call_waits(x[0]);"

    x = np.array([3])
    for kernel, factor, is_so in ((call_cooperative, 2, True), (declare_not_cooperative, 4, False)):
        kernel[1, 1](x)
        assert x[0] == 3 * factor
        (overload,) = kernel.overloads.values()
        assert overload.cooperative == is_so


def test_cffi_pointers_are_passed():
    ffi = pytest.importorskip("cffi").FFI()

    @cuda.jit
    def pass_cffi_pointer(x):
        i = cuda.grid(1)
        pointer = ffi.from_buffer(x)
        if i == 0:
            bump(pointer)
        bump(ffi.from_buffer(x[i:]))

    @cuda.jit
    def passes_each_second(x):
        bump(ffi.from_buffer(x[::2]))

    x = np.array([3, 4])
    pass_cffi_pointer[1, 2](x)
    assert x.tolist() == [5, 5]
    with pytest.raises(errors.TranslationError, match="from_buffer: takes an array whose elements"):
        passes_each_second[1, 1](x)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (("f", (float32[:],)), TypeError, "Return type must be provided"),
        (("f", "(float32[:],)"), TypeError, "Return type must be provided"),
        (("f", "float(f4)"), errors.SignatureError, "float is not a type here"),
        (("f", "f4(Tuple((f4, f4)))"), TypeError, r"f: .*takes numbers, pointers, arrays, not Tuple"),
        (("f", "f4(none)"), TypeError, "f: .*not none"),
        (("f", "f4(f4[()])"), TypeError, "f: .*not float32"),
        (("f", "f4[:](f4)"), TypeError, r"f: .*returns a number or a pointer, not float32\[:\]"),
        (("f g", "f4(f4)"), ValueError, "'f g' is not a valid name"),
        (("int", "f4(f4)"), ValueError, "'int' is not a valid name"),
        ((5, "f4(f4)"), TypeError, "is text, not 5"),
        (("f", "f4(f4)", "code.zip"), ValueError, "the suffix is unknown"),
        (("f", "f4(f4)", None, False, "rust"), NotImplementedError, "Unsupported ABI"),
    ],
)  # fmt: skip
def test_invalid_declarations_raise(arguments, error, message):
    with pytest.raises(error, match=message):
        cuda.declare_device(*arguments)
