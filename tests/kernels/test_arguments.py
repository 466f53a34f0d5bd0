"""Tests the arguments that a launch accepts, and the messages for arguments that it rejects."""

import re
import warnings

import numpy as np
import pytest
from kit.lines import line_numbers_of

import numbalite
from numbalite import cuda, errors

# These tests pass host arrays for convenience; other tests check the warning.


def case_id(value):
    """Returns the id of a test case: the value as text, without addresses."""
    return re.sub(r" at 0x\w+", "", repr(value))


# One kernel per scalar type, which writes its argument into the result.
SCALARS = {
    "bool": ("?", [True, False, np.True_]),
    "signed char": ("i1", [-128, 127, np.int8(5), True]),
    "unsigned char": ("u1", [0, 255]),
    "short": ("i2", [-(2**15), 2**15 - 1]),
    "unsigned short": ("u2", [0, 2**16 - 1]),
    "int": ("i4", [-(2**31), 2**31 - 1, np.int64(7), np.uint8(3)]),
    "unsigned int": ("u4", [0, 2**32 - 1]),
    "long long": ("i8", [-(2**63), 2**63 - 1]),
    "unsigned long long": ("u8", [0, 2**64 - 1]),
    "float": (
        "f4",
        [1.5, 3, -0.0, 1e38, float("inf"), np.float64(2.5), np.float32(1.25), np.int32(9)],
    ),
    "double": ("f8", [1.5, 3, 2**53, np.float32(0.1), float("inf")]),
}
TOO_LARGE = {
    "signed char": [128, -129],
    "unsigned char": [256, -1],
    "short": [2**15],
    "unsigned short": [2**16, -1],
    "int": [2**31, -(2**31) - 1, np.int64(2**40), 2**200],
    "unsigned int": [2**32, -1, np.int8(-1)],
    "long long": [2**63, np.uint64(2**63)],
    "unsigned long long": [2**64, -1],
}
_KERNELS = {}


def scalar_kernel(ctype):
    if ctype not in _KERNELS:
        _KERNELS[ctype] = cuda.jit(
            f"__global__ void store({ctype} value, {ctype}* out) {{ out[0] = value; }}"
        )
    return _KERNELS[ctype]


@pytest.mark.parametrize("ctype, value", [(c, v) for c, (_, vs) in SCALARS.items() for v in vs])
def test_scalars_are_converted_where_they_fit(ctype, value):
    dtype = SCALARS[ctype][0]
    out = cuda.to_device(np.zeros(1, dtype))
    scalar_kernel(ctype)[1, 1](value, out)
    assert out[0] == np.dtype(dtype).type(value)


@pytest.mark.parametrize("ctype, value", [(c, v) for c, vs in TOO_LARGE.items() for v in vs])
def test_out_of_range_integers_raise_overflow_error(ctype, value):
    out = cuda.to_device(np.zeros(1, SCALARS[ctype][0]))
    with pytest.raises(OverflowError) as caught:
        scalar_kernel(ctype)[1, 1](value, out)
    assert "store" in str(caught.value) and "value" in str(caught.value)
    assert out[0] == 0


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        "1",
        None,
        1 + 2j,
        np.zeros(3),
        [1],
        pytest.param(object(), id="object"),
        np.float32(2.0),
    ],
    ids=repr,
)
def test_invalid_arguments_for_an_int_raise(value):
    out = cuda.to_device(np.zeros(1, "i4"))
    with pytest.raises(TypeError) as caught:
        scalar_kernel("int")[1, 1](value, out)
    text = str(caught.value)
    assert "store" in text and "'value'" in text and "int" in text
    assert out[0] == 0


@pytest.mark.parametrize("value", ["1", None, 1j, np.zeros(3), object()], ids=case_id)
def test_invalid_arguments_for_a_float_raise(value):
    out = cuda.to_device(np.zeros(1, "f4"))
    with pytest.raises(TypeError, match="store"):
        scalar_kernel("float")[1, 1](value, out)


