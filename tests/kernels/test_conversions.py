"""Tests the conversion of Python values to kernel parameters: every conversion and every error."""

import enum
import fractions
import warnings

import numpy as np
import pytest
from kit.arrays import SCALARS, ForeignArray, to_device, zeroed_device_array
from kit.calls import traced_calls

from numbalite import _core, cuda

PAIR = np.dtype([("n", "i4"), ("x", "f4")])


@pytest.fixture
def kernel_by_name(core_kernels):
    return core_kernels


class LevelEnum(enum.IntEnum):
    LOW = 3


class IndexSeven:
    def __index__(self):
        return 7


class FloatSubclass(float):
    pass


def device_scalar(value, dtype):
    return to_device(np.array(value, dtype))


ZERO_D = [
    lambda v, t: np.array(v, t),
    lambda v, t: np.dtype(t).type(v),
    device_scalar,
    lambda v, t: ForeignArray(device_scalar(v, t)),
]


# ---- numbers ----
@pytest.mark.parametrize("name", SCALARS)
def test_scalars_in_range_are_converted(kernel_by_name, name):
    dtype = np.dtype(SCALARS[name][1])
    values = [0, 1, True, False, np.bool_(True)]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values += [
            info.min,
            info.max,
            LevelEnum.LOW,
            IndexSeven(),
            np.int8(5),
            np.uint64(5),
            np.longlong(3),
        ]
        values += [np.array(info.max, dtype), np.array(5, "i8")]
    elif dtype.kind == "f":
        info = np.finfo(dtype)
        values += [
            1.5,
            -2.25,
            3,
            FloatSubclass(0.5),
            float(info.max),
            float(info.tiny),
            float("inf"),
            0.1,
        ]
        values += [
            np.float16(1.5),
            np.float32(0.1),
            np.float64(0.1),
            np.longdouble(0.25),
            IndexSeven(),
        ]
        values += [fractions.Fraction(1, 4), np.int16(-4), np.array(2.5), -0.0]
    elif dtype.kind == "c":
        values += [1.5, 1 + 2j, np.complex64(1j), np.complex128(3 - 1j), np.clongdouble(2j), 7]
        values += [np.float32(0.5), np.array(1j), complex(float("inf"), -0.0)]
    launch = kernel_by_name(name)[1, 1]
    for value in values:
        out = zeroed_device_array(1, dtype)
        launch(value, out)
        plain = value.__index__() if isinstance(value, IndexSeven) else value
        plain = float(plain) if isinstance(plain, fractions.Fraction) else plain
        with np.errstate(over="ignore"):
            expected = np.asarray(plain).astype(dtype)[()]
        assert out[0].tobytes() == expected.tobytes(), value
    for make in ZERO_D:
        out = zeroed_device_array(1, dtype)
        launch(make(1, dtype), out)
        assert out[0] == 1


@pytest.mark.parametrize("name", SCALARS)
def test_out_of_range_numbers_raise(kernel_by_name, name):
    ctype, dtype = SCALARS[name]
    dtype = np.dtype(dtype)
    values = [2**64, -(2**63) - 1, 10**400]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values += [info.max + 1, info.min - 1]
        if dtype.itemsize < 8:
            values += [np.int64(info.max + 1), np.array(info.min - 1, "i8")]
    elif dtype.kind == "b":
        values += [2, -1]
    else:
        values = [10**400, -(10**5000)]
        if name in ("f16", "f32"):
            values += [float(np.finfo(dtype).max) * 1.01, -1e300]
        if name == "c64":
            values += [1e300, complex(0, 1e39)]
    out = zeroed_device_array(1, dtype)
    for value in values:
        with pytest.raises(
            OverflowError, match=rf"^{name}\(\): parameter 1 'value': expected "
        ) as caught:
            kernel_by_name(name)[1, 1](value, out)
        assert f"expected {ctype} (" in str(caught.value)
    assert out[0] == 0


