"""Tests type objects: their C++ and NumPy equivalents, and their text."""

import copy
import pickle

import numpy as np
import pytest

from numbalite import types
from numbalite.types import (
    Array,
    CPointer,
    Record,
    Signature,
    Tuple,
    UniTuple,
    boolean,
    complex64,
    const,
    float32,
    float64,
    from_dtype,
    int32,
    int64,
    parameters,
    typeof,
    uint64,
    void,
)


@pytest.mark.parametrize(
    "name, dtype, cxx",
    [
        ("boolean", "?", "bool"),
        ("int8", "i1", "signed char"),
        ("int16", "i2", "short"),
        ("int32", "i4", "int"),
        ("int64", "i8", "long long"),
        ("uint8", "u1", "unsigned char"),
        ("uint16", "u2", "unsigned short"),
        ("uint32", "u4", "unsigned int"),
        ("uint64", "u8", "unsigned long long"),
        ("float16", "f2", "float16"),
        ("float32", "f4", "float"),
        ("float64", "f8", "double"),
        ("complex64", "c8", "complex<float>"),
        ("complex128", "c16", "complex<double>"),
    ],
)
def test_scalar_types_have_dtype_and_cpp_name(name, dtype, cxx):
    t = getattr(types, name)
    assert str(t) == name and t.cxx == cxx and t.dtype == np.dtype(dtype)
    assert t.size == np.dtype(dtype).itemsize and t.bitwidth == 8 * t.size
    assert from_dtype(dtype) is t


def test_short_names_are_the_same_objects():
    assert types.f4 is float32 and types.u8 is uint64 and types.c8 is complex64
    assert types.b1 is boolean is types.bool_ and types.intp is int64 and types.double is float64


@pytest.mark.parametrize(
    "t, name, cxx",
    [
        (float32[:], "float32[:]", "array<float, 1>"),
        (float32[::1], "float32[::1]", "array<float, 1, layout::C>"),
        (int32[:, :], "int32[:, :]", "array<int, 2>"),
        (int32[:, ::1], "int32[:, ::1]", "array<int, 2, layout::C>"),
        (int32[::1, :, :], "int32[::1, :, :]", "array<int, 3, layout::F>"),
        (const(float64[:]), "const float64[:]", "array<const double, 1>"),
        (float32[()], "float32[()]", "float &"),
        (const(float32[()]), "const float32[()]", "const float &"),
        (CPointer(float32), "CPointer(float32)", "float*"),
        (UniTuple(float32, 2), "Tuple((float32, float32))", "tuple<float, float>"),
    ],
)
def test_array_types_have_name_and_cpp_type(t, name, cxx):
    assert str(t) == name and t.cxx == cxx


@pytest.mark.parametrize(
    "index", [0, slice(None, None, 2), slice(1, None), (slice(None, None, 1),) * 2, "x"]
)
def test_invalid_array_type_indices_raise(index):
    with pytest.raises(TypeError, match=r"float32\[:\]"):
        float32[index]


def test_only_the_outer_dimensions_can_be_contiguous():
    with pytest.raises(TypeError, match="first or the last"):
        float32[:, ::1, :]


@pytest.mark.parametrize("t", [void, float32[:], UniTuple(int32, 2)])
def test_array_of_void_or_array_raises(t):
    with pytest.raises(TypeError, match="no arrays"):
        t[:]


def test_types_compare_and_hash_by_value():
    assert float32[:, ::1] == float32[:, ::1] and float32[:] != float32[::1]
    assert float32[:] != const(float32[:]) and float32[:] != int32[:]
    assert len({float32[:], float32[:], int32[:]}) == 2
    assert Array(float32, 1, "F") == float32[::1], "one dimension is both"
    assert Array(float32, 2, "C", readonly=True) == const(float32[:, ::1])
    assert float32 != "float32"


def test_calling_a_type_returns_a_signature():
    signature = void(float32[:], int32)
    assert isinstance(signature, Signature) and str(signature) == "void(float32[:], int32)"
    assert signature == Signature(void, (float32[:], int32)) and len({signature, signature}) == 1
    assert str(float32(float32, float32)) == "float32(float32, float32)"
    assert str(void()) == "void()" and str(Signature(None, [float32])) == "(float32,)"


def test_calling_with_a_value_converts_as_in_numba():
    value = float32(0.25)
    assert isinstance(value, np.float32) and value == 0.25
    assert isinstance(boolean(1), np.bool_)
    with pytest.raises(TypeError):
        void(3)
    with pytest.raises(TypeError, match="signature from types"):
        void(float32, 3)


def test_types_are_immutable():
    with pytest.raises(AttributeError):
        float32.name = "other"
    with pytest.raises(AttributeError):
        void(float32).args = ()
    with pytest.raises(AttributeError):
        del float32.name


@pytest.mark.parametrize(
    "t", [void, float32, const(float32[:, ::1]), CPointer(int32), Tuple([float32, int64]),
          void(float32[:], int32), Record([("a", "f4"), ("b", "i8")])]
)  # fmt: skip
def test_types_are_pickled_and_copied(t):
    assert pickle.loads(pickle.dumps(t)) == t == copy.deepcopy(t)


PARTICLE = np.dtype([("x", "f4"), ("v", "f8", (2,)), ("tag", "S3"), ("ok", "?")], align=True)


def test_record_definition_has_numpys_layout():
    text = Record(PARTICLE).definition()
    assert "float x;" in text and "double v[2];" in text and "char tag[3];" in text
    assert "unsigned char padding_4[4];" in text and "bool ok;" in text
    assert f"== {PARTICLE.itemsize}" in text and "pragma pack" not in text


