"""Tests arguments that are neither numbers nor arrays: tuples, times, members of enumerations, None,
dtypes."""

import collections
import enum

import numpy as np
import pytest

from numbalite import cuda, errors, types

PAIR = np.dtype([("x", "f4"), ("n", "i4")])
Point = collections.namedtuple("Point", "x n")
Line = collections.namedtuple("Line", "start end")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2.5


class LevelEnum(enum.IntEnum):
    LOW = 7


def inspected_asm(kernel):
    """Compiles for a GPU, if NVRTC is installed."""
    try:
        kernel.inspect_asm()
    except errors.CudaSupportError:
        pass


# ---- tuples ------------------------------------------------------------------------------------------
@cuda.jit
def read_nested_tuple(t, line, out):
    """
    auto [a, rest] = t;
    auto [b, c, empty] = rest;
    out[0] = a; out[1] = b; out[2] = get<1>(rest)[0];
    out[3] = line.start.x; out[4] = get<0>(line).n; out[5] = line.end.x + get<1>(line.end);
    c[1] = -1;
    """


def test_tuple_arguments_are_unpacked():
    for make in (np.array, cuda.to_device):
        out, x = np.zeros(6), make([7.0, 8.0])
        line = Line(Point(3, 4), Point(np.float32(0.5), 2))
        read_nested_tuple[1, 1]((1, (2.5, x, ())), line, out)
        assert out.tolist() == [1, 2.5, 7, 3, 4, 2.5] and x[1] == -1
        read_nested_tuple[1, 1]((True, (np.int8(2), x, ())), line, out)
        assert out.tolist() == [1, 2, 7, 3, 4, 2.5]
    first = read_nested_tuple.signatures[0]
    assert str(first[0]) == "Tuple((int64, Tuple((float64, float64[::1], Tuple(())))))"
    assert str(first[1].types[1]) == "Point(x: float32, n: int64)"
    assert len(read_nested_tuple.signatures) == 2
    inspected_asm(read_nested_tuple)


def test_kernels_accept_tuples_of_20_items():
    @cuda.jit
    def sum_nested_tuple(t, u, out):
        """
        for (int i = 0; i < 20; ++i) out[i] = t[i];
        out[20] = get<8>(u) + get<16>(u) + get<2>(u)[1] + (t == t);
        """

    out = np.zeros(21)
    mixed = (
        np.int8(1),
        2.0,
        np.arange(2),
        True,
        True,
        True,
        True,
        np.int8(1),
        np.int16(10),
        *[np.int8(3)] * 7,
        0.5,
    )
    sum_nested_tuple[1, 1](tuple(range(20)), mixed, out)
    assert out.tolist() == [*range(20), 12.5]
    inspected_asm(sum_nested_tuple)
    with pytest.raises(errors.CompileError, match="items have the same type"):
        sum_nested_tuple[1, 1]((1, 2.0), mixed, out)


def test_records_in_tuples_are_passed_by_reference():
    @cuda.jit
    def change_records(t):
        "auto& [r, s, both] = t; r.x = 3; s += 1; both.end.n = 9;"

    table, x, device = np.zeros(2, PAIR), np.array(2.0), cuda.to_device(np.zeros(2, PAIR))
    change_records[1, 1]((table[1], x, Line(1, device[0])))
    assert table.tolist() == [(0, 0), (3, 0)] and x == 3
    assert device.copy_to_host().tolist() == [(0, 9), (0, 0)]
    inspected_asm(change_records)