@pytest.mark.parametrize("name", SCALARS)
def test_values_of_another_kind_raise(kernel_by_name, name):
    ctype, dtype = SCALARS[name]
    dtype = np.dtype(dtype)
    out = zeroed_device_array(1, dtype)
    values = ["1", b"1", None, [1], (1,), {}, object(), int, np.zeros(1), np.zeros((1, 1)), np.array(["x"]),
              np.str_("1"), np.array(None), np.array(1, ">M8[s]"),
              np.array(1, ">i4"), np.zeros((), PIECE := [("x", "i4")])[()], np.zeros((), PIECE), zeroed_device_array(1, "i4"),
              ForeignArray(zeroed_device_array(1, "i4")), cuda.In(np.zeros(1)), np.ma.masked_array(1)]  # fmt: skip
    times = [
        np.datetime64(1, "s"),
        np.timedelta64(1, "s"),
        np.array(1, "M8[s]"),
        zeroed_device_array((), "M8[s]"),
    ]
    values += times if dtype != np.int64 else []
    if dtype.kind in "biu":
        values += [1.0, 0.5, np.float32(1), np.array(1.0), 1j, fractions.Fraction(1, 1)]
    if dtype.kind in "biuf":
        values += [1j, np.complex64(1), np.array(1j)]
    for value in values:
        with pytest.raises(
            TypeError, match=rf"^{name}\(\): parameter 1 'value': expected "
        ) as caught:
            kernel_by_name(name)[1, 1](value, out)
        text = str(caught.value)
        assert f"expected {ctype} (" in text and ", got " in text
    assert out[0] == 0


def test_exceptions_of_conversions_propagate(kernel_by_name):
    class FailingIndexObject:
        def __index__(self):
            raise ZeroDivisionError

    class FailingFloatObject:
        def __float__(self):
            return "no"

    class BrokenInterface:
        @property
        def __cuda_array_interface__(self):
            raise ZeroDivisionError

    out = zeroed_device_array(1, "i4")
    with pytest.raises(ZeroDivisionError):
        kernel_by_name("i32")[1, 1](FailingIndexObject(), out)
    with pytest.raises(ZeroDivisionError):
        kernel_by_name("i32")[1, 1](1, BrokenInterface())
    with pytest.raises(ZeroDivisionError):
        kernel_by_name("i32")[1, 1](BrokenInterface(), out)
    with pytest.raises(TypeError):
        kernel_by_name("f32")[1, 1](FailingFloatObject(), out)
    assert out[0] == 0


def test_half_precision_is_rounded_once(kernel_by_name):
    rng = np.random.default_rng(1)
    values = rng.standard_normal(200) * 10.0 ** rng.integers(-9, 5, 200)
    out = zeroed_device_array(1, "f2")
    for value in [*values.tolist(), 65519.0, 2.0**-25, 3 * 2.0**-26, 5.9604644775390625e-08]:
        kernel_by_name("f16")[1, 1](value, out)
        assert out[0].tobytes() == np.float16(value).tobytes()


# ---- records ----
def test_records_are_passed_by_value(kernel_by_name):
    array = np.zeros(3, PAIR)
    array[1] = (5, 1.5)
    for value in (
        array[1],
        array[1:2].reshape(()),
        device_scalar((5, 1.5), PAIR),
        to_device(array)[1],
    ):
        out = zeroed_device_array(1, PAIR)
        kernel_by_name("record")[1, 1](value, out)
        assert out[0] == array[1]
    other = np.dtype([("n", "i4"), ("x", "f8")])
    out = zeroed_device_array(1, PAIR)
    for value in (np.zeros((), other)[()], array, 1, 1.0, 1j, np.complex64(1), b"12345678", None, (1, 2.0),
                  np.zeros((), [("n", ">i4"), ("x", "f4")])[()], to_device(array), np.int64(3)):  # fmt: skip
        with pytest.raises(
            TypeError, match=r"parameter 1 'p': expected pair \(a NumPy record of 8 bytes\)"
        ):
            kernel_by_name("record")[1, 1](value, out)
    for wrong in (
        zeroed_device_array(1, "f8"),
        zeroed_device_array(1, "c8"),
        zeroed_device_array(1, other),
        np.zeros(1, "i8"),
    ):
        with pytest.raises(TypeError, match="'out'"):
            kernel_by_name("record")[1, 1](array[1], wrong)