def test_objects_with_index_are_accepted_as_integers():
    class IndexSeven:
        def __index__(self):
            return 7

    out = cuda.to_device(np.zeros(1, "i4"))
    scalar_kernel("int")[1, 1](IndexSeven(), out)
    assert out[0] == 7


def test_failing_argument_conversion_raises_its_error():
    class FailingIndexObject:
        def __index__(self):
            raise ZeroDivisionError("mine")

    out = cuda.to_device(np.zeros(1, "i4"))
    with pytest.raises((ZeroDivisionError, TypeError)):
        scalar_kernel("int")[1, 1](FailingIndexObject(), out)


# ---- arrays ----------------------------------------------------------------------------------------------
@cuda.jit("void(float32, const float32[:], float32[:])")
def saxpy(a, x, y):
    "int i = grid<1>(); if (i < y.size()) y[i] += a * x[i];"


pointers = cuda.jit(
    "__global__ void pointers(const float* x, float* y, int n) { int i = grid<1>(); if (i < n) y[i] = x[i]; }"
)


def assert_refused(exception, kernel, *arguments, names=()):
    out = np.full(8, -1, "f4")
    with pytest.raises(exception) as caught:
        kernel[1, 32](*(out if a is OUT else a for a in arguments))
    text = str(caught.value)
    assert kernel.__name__ in text
    for name in names:
        assert re.search(name, text), f"{name!r} is not in: {text}"
    assert (out == -1).all(), "something ran"


OUT = object()
X = np.ones(8, "f4")


def test_wrong_dtype_raises_with_advice():
    advice = r"convert it, x = x.astype\('float32'\)"
    assert_refused(TypeError, saxpy, 1.0, X.astype("f8"), OUT, names=["'x'", "float64", advice])
    assert_refused(TypeError, pointers, X.astype("i4"), OUT, 8, names=["'x'", "float", "int32"])


def test_wrong_number_of_dimensions_raises():
    assert_refused(TypeError, saxpy, 1.0, X.reshape(2, 4), OUT, names=["'x'", r"\(2, 4\)"])


def test_wrong_number_of_arguments_raises():
    assert_refused(TypeError, saxpy, 1.0, X, names=["1", "'y'"])
    assert_refused(TypeError, saxpy, 1.0, X, OUT, 4, names=["3", "4"])
    assert_refused(TypeError, pointers, X, OUT, names=["n"])


def test_non_array_arguments_raise():
    for thing in (1.0, "text", None, [1.0, 2.0], object()):
        assert_refused(TypeError, saxpy, 1.0, thing, OUT, names=["'x'"])


def test_plain_pointers_accept_only_contiguous_arrays():
    with pytest.raises((TypeError, ValueError), match="pointers") as caught:
        pointers[1, 32](cuda.to_device(np.ones(16, "f4"))[::2], cuda.to_device(X), 8)
    assert "contiguous" in str(caught.value)


def test_strided_arrays_need_an_array_parameter():
    @cuda.jit("void(const float32[:, ::1], float32[:, :])")
    def copy_rows(x, y):
        "auto [i, j] = grid<2>(); if (i < y.shape[0] && j < y.shape[1]) y(i, j) = x(i, j);"

    x = np.arange(12, dtype="f4").reshape(3, 4)
    out = cuda.device_array((3, 4), np.float32)
    copy_rows[1, (8, 8)](cuda.to_device(x), out)
    np.testing.assert_array_equal(out.copy_to_host(), x)
    with pytest.raises(TypeError, match="'x'"):
        copy_rows[1, (8, 8)](cuda.to_device(np.asfortranarray(x)), out)


def test_keyword_arguments_are_matched():
    y = np.zeros(8, "f4")
    saxpy[1, 32](2.0, y=y, x=X)
    assert (y == 2).all()
    with pytest.raises(TypeError, match="z"):
        saxpy[1, 32](2.0, X, z=y)
    with pytest.raises(TypeError, match="x"):
        saxpy[1, 32](2.0, X, x=X)