def test_signatures_accept_tuple_types():
    @cuda.jit("void(Tuple((float32, int32[:])), UniTuple(float64, 2))")
    def combine_tuples(t, u):
        "get<1>(t)[0] = get<0>(t) + u[0] * u[1];"

    x = np.zeros(1, "i4")
    combine_tuples[1, 1]((1, x), (2.0, 3))
    assert x[0] == 7
    combine_tuples[1, 1]((1, x), [2.0, 4])  # a list of numbers where the signature has a tuple
    assert x[0] == 9
    x[0] = 7
    for t, u, exception, reason in (
        ((1,), (2.0, 3), TypeError, r"parameter 1 't': expected tuple<.* \(a tuple of 2 items\), got tuple of 1 item$"),
        ((1, x.astype("f4")), (2, 3), TypeError, r"parameter 1 't\[1\]'.*astype\('int32'\)"),
        ((1, x), (2.0, "a"), TypeError, r"parameter 2 'u\[1\]': expected double"),
        ((1, x), [2.0, 3.0, 4.0], TypeError, "parameter 2 'u'.*got list"),
        ([1, x], (2.0, 3.0), TypeError, "parameter 1 't'.*got list"),
        ((1, x), None, TypeError, "parameter 2 'u'"),
        ((1, x[:0].reshape(0, 1)), (2, 3), TypeError, r"'t\[1\]'.*1 dimension"),
        ((1e300, x), (2, 3), OverflowError, r"'t\[0\]'.*does not fit"),
    ):  # fmt: skip
        with pytest.raises(exception, match=reason):
            combine_tuples[1, 1](t, u)
    assert x[0] == 7


def test_matching_signature_of_a_tuple_is_launched():
    @cuda.jit(["void(UniTuple(int64, 2), float64[:])", "void(UniTuple(float64, 2), float64[:])"])
    def divide_pair(t, out):
        "out[0] = t[0] / t[1];"

    out = np.zeros(1)
    for t, expected in (((3, 2), 1), ((3.0, 2.0), 1.5), ((3.0, np.float32(2)), 1.5)):
        divide_pair[1, 1](t, out)
        assert out[0] == expected
    for wrong in ((1, 2, 3), (1, "a"), 3):
        with pytest.raises(TypeError):
            divide_pair[1, 1](wrong, out)


def test_graphs_keep_arrays_of_tuple_arguments():
    @cuda.jit
    def add(t, n):
        "get<0>(t)[0] += n;"

    x, y = cuda.to_device(np.zeros(1)), cuda.to_device(np.zeros(1))
    add[1, 1]((x, 1), 0.0)
    stream = cuda.stream()
    with stream.capture() as graph:
        add[1, 1, stream]((x, 1), 2.0)
    graph.launch()
    graph.launch()
    cuda.synchronize()
    assert x[0] == 4
    graph.launches[0].update((y, 1), 5.0)
    graph.launch()
    cuda.synchronize()
    assert (x[0], y[0]) == (4, 5)


def test_a_bad_index_into_an_array_of_a_tuple_names_it():
    @cuda.jit(debug=True)
    def index_out_of_bounds(t):
        "get<1>(t)[5] = 1;"

    with pytest.raises(errors.KernelError, match=r"axis 0 of 't\[1\]' with shape \(3,\)"):
        index_out_of_bounds[1, 1]((1, cuda.to_device(np.zeros(3))))
        cuda.synchronize()


def test_overlapping_host_arrays_in_tuples_raise():
    @cuda.jit
    def store_from_array(t, x):
        "get<0>(t)[0] = x[0];"

    x = np.arange(4.0)
    with pytest.raises(ValueError, match=r"parameters 1 't\[0\]' and 2 'x'.*overlap"):
        store_from_array[1, 1]((x[:3],), x[1:])
    store_from_array[1, 1]((x,), x)


# ---- dates and times ---------------------------------------------------------------------------------
@cuda.jit
def shift_dates(dates, by, start, out):
    "int i = grid<1>(); out[i] = dates[i] - start; dates[i] += by;"


def test_dates_and_times_are_int64():
    dates = np.array(["2020-01-01", "2020-03-01"], "M8[D]")
    for where in (dates, cuda.to_device(dates)):
        out = np.zeros(2, "m8[D]")
        shift_dates[1, 2](where, np.timedelta64(2, "D"), np.datetime64("2019-12-31"), out)
        assert out.astype(int).tolist() == [1, 61]
        assert np.array(where)[0] == np.datetime64("2020-01-03")
    first = shift_dates.signatures[0]
    assert first[0] == types.NPDatetime("D")[::1] and first[1] == types.NPTimedelta("D")

    @cuda.jit("void(int64[:], int64, int64[()])")
    def add_integers(x, value, total):
        "x[0] = value; total += x[1];"

    total = np.array(1, "m8[D]")
    for value in (
        np.datetime64(5, "D"),
        np.array(5, "M8[s]"),
        cuda.to_device(np.array(5, "M8[s]")),
    ):
        add_integers[1, 1](dates, value, total)
        assert dates.view("i8")[0] == 5
    with pytest.raises(TypeError, match="byte order"):
        add_integers[1, 1](dates.astype(">M8[D]"), 1, total)