def test_vector_pairs_accept_complex_numbers(kernel_by_name):
    for value in (1 + 2j, np.complex64(1 + 2j), np.complex128(1 + 2j)):
        out = zeroed_device_array(1, "c8")
        kernel_by_name("pairs")[1, 1](value, out)
        assert out[0] == 1 + 2j
    record = np.array([(1, 2)], [("x", "f4"), ("y", "f4")])
    kernel_by_name("pairs")[1, 1](record[0], out := zeroed_device_array(1, record.dtype))
    assert out[0] == record[0]
    for value in (1e300j, "x"):
        with pytest.raises(TypeError):
            kernel_by_name("pairs")[1, 1](value, out)


def test_void_pointers_accept_any_array(kernel_by_name):
    for array in (
        zeroed_device_array(3, "f4"),
        zeroed_device_array((2, 2), PAIR),
        zeroed_device_array(3, "M8[s]"),
        zeroed_device_array((), "i1"),
        zeroed_device_array(0, "f4"),
    ):
        out = zeroed_device_array(1, "i8")
        kernel_by_name("bytes")[1, 1](array, out)
        assert out[0] == array.address
    with pytest.raises(TypeError, match="contiguous"):
        kernel_by_name("bytes")[1, 1](zeroed_device_array(4, "f4")[::2], out)


# ---- arrays ----
def wrong_arrays(good):
    """Returns (exception, text, array) for arrays that a `float*` or array<float, 2> must reject, made from a
    valid array."""
    return [
        (TypeError, "float64", good.astype("f8")),
        (TypeError, "int32", good.astype("i4")),
        (TypeError, "byte order", good.astype(">f4")),
        (TypeError, "int64 to a kernel", np.zeros(good.shape, "M8[s]")),
        (TypeError, "", np.zeros(good.shape, object)),
        (TypeError, "", np.zeros(good.shape, PAIR)),
        (TypeError, "mask", np.ma.masked_array(good, good > 1)),
    ]


HOST = np.arange(12, dtype="f4").reshape(3, 4)


@pytest.mark.parametrize("kind", ["host", "device", "foreign"])
def test_mismatched_arrays_raise(kernel_by_name, kind):
    def array_of_kind(array):
        if kind == "host":
            return array
        device = _core.device_empty(array.shape, array.dtype)
        device._write(array)
        return device if kind == "device" else ForeignArray(device)

    good = array_of_kind(HOST.copy())
    for exception, text, array in wrong_arrays(HOST):
        if kind != "host" and (array.dtype == object or isinstance(array, np.ma.MaskedArray)):
            continue
        array = array_of_kind(array)
        with pytest.raises(exception, match=f"'y': expected array<float, 2> .*{text}"):
            kernel_by_name("any2")[1, 1](good, array)
        with pytest.raises(exception, match=rf"'x': expected const float\* .*{text}"):
            kernel_by_name("saxpy")[1, 1](1.0, array, good, 1)
    for shape in ((12,), (3, 2, 2), ()):
        with pytest.raises(TypeError, match="it must have 2 dimensions"):
            kernel_by_name("any2")[1, 1](good, array_of_kind(np.zeros(shape, "f4")))