def test_const_array_parameters_are_not_copied_back():
    """Copies for const parameters and cuda.In are not copied back to the host."""
    y = np.zeros(8, "f4")
    frozen = X.copy()
    frozen.flags.writeable = False
    saxpy[1, 32](1.0, frozen, y)
    assert (y == 1).all()
    scribble = cuda.jit("__global__ void scribble(float* x) { x[threadIdx.x] = 5; }")
    x = np.zeros(8, "f4")
    scribble[1, 8](cuda.In(x))
    assert (x == 0).all()
    scribble[1, 8](cuda.Out(x))
    assert (x == 5).all()
    with pytest.raises(ValueError, match="read-only|writ"):
        scribble[1, 8](frozen)


def test_host_array_passed_twice_is_copied_once():
    twice = cuda.jit(
        "__global__ void twice(float* a, float* b) { a[threadIdx.x] += 1; __syncthreads(); b[threadIdx.x] *= 10; }"
    )
    x = np.ones(8, "f4")
    twice[1, 8](x, x)
    assert (x == 20).all()


def test_overlapping_host_views_raise():
    shift = cuda.jit(
        "__global__ void shift(const float* a, float* b) { b[threadIdx.x] = a[threadIdx.x]; }"
    )
    x = np.arange(9, dtype="f4")
    with pytest.raises(ValueError, match="overlap"):
        shift[1, 8](x[:8], x[1:])
    np.testing.assert_array_equal(x, np.arange(9))


def test_empty_arrays_are_accepted():
    saxpy[1, 32](1.0, np.zeros(0, "f4"), np.zeros(0, "f4"))
    saxpy[1, 32](1.0, cuda.to_device(np.zeros(0, "f4")), cuda.to_device(np.zeros(0, "f4")))


def test_swapped_and_misaligned_arrays_raise():
    with pytest.raises((TypeError, ValueError)):
        saxpy[1, 32](1.0, X.astype(">f4"), np.zeros(8, "f4"))
    raw = np.zeros(33, "u1")[1:].view("f4")
    assert not raw.flags.aligned
    y = np.zeros(8, "f4")
    try:
        saxpy[1, 32](1.0, raw, y)  # the launch may pack the array or reject it
    except (TypeError, ValueError) as error:
        assert "align" in str(error)


def test_records_are_passed_by_value():
    kind = np.dtype([("x", "f4"), ("n", "i4")], align=True)
    k = cuda.jit(
        "struct P { float x; int n; }; __global__ void k(P p, float* out) { out[0] = p.x * p.n; }"
    )
    record = np.zeros(1, kind)
    record["x"], record["n"] = 1.5, 4
    out = np.zeros(1, "f4")
    k[1, 1](record[0], out)
    assert out[0] == 6
    with pytest.raises(TypeError, match="p"):
        k[1, 1](np.zeros(1, [("x", "f4")])[0], out)
    with pytest.raises(TypeError, match="p"):
        k[1, 1](3, out)


# ---- references ----------------------------------------------------------------------------------
PAIR = np.dtype([("x", "f4"), ("n", "i4")])


@cuda.jit
def advance_record(r):
    "r.x += 3; atomicAdd(&r.n, 1);"


@cuda.jit
def add_to_scalar_parameter(x, y):
    "x += y; y = 7;"


def test_kernels_write_to_records():
    """A reference parameter accepts a record on the host, on the device, or inside an array."""
    table = np.zeros(3, PAIR)
    device, own = cuda.to_device(table), cuda.device_array((), PAIR)
    own.copy_to_device(np.zeros((), PAIR))
    for record in (table[1], device[1], own, own[()]):
        advance_record[1, 1](record)
    assert table.tolist() == device.copy_to_host().tolist() == [(0, 0), (3, 1), (0, 0)]
    assert own.copy_to_host().item() == (6, 2)
    record = np.zeros((), PAIR)[()]
    for transfer in (cuda.In, cuda.InOut, cuda.In):
        advance_record[1, 1](transfer(record))
    assert record.item() == (3, 1)
    assert len(advance_record.signatures) == 1
    frozen = np.zeros(1, PAIR)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="'r'.*read-only"):
        advance_record[1, 1](frozen[0])