# ---- None, dtypes, enumerations ----------------------------------------------------------------------
def test_kernels_accept_none_dtypes_and_enum_members():
    @cuda.jit
    def use_none_and_enums(x, mask, T, colour, level, out):
        """
        out[0] = mask == nullptr && is_none(mask) && !mask[3] && mask(1, 2) == 0; mask[0] = 1; out[1] = T(2.75); T y = colour; out[2] = y; out[3] = level;
        if (x) out[4] = 1; else out[4] = 2;
        """

    out = np.zeros(5)
    use_none_and_enums[1, 1](None, None, np.int32, Colour.BLUE, LevelEnum.LOW, out)
    assert out.tolist() == [1, 2, 2, 7, 2]
    use_none_and_enums[1, 1](True, None, np.dtype("f4"), Colour.RED, LevelEnum.LOW, out)
    assert out.tolist() == [1, 2.75, 1, 7, 1]
    use_none_and_enums[1, 1](True, None, types.float32, Colour.RED, LevelEnum.LOW, out)
    assert out.tolist() == [1, 2.75, 1, 7, 1] and len(use_none_and_enums.signatures) == 2
    assert str(use_none_and_enums.signatures[0][:5]) == "(none, none, dtype(int32), float64, int64)"
    inspected_asm(use_none_and_enums)
    special = use_none_and_enums.specialize(None, None, np.int32, Colour.BLUE, LevelEnum.LOW, out)
    special[1, 1](None, None, np.int32, Colour.BLUE, LevelEnum.LOW, out)
    for wrong, reason in (
        ((1, None, np.int32), "parameter 1 'x': expected None"),
        ((None, None, np.int64), "parameter 3 'T': expected the dtype int32"),
        ((None, np.int32, np.int32), "parameter 2 'mask'"),
    ):
        with pytest.raises(TypeError, match=reason):
            special[1, 1](*wrong, Colour.BLUE, LevelEnum.LOW, out)
    scalars = cuda.jit("__global__ void k(float a, int b, double* out) { *out = a + b; }")
    scalars[1, 1](Colour.BLUE, LevelEnum.LOW, out[:1])
    assert out[0] == 9.5
    with pytest.raises(TypeError, match="parameter 2 'b'.*Colour.BLUE"):
        scalars[1, 1](1.0, Colour.BLUE, out)

    @cuda.jit
    def where_masked(x, mask, out):
        "int i = grid<1>(); out[i] = is_none(mask) || mask[i] ? x[i] : 0;"

    optional = cuda.jit(
        ["void(float64[:], bool_[:], float64[:])", "void(float64[:], none, float64[:])"]
    )(where_masked.py_func)
    for mask, expected in ((None, [1, 1, 1]), (np.array([True, False, True]), [1, 0, 1])):
        for kernel in (where_masked, optional):
            kernel[1, 3](np.ones(3), mask, out[:3])
            assert out[:3].tolist() == expected
    with pytest.raises(TypeError, match="no signature of where_masked takes"):
        optional[1, 3](np.ones(3), 1, out[:3])


def test_argument_types_without_a_cpp_name_raise():
    @cuda.jit
    def unnamed_argument(t):
        "get<0>(t);"

    odd = collections.namedtuple("odd", "double")
    with pytest.raises(TypeError, match="field name 'double' of .* is no C.. name"):
        unnamed_argument[1, 1](odd(1))
    for value in (
        ("a", 1),
        (1, [2]),
        np.dtype("S3"),
        np.dtype(PAIR),
        types.from_dtype(PAIR),
        types.void,
    ):
        with pytest.raises(TypeError, match="parameter 1 't'.*cannot be passed to a kernel"):
            unnamed_argument[1, 1](value)