def test_plain_pointers_reject_strided_arrays(kernel_by_name):
    host, device = HOST[:, ::2].copy()[:, ::-1], to_device(HOST)[:, ::2]
    for strided in (host, device, ForeignArray(device), HOST.T, cuda.In(HOST.T)):
        with pytest.raises(TypeError, match="not C-contiguous"):
            kernel_by_name("saxpy")[1, 1](1.0, strided, np.zeros(12, "f4"), 1)


def test_memory_order_selects_the_overload(kernel_by_name):
    c, f = HOST.copy(), np.asfortranarray(HOST)
    for make in (
        lambda a: a,
        lambda a: to_device(np.zeros(12, "f4"))._view(a.shape, a.strides, None),
    ):
        for array in (c, f):
            mine = make(array.copy("K"))
            name, other = ("rows", "columns") if array is c else ("columns", "rows")
            kernel_by_name(name)[1, 1](mine)
            assert mine[(0, 1) if array is c else (1, 0)] == 7
            with pytest.raises(TypeError, match="contiguous"):
                kernel_by_name(other)[1, 1](mine)
    packed = np.zeros((3, 8), "f4")[:, ::2]
    kernel_by_name("rows")[1, 1](
        packed
    )  # host arrays that are neither C nor F contiguous are packed
    assert packed[0, 1] == 7
    with pytest.raises(TypeError, match="Fortran"):
        kernel_by_name("columns")[1, 1](packed)
    with pytest.raises(TypeError, match="C-contiguous"):
        kernel_by_name("rows")[1, 1](to_device(np.zeros((3, 8), "f4"))[:, ::2])


@pytest.mark.parametrize("make", [
    lambda a: a, to_device, lambda a: ForeignArray(to_device(a)), cuda.InOut,
], ids=["host", "device", "foreign", "InOut"])  # fmt: skip
def test_strided_arrays_are_accepted(kernel_by_name, make):
    for index in [np.s_[:, :], np.s_[::2, ::-1], np.s_[::-1, 1:3], np.s_[1:1], np.s_[:, 2:3]]:
        for order in "CF":
            x, y = (np.asarray(filled, order=order) for filled in (HOST, np.zeros((3, 4), "f4")))
            if make is to_device or make(x).__class__ is ForeignArray:
                source, target = to_device(HOST)[index], to_device(np.zeros((3, 4), "f4"))
                view = target[index]
                if make is not to_device:
                    source, view = ForeignArray(source), ForeignArray(view)
                kernel_by_name("any2")[1, 1](source, view)
                result = np.zeros((3, 4), "f4")
                target._read(result)
            else:
                kernel_by_name("any2")[1, 1](x[index], make(y[index]))
                result = y
            expected = np.zeros((3, 4), "f4")
            expected[index] = HOST[index]
            assert (result == expected).all()


def test_host_arrays_are_copied_as_declared(kernel_by_name):
    x, y = np.ones(8, "f4"), np.full(8, 2, "f4")
    frozen = x.copy()
    frozen.flags.writeable = False
    kernel_by_name("saxpy")[1, 8](3.0, frozen, y, 8)
    assert (y == 5).all() and (x == 1).all()
    kernel_by_name("saxpy")[1, 8](3.0, x, cuda.In(y), 8)
    assert (y == 5).all()
    kernel_by_name("saxpy")[1, 8](3.0, cuda.InOut(x), cuda.InOut(y), 8)
    assert (y == 8).all()
    kernel_by_name("saxpy")[1, 8](0.0, cuda.In(frozen), cuda.In(frozen), 8)
    kernel_by_name("saxpy")[1, 8](1.0, cuda.In(to_device(x)), out := to_device(y), 8)
    assert out[3] == 9
    with pytest.raises(ValueError, match=r"'y'.*read-only.*cuda.In"):
        kernel_by_name("saxpy")[1, 8](3.0, x, frozen, 8)
    with pytest.raises(TypeError, match=r"'x'.*cuda.Out"):
        kernel_by_name("saxpy")[1, 8](3.0, cuda.Out(x), y, 8)
    for wrong in (cuda.In([1.0]), cuda.In(None), cuda.In(3.0)):
        with pytest.raises(TypeError, match="'x'"):
            kernel_by_name("saxpy")[1, 8](3.0, wrong, y, 8)