def test_kernels_write_to_arrays_without_dimensions():
    host, device = np.array(1.5), cuda.to_device(np.array(2.0))
    add_to_scalar_parameter[1, 1](host, device)
    assert host == 3.5 and device[()] == 7
    add_to_scalar_parameter[1, 1](device, np.float64(1))  # a NumPy scalar is a value
    add_to_scalar_parameter[1, 1](device.reshape(1)[0:1].reshape(()), 2.0)
    assert device[()] == 10
    assert len(add_to_scalar_parameter.signatures) == 2


def test_reference_parameters_write_to_one_element_arrays():
    @cuda.jit("void(float64[()], const float64[()], PAIR, const PAIR, float32)")
    def add_references(x, y, p, q, value):
        "x += y; p.x = q.x + value;"

    x, y = np.array(1.0), cuda.to_device(np.array(2.0))
    p, q = np.zeros(1, PAIR), np.ones(1, PAIR)
    q.flags.writeable = False
    add_references[1, 1](x, y, p[0], q[0], np.array(0.5))
    assert x == 3 and p["x"] == 1.5 and q["x"] == 1
    for given, reason in (
        ((1.0, y, p[0], q[0], 1), r"'x': expected double & \(a float64 array of shape \(\)\)"),
        ((x[None], y, p[0], q[0], 1), "'x'.*shape.*1,.*pass one element of it"),
        ((x.astype("f4"), y, p[0], q[0], 1), "'x'.*convert it"),
        ((x, y, p, q[0], 1), "'p': expected .*a record of 8 bytes.*pass one element of it"),
        ((x, y, 3, q[0], 1), "'p'.*make one with numpy.array"),
        ((x, y, np.zeros((), "i8")[()], q[0], 1), "'p'"),
    ):
        with pytest.raises(TypeError, match=reason):
            add_references[1, 1](*given)
    assert x == 3


def test_device_scalars_are_read_in_stream_order():
    """A record is passed by value if the source declares it so; the launch waits for pending writes
    of the same stream."""
    m = cuda.module("""
        struct P { float x; int n; };
        __global__ void late(P* p, float* x) {
            for (int i = 0; i < 200; ++i) __nanosleep(100000);
            p->n = 5; *x = 2;
        }
        __global__ void read(P p, float x, float* out) { out[0] = p.n + x; }""")
    stream = cuda.stream(non_blocking=True)
    p, x = cuda.to_device(np.zeros((), PAIR)), cuda.to_device(np.zeros((), "f4"))
    out = cuda.to_device(np.zeros(1, "f4"))
    cuda.synchronize()
    m.late[1, 1, stream](p, x)
    m.read[1, 1, stream](p, x, out)
    stream.synchronize()
    assert out[0] == 7
    record = np.zeros(1, PAIR)
    m.late[1, 1](record[0], np.zeros((), "f4"))
    assert record["n"] == 5, "a pointer takes a record too"


# ---- types of C++ without a NumPy dtype
# ------------------------------------------------------------------
@pytest.fixture(scope="module")
def cpp_module():
    return cuda.module(r"""
        #include <cuda_bf16.h>
        struct S { float a, b, c; };
        __global__ void vectors(const float4* v, float* out) { out[0] = v[1].y; }
        __global__ void records(S* p) {}
        __global__ void null(const float* a, void* b, int* out) { *out = 2 * !a + !b; }
        __global__ void rows(float** p, float* const* q, int n) {
            for (int i = 0; i < n; ++i) p[i][0] += q[i][1];
        }
        __global__ void bfloat(__nv_bfloat16* x, __nv_bfloat16 a, __nv_bfloat162 c) {
            x[0] = a; x[1] = c.y;
        }
        __global__ void values(dim3 d, int3 i, float4 f, double1 g, float* out) {
            out[0] = d.x * 100 + d.y * 10 + d.z; out[1] = i.x * 10 + i.z; out[2] = f.y + f.w + g.x;
        }""")