def test_unaligned_records_are_packed():
    dtype = np.dtype([("a", "i1"), ("b", "f8")])
    assert dtype.itemsize == 9 and "pack(push, 1)" in Record(dtype).definition()
    assert Record(dtype).align == 1 and Record(np.dtype(dtype.descr, align=True)).align == 8


def test_records_of_equal_layout_are_one_type():
    assert Record([("a", "f4")]) == from_dtype(np.dtype([("a", "<f4")]))
    assert Record([("a", "f4")]).cxx == Record([("a", "f4")]).cxx != Record([("b", "f4")]).cxx


def test_nested_record_definitions_come_first():
    inner = np.dtype([("x", "f4"), ("y", "f4")])
    text = Record([("p", inner), ("n", "i4")]).definition()
    assert text.index(f"struct {Record(inner).cxx} {{") < text.index("p;")


@pytest.mark.parametrize(
    "fields, reason",
    [
        ([("class", "f4")], "no C\\+\\+ name"),
        ([("a b", "f4")], "no C\\+\\+ name"),
        ({"names": ["a", "b"], "formats": ["f4", "f4"], "offsets": [0, 2]}, "overlap"),
        ([("a", ">f4")], "byte order"),
    ],
)
def test_unsupported_record_dtypes_raise(fields, reason):
    with pytest.raises(TypeError, match=reason):
        Record(np.dtype(fields)).definition()


def test_random_states_have_numbalites_struct():
    t = from_dtype(np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True))
    assert t.cxx == "xoroshiro128p_state" and t.is_predefined


class ForeignArray:
    def __init__(self, array, strides=False):
        self.array, self.strides = array, strides

    @property
    def __cuda_array_interface__(self):
        interface = dict(self.array.__array_interface__)
        if self.strides:
            interface["strides"] = self.array.strides
        return interface


@pytest.mark.parametrize(
    "value, t",
    [
        (1, int64), (2**63, uint64), (1.5, float64), (True, boolean), (1j, types.complex128),
        (np.float32(1), float32), (np.bool_(1), boolean), (np.zeros(3, "f4"), float32[::1]),
        (np.zeros((3, 4), "i4"), int32[:, ::1]), (np.zeros((3, 4), "i4").T, int32[::1, :]),
        (np.zeros((3, 4), "i4")[:, ::2], int32[:, :]), (np.zeros((), "f4"), float32[()]),
        (ForeignArray(np.zeros((3, 4), "i4")), int32[:, ::1]),
        (ForeignArray(np.zeros((3, 4), "i4").T, True), int32[::1, :]),
        (ForeignArray(np.zeros((3, 4), "i4")[:, 1:], True), int32[:, :]),
    ],
)  # fmt: skip
def test_typeof_returns_numbas_types(value, t):
    assert typeof(value) == t


@pytest.mark.parametrize("value", ["text", [1, 2], object(), np.zeros(2, "U3"), (1, "text")])
def test_typeof_rejects_unsupported_values(value):
    with pytest.raises(TypeError):
        typeof(value)


def test_type_codes_are_decoded():
    """Tests the C extension's description of argument types."""
    assert types.from_code(11) is float32
    assert types.from_code(11 | 1 << 8 | 1 << 14 | 1 << 16) == float32[::1]
    assert types.from_code(4 | 2 << 8 | 2 << 14 | 1 << 16) == int32[::1, :]
    assert types.from_code(14 | 3 << 8 | 1 << 16) == types.complex128[:, :, :]
    assert types.from_code(11 | 1 << 14 | 1 << 16) == float32[()]


def test_parameter_rows_describe_kernel_parameters():
    row = parameters.parameter_row(const(float32[:, ::1]), "x")
    assert row.name == "x" and row.kind == "array" and row.dtype == "float32" and row.const
    assert (row.ndim, row.layout, row.itemsize, row.size, row.align) == (2, "C", 4, 40, 8)
    row = parameters.parameter_row(int32, "n")
    assert (row.kind, row.ctype, row.dtype, row.size, row.align) == ("scalar", "int", "int32", 4, 4)
    row = parameters.parameter_row(Record(PARTICLE), "p")
    assert (row.kind, row.size, row.align) == ("struct", PARTICLE.itemsize, 8)
    row = parameters.parameter_row(parameters.parameter_kind(Record(PARTICLE)), "p")
    assert (row.kind, row.ndim, row.size, row.itemsize) == ("array", 0, 8, PARTICLE.itemsize)
    row = parameters.parameter_row(CPointer(types.uint8), "p")
    assert (row.kind, row.ctype, row.dtype, row.const) == (
        "pointer", "unsigned char*", "uint8", False
    )  # fmt: skip
    row = parameters.parameter_row(
        types.Tuple([types.int8, float32[:], UniTuple(types.float64, 10)]), "t"
    )
    assert (row.kind, row.size) == ("tuple", 8 + 24 + 80)
    assert [(p.name, p.kind, p.offset) for p in row.parts] == [
        ("t[0]", "scalar", 0), ("t[1]", "array", 8), ("t[2]", "tuple", 32)
    ]  # fmt: skip
    assert [p.offset for p in row.parts[2].parts] == list(range(0, 80, 8))
    with pytest.raises(TypeError, match="'t'"):
        parameters.parameter_row(void, "t")


def test_number_types_are_ordered_by_width():
    assert types.int8 < types.int16 <= types.int16 < types.int64
    assert sorted([types.float64, types.float16, types.float32])[0] is types.float16
    for other in (types.uint64, types.float64, 5):
        with pytest.raises(TypeError):
            types.int8 < other  # noqa: B015