def test_out_is_not_copied_in(kernel_by_name, monkeypatch):
    y = np.full(4, np.nan, "f4")
    calls = traced_calls(lambda: kernel_by_name("f32")[1, 1](2.5, cuda.Out(y[:1])))
    assert y[0] == 2.5 and not any("HtoD" in call for call in calls)
    calls = traced_calls(
        lambda: kernel_by_name("saxpy")[1, 1](1.0, x := np.ones(1, "f4"), x.copy(), 0)
    )
    up = 2 if cuda.is_simulated() else 1  # on a GPU, small arrays are copied by one transfer
    assert (
        sum("HtoD" in call for call in calls) == up and sum("DtoH" in call for call in calls) == 1
    )


def test_array_passed_twice_is_copied_once(kernel_by_name):
    x = np.ones(4, "f4")
    kernel_by_name("both")[1, 1](x, x)
    assert x[0] == 20
    kernel_by_name("both")[1, 1](cuda.In(x), x)  # one of the arrays is written and copied back
    assert x[0] == 210
    x = np.ones(4, "f4")
    kernel_by_name("both")[1, 1](cuda.In(x), cuda.In(x))
    assert x[0] == 1


def test_overlapping_host_arrays_raise(kernel_by_name):
    x = np.ones(16, "f4")
    for a, b in [
        (x[:8], x[4:12]),
        (x[:8], x[:9]),
        (x, x[::-1][::-1].reshape(4, 4)),
        (x[1:], x[: 1 + 1]),
    ]:
        with pytest.raises(ValueError, match=r"both\(\): parameters 1 'a' and 2 'b'.*overlap"):
            kernel_by_name("both")[1, 1](a, b)
    kernel_by_name("both")[1, 1](x[:8], x[8:])
    assert x[0] == 2 and x[8] == 10
    kernel_by_name("saxpy")[1, 1](0.0, cuda.In(x[:8]), cuda.In(x[4:12]), 4)  # only read
    grid = np.zeros((3, 8), "f4")
    kernel_by_name("any2")[1, 1](HOST[:, :4].copy(), grid[:, ::2])
    kernel_by_name("any2")[1, 1](grid[:, ::2], grid[:, 1::2])  # interleaved, not overlapping
    assert (grid[:, 1::2] == HOST).all()
    broadcast = np.lib.stride_tricks.as_strided(x, (3, 4), (0, 4))
    with pytest.raises(ValueError, match="overlap"):
        kernel_by_name("any2")[1, 1](HOST, broadcast)
    y = np.zeros((3, 4), "f4")
    kernel_by_name("any2")[1, 1](np.broadcast_to(np.arange(4, dtype="f4"), (3, 4)), y)
    assert (y == np.arange(4)).all()
    assert x[1] == 1


def test_read_only_foreign_arrays_need_const_parameters(kernel_by_name):
    device = to_device(HOST)
    frozen = ForeignArray(device, data=(device.address, True))
    for array in (frozen, _core.from_interface(frozen)):
        kernel_by_name("any2")[1, 1](array, zeroed_device_array((3, 4), "f4"))
        with pytest.raises(ValueError, match="read-only"):
            kernel_by_name("any2")[1, 1](device, array)