def assert_raises_type_error(kernel, *arguments, exception=TypeError, match):
    with pytest.raises(exception, match=match):
        kernel[1, 1](*arguments)


def test_vector_pointers_accept_arrays_of_numbers(cpp_module):
    v, out = np.arange(8, dtype="f4"), np.zeros(1, "f4")
    for form in (
        v.reshape(2, 4),
        v.view("f4,f4,f4,f4"),
        v.reshape(1, 2, 4),
        cuda.to_device(v.reshape(2, 4)),
    ):
        out[0] = 0
        cpp_module.vectors[1, 1](form, out)
        assert out[0] == 5
    wanted = r"float4\* \(a C-contiguous float32 array of shape \(n, 4\)\)"
    assert_raises_type_error(
        cpp_module.vectors,
        v,
        out,
        match=wanted + r".*last axis must have 4 items.*x.reshape\(-1, 4\)",
    )
    assert_raises_type_error(
        cpp_module.vectors, v.reshape(4, 2), out, match="last axis must have 4 items"
    )
    assert_raises_type_error(
        cpp_module.vectors,
        v.reshape(2, 4).astype("f8"),
        out,
        match=wanted + r".*astype\('float32'\)",
    )
    unaligned = cuda.to_device(np.zeros(12, "f4"))[1:9].reshape(2, 4)
    assert_raises_type_error(
        cpp_module.vectors, unaligned, out, exception=ValueError, match="aligned to 16 bytes"
    )


def test_advised_view_has_the_structs_field_count(cpp_module):
    assert_raises_type_error(
        cpp_module.records,
        np.zeros(3, "f4"),
        match=r"12 bytes.*view it as records, such as x.view\('f4,f4,f4'\)",
    )
    assert_raises_type_error(
        cpp_module.records, np.zeros(3, "i2"), match=r"x.view\('i2,i2,i2,i2,i2,i2'\)"
    )
    assert_raises_type_error(
        cpp_module.records, np.zeros(3, "f8"), match=r"records of 12 bytes, x.view\(\[...\]\)"
    )


def test_pointers_accept_none_and_addresses(cpp_module):
    x, out = cuda.to_device(np.zeros(4, "f4")), np.zeros(1, "i4")
    address = x.__cuda_array_interface__["data"][0]
    for a, b, expected in ((None, 0, 3), (x, None, 1), (address + 4, address, 0), (0, x, 2)):
        cpp_module.null[1, 1](a, b, out)
        assert out[0] == expected
    for wrong, why in ((5, "not an address in device memory"), (-1, "no address"), (2**64, "no address"),
                       (address + 2, "not aligned to 4 bytes"), (out.ctypes.data, "not an address in device memory")):  # fmt: skip
        assert_raises_type_error(
            cpp_module.null, wrong, 0, out, exception=ValueError, match=f"'a'.*{why}"
        )
    assert_raises_type_error(cpp_module.null, False, 0, out, match="'a'")
    assert_raises_type_error(cpp_module.null, x, 0, 1.5, match="'out'")

    @cuda.jit(numbalite.void(numbalite.types.CPointer(numbalite.float32), numbalite.int32))
    def store_seven(p, i):
        "if (p) p[i] = 7;"

    store_seven[1, 1](address, 2)
    store_seven[1, 1](None, 2)
    assert x.copy_to_host().tolist() == [0, 0, 7, 0]
    assert_raises_type_error(saxpy, 1.0, None, X, match="'x'")


def test_pointer_arrays_accept_addresses(cpp_module):
    x = [cuda.to_device(np.array([i, 10.0 * i], "f4")) for i in range(3)]
    addresses = np.array([a.__cuda_array_interface__["data"][0] for a in x], "u8")
    cpp_module.rows[1, 1](addresses, cuda.to_device(addresses), 3)
    assert [a[0] for a in x] == [0, 11, 22]
    assert_raises_type_error(
        cpp_module.rows,
        x[0],
        addresses,
        3,
        match=r"float\*\* \(a C-contiguous uint64 array of addresses\)",
    )