def test_misaligned_arrays_raise(kernel_by_name):
    raw = zeroed_device_array(64, "u1")
    assert raw.address % 4 == 0
    for view in (raw._view((3, 4), None, "f4", 1), raw._view((2, 2), (10, 4), "f4")):
        for array in (view, ForeignArray(view)):
            with pytest.raises(ValueError, match="not aligned to 4 bytes"):
                kernel_by_name("any2")[1, 1](array, zeroed_device_array((3, 4), "f4"))
    packed = np.zeros(13, "u1")[1:].view("f4").reshape(1, 3)
    kernel_by_name("any2")[1, 1](HOST[:1, :3], packed)  # the copy on the device is aligned
    assert (packed == HOST[:1, :3]).all()
    kernel_by_name("any2")[1, 1](
        raw._view((0, 4), None, "f4", 1), zeroed_device_array((0, 4), "f4")
    )


def test_arrays_of_another_device_raise(kernel_by_name):
    if _core.device_count() < 2:
        pytest.skip("one device")
    _core.select_device(1)
    try:
        there, nothing = zeroed_device_array(4, "f4"), zeroed_device_array(0, "f4")
        with pytest.raises(TypeError, match="no kernel"):
            kernel_by_name("nothing")[1, 1]()
    finally:
        _core.select_device(0)
    with pytest.raises(ValueError, match="on device 1, but the kernel runs on device 0"):
        kernel_by_name("saxpy")[1, 1](1.0, there, zeroed_device_array(4, "f4"), 4)
    kernel_by_name("saxpy")[1, 1](1.0, nothing, nothing, 0)


def test_lists_and_other_objects_are_rejected_as_arrays(kernel_by_name):
    out = zeroed_device_array(4, "f4")
    for value, advice in [([1.0], "numpy.array"), ((1.0,), "numpy.array"), (1.0, "single value"),
                          (np.float32(1), "single value"), ("x", "NumPy array"),
                          (memoryview(b"1234"), "NumPy array"), (object(), "NumPy"),
                          (cuda.DeviceNDArray, "NumPy")]:  # fmt: skip
        with pytest.raises(TypeError, match=rf"^saxpy\(\): parameter 2 'x': expected .*{advice}"):
            kernel_by_name("saxpy")[1, 1](1.0, value, out, 4)


def test_invalid_cuda_array_interfaces_raise(kernel_by_name):
    out = zeroed_device_array(4, "f4")
    for field, value in [("shape", (-1,)), ("typestr", "zz"), ("data", (0, False)), ("strides", (1, 2)),
                         ("version", 9), ("stream", 0)]:  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=field):
            kernel_by_name("saxpy")[1, 1](1.0, ForeignArray(out, **{field: value}), out, 4)
    with pytest.raises(NotImplementedError):
        kernel_by_name("saxpy")[1, 1](1.0, ForeignArray(out, mask=1), out, 4)


def test_launch_waits_for_the_producers_stream(kernel_by_name):
    """The launch waits for the producer's work if no stream orders it."""
    stream = _core.Stream(non_blocking=True)
    for entry in (1, 2, stream.handle):
        for launch_on in (0, _core.Stream(), _core.Stream(non_blocking=True), stream):
            x, y = to_device(np.ones(4, "f4")), to_device(np.ones(4, "f4"))
            if launch_on:
                cuda.synchronize()
            kernel_by_name("saxpy")[1, 4, launch_on](
                2.0, ForeignArray(x, stream=entry), ForeignArray(y, stream=entry), 4
            )
            cuda.synchronize()
            assert y[3] == 3


def test_host_arrays_are_copied_back_before_the_launch_returns(kernel_by_name):
    for stream in (_core.Stream(), _core.Stream(non_blocking=True)):
        x, y = np.ones(1000, "f4"), np.zeros(1000, "f4")
        kernel_by_name("saxpy")[10, 100, stream](2.0, x, y, 1000)
        assert (y == 2).all()  # on return


def test_empty_host_arrays_are_accepted(kernel_by_name):
    kernel_by_name("any2")[1, 1](np.zeros((0, 4), "f4"), np.zeros((0, 4), "f4"))
    kernel_by_name("any2")[1, 1](np.zeros((3, 0), "f4"), np.zeros((3, 0), "f4"))


def test_twenty_host_array_arguments_are_copied_back(kernel_by_name):
    source = 'extern "C" __global__ void sum(' + ", ".join(f"float* p{i}" for i in range(20)) + "){" + "".join(
        f"p{i}[0] += {i};" for i in range(20)
    ) + "}"  # fmt: skip
    sum_ = cuda.jit(source)
    arrays = [np.ones(2, "f4") for _ in range(20)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sum_[1, 1](*arrays)
    assert [a[0] for a in arrays] == [i + 1 for i in range(20)]


# ---- many and large parameters ----
def test_kernels_accept_70_parameters(kernel_by_name):
    out = zeroed_device_array(1, "f8")
    kernel_by_name("many")[1, 1](*range(70), out)
    assert out[0] == sum(i * (i + 1) for i in range(70))
    kernel_by_name("many")[1, 1](*range(40), out=out, **{f"p{i}": 1 for i in range(40, 70)})
    assert out[0] == sum((i if i < 40 else 1) * (i + 1) for i in range(70))
    with pytest.raises(TypeError, match="'p69'"):
        kernel_by_name("many")[1, 1](*range(69), "x", out)


def test_kernels_accept_a_parameter_of_1600_bytes(kernel_by_name):
    record = np.zeros((), [("v", "f8", 200)])
    record["v"][0], record["v"][199] = 1.5, 2
    out = zeroed_device_array(1, "f8")
    kernel_by_name("large")[1, 1](record[()], out)
    kernel_by_name("large")[1, 1](record, out)
    assert out[0] == 3.5


# ---- numbers of arguments ----
@pytest.mark.parametrize("call, text", [
    (lambda k: k(), r"saxpy\(\) missing 4 required positional arguments: 'a', 'x', 'y' and 'n'"),
    (lambda k: k(1.0, 2), r"saxpy\(\) missing 2 required positional arguments: 'y' and 'n'"),
    (lambda k: k(1.0, 2, 3), r"saxpy\(\) missing 1 required positional argument: 'n'"),
    (lambda k: k(1, 2, 3, 4, 5), r"saxpy\(\) takes 4 positional arguments but 5 were given"),
    (lambda k: k(1, 2, 3, 4, 5, n=1), r"saxpy\(\) takes 4 positional arguments but 5 were given"),
    (lambda k: k(1, n=2, y=3), r"saxpy\(\) missing 1 required positional argument: 'x'"),
    (lambda k: k(1, 2, 3, 4, n=4), r"saxpy\(\) got multiple values for argument 'n'"),
    (lambda k: k(1, 2, 3, z=4), r"saxpy\(\) got an unexpected keyword argument 'z'"),
    (lambda k: k(é=4), r"saxpy\(\) got an unexpected keyword argument 'é'"),
])  # fmt: skip
def test_wrong_numbers_of_arguments_raise(kernel_by_name, call, text):
    with pytest.raises(TypeError, match=text):
        call(kernel_by_name("saxpy")[1, 1])


def test_keyword_arguments_are_matched(kernel_by_name):
    x, y = to_device(np.ones(4, "f4")), zeroed_device_array(4, "f4")
    launch = kernel_by_name("saxpy")[1, 4]
    launch(n=4, y=y, x=x, a=2.0)
    launch(2.0, x, **{"n" + "": 4, "".join(["y"]): y})
    assert y[0] == 4
    assert kernel_by_name("nothing")[1, 1]() is None
    nameless = _core.Dispatcher("nameless", typed=True)
    nameless._only(0, kernel_by_name.of("saxpy"))
    nameless[1, 4](2.0, x, y, 4)
    with pytest.raises(TypeError, match="no keyword"):
        nameless[1, 4](2.0, x, y, n=4)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'n'"):
        nameless[1, 4](2.0, x, y)
    with pytest.raises(TypeError, match=r"takes 4 positional arguments but 5"):
        nameless[1, 4](2.0, x, y, 4, 5)