def test_bfloat16_parameters_round_to_nearest_even(cpp_module):
    out = np.zeros(2, "u2")
    cases = [(1.5, 0x3FC0), (np.float32(-3), 0xC040), (7, 0x40E0), (-0.0, 0x8000), (1e-45, 0),
             (1.00390625, 0x3F80), (1.0039062500001, 0x3F81), (1.01171875, 0x3F82), (3.3895e38, 0x7F7F),
             (float("-inf"), 0xFF80)]  # fmt: skip
    for value, bits in cases:
        cpp_module.bfloat[1, 1](out, value, (0, value))
        assert out.tolist() == [bits, bits]
    assert_raises_type_error(
        cpp_module.bfloat, out, 1e39, (0, 0), exception=OverflowError, match="'a'.*does not fit"
    )
    assert_raises_type_error(
        cpp_module.bfloat, out, 1j, (0, 0), match=r"'a': expected __nv_bfloat16 \(a float\)"
    )
    assert_raises_type_error(cpp_module.bfloat, out, 1.0, 1.0, match="'c'.*tuple of 2 numbers")
    assert_raises_type_error(
        cpp_module.bfloat,
        np.zeros(2, "f4"),
        1.0,
        (0, 0),
        match="bfloat16 or uint16 array.*ml_dtypes.bfloat16",
    )


def test_bfloat16_arrays_of_ml_dtypes_are_accepted(cpp_module):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.zeros(2, ml_dtypes.bfloat16)
    cpp_module.bfloat[1, 1](x, ml_dtypes.bfloat16(7), (0, 2.5))
    assert x.tolist() == [7, 2.5]
    kernel = cuda.jit(saxpy_like)
    assert_raises_type_error(
        kernel, x, match=r"'x': bfloat16 array.*x.view\('uint16'\).*__nv_bfloat16\*"
    )


def test_vector_parameters_accept_numbers_and_tuples(cpp_module):
    out = np.zeros(3, "f4")
    for d, expected in ((7, 711), ((7,), 711), ((7, 8), 781), ([7, 8, 9], 789), (np.int64(2), 211)):
        cpp_module.values[1, 1](d, (1, 2, 3), np.float32([1, 2, 3, 4]), (0.5,), out)
        assert out.tolist() == [expected, 13, 6.5]
    rest = (1, 2, 3), (1, 2, 3, 4), (0,), out
    assert_raises_type_error(
        cpp_module.values,
        (1, 2, 3, 4),
        *rest,
        match=r"'d': expected dim3 \(an int, or a tuple of up to 3\)",
    )
    assert_raises_type_error(cpp_module.values, 1.5, *rest, match="'d'")
    assert_raises_type_error(
        cpp_module.values,
        (1, -1),
        *rest,
        exception=OverflowError,
        match="parameter 1 'd.y'.*does not fit",
    )
    assert_raises_type_error(
        cpp_module.values,
        1,
        (1, 2),
        *rest[1:],
        match=r"'i': expected int3 \(a tuple of 3 numbers\)",
    )
    assert_raises_type_error(
        cpp_module.values, 1, (1, 2, 3.5), *rest[1:], match="parameter 2 'i.z'.*float 3.5"
    )
    assert_raises_type_error(cpp_module.values, 1, 3, *rest[1:], match="'i'.*int 3")


def test_complex_scalars_are_accepted():
    @cuda.jit("void(complex64, complex64[:])")
    def scale(a, x):
        "x[grid<1>()] *= a;"

    x = np.array([1 + 2j, 3j], "c8")
    scale[1, 2](2j, x)
    np.testing.assert_array_equal(x, np.array([-4 + 2j, -6], "c8"))


def test_host_arrays_warn_once_about_the_copy():
    k = cuda.jit("__global__ void k(float* x) { x[threadIdx.x] += 1; }")
    x = np.zeros(4, "f4")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        k[1, 4](x)
    said = [w for w in caught if issubclass(w.category, numbalite.NumbaPerformanceWarning)]
    assert len(said) <= 1
    for warning in said:
        assert warning.filename == __file__


# ---- configurations -------------------------------------------------------------------------------------
NOTHING = cuda.jit("__global__ void nothing(int* x) { x[0] = 1; }")


def test_call_without_configuration_raises():
    with pytest.raises(ValueError, match="configuration|griddim|grid"):
        NOTHING(np.zeros(1, "i4"))


@pytest.mark.parametrize("items", [1, (1,), (1, 1, 0, 0, 0), ()], ids=case_id)
def test_configuration_needs_two_to_four_items(items):
    with pytest.raises((ValueError, TypeError)):
        NOTHING[items]


@pytest.mark.parametrize(
    "grid, block",
    [
        (0, 32),
        (32, 0),
        (-1, 32),
        (1.5, 32),
        ("1", 32),
        (None, 32),
        ((1, 1, 1, 1), 32),
        ((), 32),
        (1, 1 << 40),
        (1 << 40, 1),
        (1, (1, 1, 1 << 31)),
    ],
    ids=case_id,
)
def test_invalid_grid_or_block_raises(grid, block):
    out = np.zeros(1, "i4")
    with pytest.raises((ValueError, TypeError, OverflowError)):
        NOTHING[grid, block](out)
    assert out[0] == 0


def test_block_size_error_names_the_limit():
    device = cuda.get_current_device()
    out = np.zeros(1, "i4")
    with pytest.raises(ValueError, match=str(device.MAX_THREADS_PER_BLOCK)):
        NOTHING[1, device.MAX_THREADS_PER_BLOCK + 1](out)
    with pytest.raises(ValueError, match=str(device.MAX_BLOCK_DIM_Z)):
        NOTHING[1, (1, 1, device.MAX_BLOCK_DIM_Z + 1)](out)
    with pytest.raises(ValueError, match=str(device.MAX_GRID_DIM_Y)):
        NOTHING[(1, device.MAX_GRID_DIM_Y + 1), 1](out)
    with pytest.raises(ValueError, match="shared"):
        NOTHING[1, 1, 0, 1 << 30](out)
    assert out[0] == 0


def test_invalid_block_sizes_raise():
    with pytest.raises(
        TypeError, match=r"got \[3.125\]: \(n \+ 127\) // 128 divides and rounds up"
    ):
        saxpy[100 / 32, 32]
    with pytest.raises(TypeError, match=r"blockdim must be a sequence of integers, got \['32'\]$"):
        saxpy[4, "32"]


def test_numpy_integers_are_launch_configurations():
    out = np.zeros(1, "i4")
    NOTHING[np.int64(1), (np.int32(1), 1)](out)
    assert out[0] == 1


@pytest.mark.parametrize("stream", ["s", 1.5, object()], ids=case_id)
def test_invalid_streams_raise(stream):
    with pytest.raises(TypeError):
        NOTHING[1, 1, stream](np.zeros(1, "i4"))


def test_launchers_can_be_stored_and_reused():
    bound = NOTHING[1, 1]
    for _ in range(3):
        out = np.zeros(1, "i4")
        bound(out)
        assert out[0] == 1


# ---- decorating -------------------------------------------------------------------------------------------
def test_a_kernel_returns_nothing():
    with pytest.raises(TypeError, match="void"):
        cuda.jit("float32(float32[:])")(saxpy_like)


def saxpy_like(x):
    "x[0] = 1;"


def test_signature_errors_mark_the_position():
    with pytest.raises(errors.SignatureError) as caught:
        cuda.jit("void(float32[:, floaty)")(saxpy_like)
    assert "^" in str(caught.value)


def test_a_compile_error_names_the_users_line():
    with pytest.raises(errors.CompileError) as caught:

        @cuda.jit("void(float32[:])")
        def undefined_name(x):
            """
            x[0] = undefined_x;
            """

        undefined_name[1, 1](np.zeros(1, "f4"))
    text = str(caught.value)
    assert "undefined_x" in text
    line = int(re.search(r"test_arguments\.py[:(](\d+)", text)[1])
    assert line in line_numbers_of("x[0] = undefined_x;", __file__)
    assert caught.value.log and caught.value.source
