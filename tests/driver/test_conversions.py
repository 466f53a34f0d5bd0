"""Python values into parameter blocks, every conversion and every refusal, and the machinery around it:
modules, kernels, dispatchers and launchers of the extension itself."""

import copy
import enum
import fractions
import gc
import warnings
import weakref

import numpy as np
import pytest

from numbalite import _core, compilers, cuda, describe, errors

SCALARS = {
    "boolean": ("bool", "?"),
    "i8": ("signed char", "i1"),
    "i16": ("short", "i2"),
    "i32": ("int", "i4"),
    "i64": ("long long", "i8"),
    "u8": ("unsigned char", "u1"),
    "u16": ("unsigned short", "u2"),
    "u32": ("unsigned int", "u4"),
    "u64": ("unsigned long long", "u8"),
    "f16": ("float16", "f2"),
    "f32": ("float", "f4"),
    "f64": ("double", "f8"),
    "c64": ("complex<float>", "c8"),
    "c128": ("complex<double>", "c16"),
}
# extern "C": the lowered names are the names.
SOURCE = "\n".join(
    [
        '#include "numbalite.cuh"',
        '#include "numbalite/complex.cuh"',
        "using namespace numbalite;",
        "struct pair { int n; float x; };",
        # 16 bits are 16 bits, and cuda_fp16.h is long
        'extern "C" __global__ void f16(unsigned short value, unsigned short* out) { *out = value; }',
        *(
            f'extern "C" __global__ void {name}({ctype} value, {ctype}* out) {{ *out = value; }}'
            for name, (ctype, _) in SCALARS.items()
            if name != "f16"
        ),
        'extern "C" __global__ void saxpy(float a, const float* x, float* y, int n)'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }",
        'extern "C" __global__ void any2(array<const float, 2> x, array<float, 2> y)'
        "{ for (int i = 0; i < x.shape[0]; ++i) for (int j = 0; j < x.shape[1]; ++j) y(i, j) = x(i, j); }",
        'extern "C" __global__ void rows(array<float, 2, layout::C> x) { x(0, 1) = 7; }',
        'extern "C" __global__ void columns(array<float, 2, layout::F> x) { x(1, 0) = 7; }',
        'extern "C" __global__ void record(pair p, pair* out) { *out = p; }',
        'extern "C" __global__ void pairs(float2 v, float2* out) { *out = v; }',
        'extern "C" __global__ void bytes(const void* p, long long* out) { *out = (long long)p; }',
        'extern "C" __global__ void both(float* a, float* b) { a[0] += 1; b[0] *= 10; }',
        'extern "C" __global__ void many(' + ", ".join(f"double p{i}" for i in range(70)) + ", double* out)"
        "{ *out = " + " + ".join(f"p{i} * {i + 1}" for i in range(70)) + "; }",
        "struct big { double v[200]; };",
        'extern "C" __global__ void large(big b, double* out) { *out = b.v[0] + b.v[199]; }',
        'extern "C" __global__ void shared(int* out)'
        "{ extern __shared__ int s[]; s[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }",
        'extern "C" __global__ void where(unsigned* out)'
        "{ out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z; out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z; }",
        'extern "C" __global__ void nothing() {}',
        'extern "C" { __device__ int fault_record[64]; __constant__ float table[6]; }',
        'extern "C" __global__ void faulty(int* out, int value) { if (value) { fault_record[0] = value; fault_record[5] = 42; } *out = value; }',
        'extern "C" __global__ void look_up(float* out) { for (int i = 0; i < 6; ++i) out[i] = table[i]; }',
    ]
)
NAMES = [*SCALARS, "saxpy", "any2", "rows", "columns", "record", "pairs", "bytes", "both", "many", "large",
         "shared", "where", "nothing", "faulty", "look_up"]  # fmt: skip
ARGUMENTS = {
    "saxpy": "a x y n", "any2": "x y", "rows": "x", "columns": "x", "record": "p out", "pairs": "v out",
    "bytes": "p out", "both": "a b", "many": " ".join(f"p{i}" for i in range(70)) + " out",
    "large": "b out", "shared": "out", "where": "out", "nothing": "", "faulty": "out value",
    "look_up": "out",
}  # fmt: skip
PAIR = np.dtype([("n", "i4"), ("x", "f4")])


@pytest.fixture(scope="module")
def image():
    unit = compilers.Unit(source=SOURCE, name="conversions.cu", kernels=tuple(NAMES),
                          variables=("fault_record", "table"), describe=True)  # fmt: skip
    if cuda.is_simulated():
        target = ("sim",)
    else:
        target = ("cuda", *cuda.get_current_device().compute_capability)
    return compilers.compile_unit(unit, target)


@pytest.fixture(scope="module")
def module(image):
    return _core.Module(image.data)


def parameters_of(image, name):
    names = ARGUMENTS.get(name, "value out").split()
    rows = describe.parameters(image.descriptions[name])
    if name == "f16":
        rows = [row._replace(dtype="float16", ctype="float16") for row in rows]
    return [row._replace(name=n) for row, n in zip(rows, names, strict=True)]


@pytest.fixture(scope="module")
def kernel(image, module):
    """kernel(name) -> a typed dispatcher with that kernel on device 0."""
    made = {}

    def get(name, **options):
        key = name, *options
        if key not in made:
            rows = parameters_of(image, name)
            found = module.function(image.lowered[name], name, rows)
            dispatcher = _core.Dispatcher(name, [row.name for row in rows], typed=True, **options)
            dispatcher._only(0, found)
            made[key] = dispatcher
        return made[key]

    return get


def empty(shape, dtype):
    device = _core.device_empty(shape, dtype)
    device._fill(np.zeros((), dtype))
    return device


def on_device(host):
    device = _core.device_empty(host.shape, host.dtype)
    device._write(host)
    return device


class Foreign:
    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


class Level(enum.IntEnum):
    LOW = 3


class Seven:
    def __index__(self):
        return 7


class Half(float):
    pass


def device_scalar(value, dtype):
    return on_device(np.array(value, dtype))


ZERO_D = [
    lambda v, t: np.array(v, t),
    lambda v, t: np.dtype(t).type(v),
    device_scalar,
    lambda v, t: Foreign(device_scalar(v, t)),
]


# ---- numbers ----
@pytest.mark.parametrize("name", SCALARS)
def test_numbers_that_fit(kernel, name):
    dtype = np.dtype(SCALARS[name][1])
    values = [0, 1, True, False, np.bool_(True)]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values += [info.min, info.max, Level.LOW, Seven(), np.int8(5), np.uint64(5), np.longlong(3)]
        values += [np.array(info.max, dtype), np.array(5, "i8")]
    elif dtype.kind == "f":
        info = np.finfo(dtype)
        values += [1.5, -2.25, 3, Half(0.5), float(info.max), float(info.tiny), float("inf"), 0.1]
        values += [np.float16(1.5), np.float32(0.1), np.float64(0.1), np.longdouble(0.25), Seven()]
        values += [fractions.Fraction(1, 4), np.int16(-4), np.array(2.5), -0.0]
    elif dtype.kind == "c":
        values += [1.5, 1 + 2j, np.complex64(1j), np.complex128(3 - 1j), np.clongdouble(2j), 7]
        values += [np.float32(0.5), np.array(1j), complex(float("inf"), -0.0)]
    launch = kernel(name)[1, 1]
    for value in values:
        out = empty(1, dtype)
        launch(value, out)
        plain = value.__index__() if isinstance(value, Seven) else value
        plain = float(plain) if isinstance(plain, fractions.Fraction) else plain
        with np.errstate(over="ignore"):
            expected = np.asarray(plain).astype(dtype)[()]
        assert out[0].tobytes() == expected.tobytes(), value
    for make in ZERO_D:
        out = empty(1, dtype)
        launch(make(1, dtype), out)
        assert out[0] == 1


@pytest.mark.parametrize("name", SCALARS)
def test_numbers_that_do_not_fit(kernel, name):
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
    out = empty(1, dtype)
    for value in values:
        with pytest.raises(OverflowError, match=rf"^{name}\(\): parameter 1 'value': expected ") as caught:
            kernel(name)[1, 1](value, out)
        assert f"expected {ctype} (" in str(caught.value)
    assert out[0] == 0


@pytest.mark.parametrize("name", SCALARS)
def test_values_of_another_kind(kernel, name):
    ctype, dtype = SCALARS[name]
    dtype = np.dtype(dtype)
    out = empty(1, dtype)
    values = ["1", b"1", None, [1], (1,), {}, object(), int, np.zeros(1), np.zeros((1, 1)), np.array(["x"]),
              np.datetime64(1, "s"), np.timedelta64(1, "s"), np.str_("1"), np.array(None), np.array(1, "M8[s]"),
              np.array(1, ">i4"), np.zeros((), PIECE := [("x", "i4")])[()], np.zeros((), PIECE), empty(1, "i4"),
              Foreign(empty(1, "i4")), cuda.In(np.zeros(1)), np.ma.masked_array(1)]  # fmt: skip
    if dtype.kind in "biu":
        values += [1.0, 0.5, np.float32(1), np.array(1.0), 1j, fractions.Fraction(1, 1)]
    if dtype.kind in "biuf":
        values += [1j, np.complex64(1), np.array(1j)]
    for value in values:
        with pytest.raises(TypeError, match=rf"^{name}\(\): parameter 1 'value': expected ") as caught:
            kernel(name)[1, 1](value, out)
        text = str(caught.value)
        assert f"expected {ctype} (" in text and ", got " in text
    assert out[0] == 0


def test_exceptions_of_the_values_come_through(kernel):
    class Broken:
        def __index__(self):
            raise ZeroDivisionError

    class Wrong:
        def __float__(self):
            return "no"

    class BrokenInterface:
        @property
        def __cuda_array_interface__(self):
            raise ZeroDivisionError

    out = empty(1, "i4")
    with pytest.raises(ZeroDivisionError):
        kernel("i32")[1, 1](Broken(), out)
    with pytest.raises(ZeroDivisionError):
        kernel("i32")[1, 1](1, BrokenInterface())
    with pytest.raises(ZeroDivisionError):
        kernel("i32")[1, 1](BrokenInterface(), out)
    with pytest.raises(TypeError):
        kernel("f32")[1, 1](Wrong(), out)
    assert out[0] == 0


def test_half_precision_is_rounded_once(kernel):
    rng = np.random.default_rng(1)
    values = rng.standard_normal(200) * 10.0 ** rng.integers(-9, 5, 200)
    out = empty(1, "f2")
    for value in [*values.tolist(), 65519.0, 2.0**-25, 3 * 2.0**-26, 5.9604644775390625e-08]:
        kernel("f16")[1, 1](value, out)
        assert out[0].tobytes() == np.float16(value).tobytes()


# ---- records ----
def test_records_by_value(kernel):
    array = np.zeros(3, PAIR)
    array[1] = (5, 1.5)
    for value in (array[1], array[1:2].reshape(()), device_scalar((5, 1.5), PAIR), on_device(array)[1]):
        out = empty(1, PAIR)
        kernel("record")[1, 1](value, out)
        assert out[0] == array[1]
    other = np.dtype([("n", "i4"), ("x", "f8")])
    out = empty(1, PAIR)
    for value in (np.zeros((), other)[()], array, 1, 1.0, 1j, np.complex64(1), b"12345678", None, (1, 2.0),
                  np.zeros((), [("n", ">i4"), ("x", "f4")])[()], on_device(array), np.int64(3)):  # fmt: skip
        with pytest.raises(TypeError, match=r"parameter 1 'p': expected pair \(a NumPy record of 8 bytes\)"):
            kernel("record")[1, 1](value, out)
    for wrong in (empty(1, "f8"), empty(1, "c8"), empty(1, other), np.zeros(1, "i8")):
        with pytest.raises(TypeError, match="'out'"):
            kernel("record")[1, 1](array[1], wrong)


def test_pairs_take_complex_numbers(kernel):
    for value in (1 + 2j, np.complex64(1 + 2j), np.complex128(1 + 2j)):
        out = empty(1, "c8")
        kernel("pairs")[1, 1](value, out)
        assert out[0] == 1 + 2j
    record = np.array([(1, 2)], [("x", "f4"), ("y", "f4")])
    kernel("pairs")[1, 1](record[0], out := empty(1, record.dtype))
    assert out[0] == record[0]
    for value in (1e300j, "x"):
        with pytest.raises(TypeError):
            kernel("pairs")[1, 1](value, out)


def test_void_pointers_take_everything(kernel):
    for array in (empty(3, "f4"), empty((2, 2), PAIR), empty(3, "M8[s]"), empty((), "i1"), empty(0, "f4")):
        out = empty(1, "i8")
        kernel("bytes")[1, 1](array, out)
        assert out[0] == array.address
    with pytest.raises(TypeError, match="contiguous"):
        kernel("bytes")[1, 1](empty(4, "f4")[::2], out)


# ---- arrays ----
def wrong_arrays(good):
    """(exception, text, array) that a `float*` or array<float, 2> must refuse, made from a good one."""
    return [
        (TypeError, "float64", good.astype("f8")),
        (TypeError, "int32", good.astype("i4")),
        (TypeError, "byte order", good.astype(">f4")),
        (TypeError, "view", np.zeros(good.shape, "M8[s]")),
        (TypeError, "", np.zeros(good.shape, object)),
        (TypeError, "", np.zeros(good.shape, PAIR)),
        (TypeError, "mask", np.ma.masked_array(good, good > 1)),
    ]


HOST = np.arange(12, dtype="f4").reshape(3, 4)


@pytest.mark.parametrize("kind", ["host", "device", "foreign"])
def test_arrays_that_are_refused(kernel, kind):
    def as_kind(array):
        if kind == "host":
            return array
        device = _core.device_empty(array.shape, array.dtype)
        device._write(array)
        return device if kind == "device" else Foreign(device)

    good = as_kind(HOST.copy())
    for exception, text, array in wrong_arrays(HOST):
        if kind != "host" and (array.dtype == object or isinstance(array, np.ma.MaskedArray)):
            continue
        array = as_kind(array)
        with pytest.raises(exception, match=f"'y': expected array<float, 2> .*{text}"):
            kernel("any2")[1, 1](good, array)
        with pytest.raises(exception, match=rf"'x': expected const float\* .*{text}"):
            kernel("saxpy")[1, 1](1.0, array, good, 1)
    for shape in ((12,), (3, 2, 2), ()):
        with pytest.raises(TypeError, match="it must have 2 dimensions"):
            kernel("any2")[1, 1](good, as_kind(np.zeros(shape, "f4")))


def test_strides_and_plain_pointers(kernel):
    host, device = HOST[:, ::2].copy()[:, ::-1], on_device(HOST)[:, ::2]
    for strided in (host, device, Foreign(device), HOST.T, cuda.In(HOST.T)):
        with pytest.raises(TypeError, match="not C-contiguous"):
            kernel("saxpy")[1, 1](1.0, strided, np.zeros(12, "f4"), 1)


def test_orders(kernel):
    c, f = HOST.copy(), np.asfortranarray(HOST)
    for make in (lambda a: a, lambda a: on_device(np.zeros(12, "f4"))._view(a.shape, a.strides, None)):
        for array in (c, f):
            mine = make(array.copy("K"))
            name, other = ("rows", "columns") if array is c else ("columns", "rows")
            kernel(name)[1, 1](mine)
            assert mine[(0, 1) if array is c else (1, 0)] == 7
            with pytest.raises(TypeError, match="contiguous"):
                kernel(other)[1, 1](mine)
    packed = np.zeros((3, 8), "f4")[:, ::2]
    kernel("rows")[1, 1](packed)  # host arrays in neither order are packed
    assert packed[0, 1] == 7
    with pytest.raises(TypeError, match="Fortran"):
        kernel("columns")[1, 1](packed)
    with pytest.raises(TypeError, match="C-contiguous"):
        kernel("rows")[1, 1](on_device(np.zeros((3, 8), "f4"))[:, ::2])


@pytest.mark.parametrize("make", [
    lambda a: a, on_device, lambda a: Foreign(on_device(a)), cuda.InOut,
], ids=["host", "device", "foreign", "InOut"])  # fmt: skip
def test_strided_arrays(kernel, make):
    for index in [np.s_[:, :], np.s_[::2, ::-1], np.s_[::-1, 1:3], np.s_[1:1], np.s_[:, 2:3]]:
        for order in "CF":
            x, y = (np.asarray(filled, order=order) for filled in (HOST, np.zeros((3, 4), "f4")))
            if make is on_device or make(x).__class__ is Foreign:
                source, target = on_device(HOST)[index], on_device(np.zeros((3, 4), "f4"))
                view = target[index]
                if make is not on_device:
                    source, view = Foreign(source), Foreign(view)
                kernel("any2")[1, 1](source, view)
                result = np.zeros((3, 4), "f4")
                target._read(result)
            else:
                kernel("any2")[1, 1](x[index], make(y[index]))
                result = y
            expected = np.zeros((3, 4), "f4")
            expected[index] = HOST[index]
            assert (result == expected).all()


def test_transfers(kernel):
    x, y = np.ones(8, "f4"), np.full(8, 2, "f4")
    frozen = x.copy()
    frozen.flags.writeable = False
    kernel("saxpy")[1, 8](3.0, frozen, y, 8)
    assert (y == 5).all() and (x == 1).all()
    kernel("saxpy")[1, 8](3.0, x, cuda.In(y), 8)
    assert (y == 5).all()
    kernel("saxpy")[1, 8](3.0, cuda.InOut(x), cuda.InOut(y), 8)
    assert (y == 8).all()
    kernel("saxpy")[1, 8](0.0, cuda.In(frozen), cuda.In(frozen), 8)
    kernel("saxpy")[1, 8](1.0, cuda.In(on_device(x)), out := on_device(y), 8)
    assert out[3] == 9
    with pytest.raises(ValueError, match=r"'y'.*read-only.*cuda.In"):
        kernel("saxpy")[1, 8](3.0, x, frozen, 8)
    with pytest.raises(TypeError, match=r"'x'.*cuda.Out"):
        kernel("saxpy")[1, 8](3.0, cuda.Out(x), y, 8)
    for wrong in (cuda.In([1.0]), cuda.In(None), cuda.In(3.0)):
        with pytest.raises(TypeError, match="'x'"):
            kernel("saxpy")[1, 8](3.0, wrong, y, 8)


def test_out_is_not_copied_in(kernel, monkeypatch):
    y = np.full(4, np.nan, "f4")
    _core.trace(True)
    kernel("f32")[1, 1](2.5, cuda.Out(y[:1]))
    calls = _core.traced()
    _core.trace(False)
    assert y[0] == 2.5 and not any("HtoD" in call for call in calls)
    _core.trace(True)
    kernel("saxpy")[1, 1](1.0, x := np.ones(1, "f4"), x.copy(), 0)
    calls = _core.traced()
    _core.trace(False)
    assert sum("HtoD" in call for call in calls) == 2 and sum("DtoH" in call for call in calls) == 1


def test_one_array_twice(kernel):
    x = np.ones(4, "f4")
    kernel("both")[1, 1](x, x)
    assert x[0] == 20
    kernel("both")[1, 1](cuda.In(x), x)  # one of them is written: it comes back
    assert x[0] == 210
    x = np.ones(4, "f4")
    kernel("both")[1, 1](cuda.In(x), cuda.In(x))
    assert x[0] == 1


def test_overlaps(kernel):
    x = np.ones(16, "f4")
    for a, b in [(x[:8], x[4:12]), (x[:8], x[:9]), (x, x[::-1][::-1].reshape(4, 4)), (x[1:], x[:1 + 1])]:
        with pytest.raises(ValueError, match=r"both\(\): parameters 1 'a' and 2 'b'.*overlap"):
            kernel("both")[1, 1](a, b)
    kernel("both")[1, 1](x[:8], x[8:])
    assert x[0] == 2 and x[8] == 10
    kernel("saxpy")[1, 1](0.0, cuda.In(x[:8]), cuda.In(x[4:12]), 4)  # only read
    grid = np.zeros((3, 8), "f4")
    kernel("any2")[1, 1](HOST[:, :4].copy(), grid[:, ::2])
    kernel("any2")[1, 1](grid[:, ::2], grid[:, 1::2])  # interleaved, not overlapping
    assert (grid[:, 1::2] == HOST).all()
    broadcast = np.lib.stride_tricks.as_strided(x, (3, 4), (0, 4))
    with pytest.raises(ValueError, match="overlap"):
        kernel("any2")[1, 1](HOST, broadcast)
    y = np.zeros((3, 4), "f4")
    kernel("any2")[1, 1](np.broadcast_to(np.arange(4, dtype="f4"), (3, 4)), y)
    assert (y == np.arange(4)).all()
    assert x[1] == 1


def test_a_read_only_foreign_array(kernel):
    device = on_device(HOST)
    frozen = Foreign(device, data=(device.address, True))
    for array in (frozen, _core.from_interface(frozen)):
        kernel("any2")[1, 1](array, empty((3, 4), "f4"))
        with pytest.raises(ValueError, match="read-only"):
            kernel("any2")[1, 1](device, array)


def test_misaligned_arrays(kernel):
    raw = empty(64, "u1")
    assert raw.address % 4 == 0
    for view in (raw._view((3, 4), None, "f4", 1), raw._view((2, 2), (10, 4), "f4")):
        for array in (view, Foreign(view)):
            with pytest.raises(ValueError, match="not aligned to 4 bytes"):
                kernel("any2")[1, 1](array, empty((3, 4), "f4"))
    packed = np.zeros(13, "u1")[1:].view("f4").reshape(1, 3)
    kernel("any2")[1, 1](HOST[:1, :3], packed)  # the copy on the device is aligned
    assert (packed == HOST[:1, :3]).all()
    kernel("any2")[1, 1](raw._view((0, 4), None, "f4", 1), empty((0, 4), "f4"))


def test_arrays_of_another_device(kernel):
    if _core.device_count() < 2:
        pytest.skip("one device")
    _core.select_device(1)
    try:
        there, nothing = empty(4, "f4"), empty(0, "f4")
        with pytest.raises(TypeError, match="no kernel"):
            kernel("nothing")[1, 1]()
    finally:
        _core.select_device(0)
    with pytest.raises(ValueError, match="on device 1, but the kernel runs on device 0"):
        kernel("saxpy")[1, 1](1.0, there, empty(4, "f4"), 4)
    kernel("saxpy")[1, 1](1.0, nothing, nothing, 0)


def test_lists_and_other_things_are_no_arrays(kernel):
    out = empty(4, "f4")
    for value, advice in [([1.0], "numpy.array"), ((1.0,), "numpy.array"), (1.0, "single value"),
                          (np.float32(1), "single value"), (None, "NumPy array"), ("x", "NumPy array"),
                          (out.address, "array"), (memoryview(b"1234"), "NumPy array"), (object(), "NumPy"),
                          (cuda.DeviceNDArray, "NumPy")]:  # fmt: skip
        with pytest.raises(TypeError, match=rf"^saxpy\(\): parameter 2 'x': expected .*{advice}"):
            kernel("saxpy")[1, 1](1.0, value, out, 4)


def test_wrong_interfaces(kernel):
    out = empty(4, "f4")
    for field, value in [("shape", (-1,)), ("typestr", "zz"), ("data", (0, False)), ("strides", (1, 2)),
                         ("version", 9), ("stream", 0)]:  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=field):
            kernel("saxpy")[1, 1](1.0, Foreign(out, **{field: value}), out, 4)
    with pytest.raises(NotImplementedError):
        kernel("saxpy")[1, 1](1.0, Foreign(out, mask=1), out, 4)


def test_streams_of_producers(kernel):
    """Work of the producer is waited for where nothing else orders it."""
    stream = _core.Stream(non_blocking=True)
    for entry in (1, 2, stream.handle):
        for launch_on in (0, _core.Stream(), _core.Stream(non_blocking=True), stream):
            x, y = on_device(np.ones(4, "f4")), on_device(np.ones(4, "f4"))
            if launch_on:
                cuda.synchronize()
            kernel("saxpy")[1, 4, launch_on](2.0, Foreign(x, stream=entry), Foreign(y, stream=entry), 4)
            cuda.synchronize()
            assert y[3] == 3


def test_host_arrays_on_streams(kernel):
    for stream in (_core.Stream(), _core.Stream(non_blocking=True)):
        x, y = np.ones(1000, "f4"), np.zeros(1000, "f4")
        kernel("saxpy")[10, 100, stream](2.0, x, y, 1000)
        assert (y == 2).all()  # on return


def test_empty_host_arrays(kernel):
    kernel("any2")[1, 1](np.zeros((0, 4), "f4"), np.zeros((0, 4), "f4"))
    kernel("any2")[1, 1](np.zeros((3, 0), "f4"), np.zeros((3, 0), "f4"))


def test_more_host_arrays_than_usual(image, module):
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
def test_many_parameters(kernel):
    out = empty(1, "f8")
    kernel("many")[1, 1](*range(70), out)
    assert out[0] == sum(i * (i + 1) for i in range(70))
    kernel("many")[1, 1](*range(40), out=out, **{f"p{i}": 1 for i in range(40, 70)})
    assert out[0] == sum((i if i < 40 else 1) * (i + 1) for i in range(70))
    with pytest.raises(TypeError, match="'p69'"):
        kernel("many")[1, 1](*range(69), "x", out)


def test_large_parameters(kernel):
    record = np.zeros((), [("v", "f8", 200)])
    record["v"][0], record["v"][199] = 1.5, 2
    out = empty(1, "f8")
    kernel("large")[1, 1](record[()], out)
    kernel("large")[1, 1](record, out)
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
    (lambda k: k(**{"é": 4}), r"saxpy\(\) got an unexpected keyword argument 'é'"),
])  # fmt: skip
def test_wrong_numbers_of_arguments(kernel, call, text):
    with pytest.raises(TypeError, match=text):
        call(kernel("saxpy")[1, 1])


def test_keywords(kernel):
    x, y = on_device(np.ones(4, "f4")), empty(4, "f4")
    launch = kernel("saxpy")[1, 4]
    launch(n=4, y=y, x=x, a=2.0)
    launch(2.0, x, **{"n" + "": 4, "".join(["y"]): y})
    assert y[0] == 4
    assert kernel("nothing")[1, 1]() is None
    nameless = _core.Dispatcher("nameless", typed=True)
    nameless._only(0, kernel_of(kernel("saxpy")))
    nameless[1, 4](2.0, x, y, 4)
    with pytest.raises(TypeError, match="no keyword"):
        nameless[1, 4](2.0, x, y, n=4)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'n'"):
        nameless[1, 4](2.0, x, y)
    with pytest.raises(TypeError, match=r"takes 4 positional arguments but 5"):
        nameless[1, 4](2.0, x, y, 4, 5)


_KERNELS = {}


def kernel_of(dispatcher):
    """The Kernel behind a dispatcher of the fixture."""
    found = [o for o in gc.get_referents(dispatcher) if isinstance(o, _core.Kernel)]
    return found[0]


# ---- configurations ----
@pytest.mark.parametrize("grid, block, expected", [
    (2, 3, (2, 1, 1, 3, 1, 1)),
    ((2, 3), (4, 5), (2, 3, 1, 4, 5, 1)),
    ([2, 3, 4], [5, 6, 7], (2, 3, 4, 5, 6, 7)),
    (np.int8(2), (np.int64(3), Seven(), True + 0), (2, 1, 1, 3, 7, 1)),
], ids=repr)  # fmt: skip
def test_configurations(kernel, grid, block, expected):
    out = empty(6, "u4")
    launcher = kernel("where")[grid, block]
    launcher(out)
    assert tuple(out[i] for i in range(6)) == expected
    assert launcher.config == (expected[:3], expected[3:], 0, 0)
    assert (launcher.griddim, launcher.blockdim) == (expected[:3], expected[3:])
    assert launcher.dispatcher is kernel("where")
    stream = _core.Stream()
    launcher = kernel("where")[grid, block, stream, 16]
    assert launcher.config == (expected[:3], expected[3:], stream, 16)
    launcher(out)


@pytest.mark.parametrize("exception, key", [
    (ValueError, 1), (ValueError, (1,)), (ValueError, ()), (ValueError, (1, 1, 0, 0, 0)),
    (TypeError, (1.0, 1)), (TypeError, (1, "1")), (TypeError, (None, 1)), (TypeError, ((1, 1.5), 1)),
    (TypeError, (True, 1)), (TypeError, (np.zeros(2), 1)), (ValueError, ((), 1)),
    (ValueError, ((1,) * 4, 1)), (ValueError, (-1, 1)), (ValueError, (1, 2**32)), (ValueError, (1, 2**70)),
    (ValueError, (1, -(2**70))), (ValueError, (1, (np.uint64(2**40), 1))),
    (TypeError, (1, 1, "s")), (TypeError, (1, 1, 1.5)), (TypeError, (1, 1, object())),
    (TypeError, (1, 1, 0, 1.5)), (TypeError, (1, 1, 0, None)), (ValueError, (1, 1, 0, -1)),
    (ValueError, (1, 1, 0, 2**40)), (ValueError, (1, 1, 0, 2**70)),
], ids=repr)  # fmt: skip
def test_configurations_that_are_none(kernel, exception, key):
    with pytest.raises(exception):
        kernel("nothing")[key]


def test_limits_come_before_arguments(kernel):
    device = cuda.get_current_device()
    threads, z = device.MAX_THREADS_PER_BLOCK, device.MAX_BLOCK_DIM_Z
    for grid, block, shared, text in [
        (1, threads + 1, 0, rf"{threads + 1}.*limit of {threads}\b"),
        (1, (32, 64, 2), 0, rf"\(32, 64, 2\) has 4096 threads.*{threads} threads per block"),
        (1, (1, 1, z + 1), 0, rf"block dimension z is {z + 1}.*limit of {z}"),
        ((1, 65536), 1, 0, "grid dimension y is 65536.*limit of 65535"),
        (0, 1, 0, "grid dimension x is 0"),
        (1, (1, 0), 0, "block dimension y is 0"),
        (1, 1, 1 << 30, r"shared memory.*limit of \d+ bytes"),
    ]:
        for name in ("saxpy", "nothing"):
            with pytest.raises(ValueError, match=rf"^{name}\(\): .*{text}"):
                kernel(name)[grid, block, 0, shared]("wrong", "arguments")


def test_dynamic_shared_memory(kernel):
    """Above 48 KiB the kernel is opted in, once."""
    out = empty(64, "i4")
    for size in (64 * 4, 49152, 50000, 60000, 1024):
        kernel("shared")[1, 64, 0, size](out)
        assert [out[i] for i in (0, 1, 63)] == [63, 62, 0]
    _core.trace(True)
    kernel("shared")[1, 64, 0, 60000](out)
    kernel("shared")[1, 64, 0, 61000](out)
    kernel("shared")[1, 64, 0, 61000](out)
    calls = _core.traced()
    _core.trace(False)
    assert sum("FuncSetAttribute" in call for call in calls) == 1


def test_no_driver_call_but_the_launch(kernel):
    x, y = on_device(np.ones(4, "f4")), empty(4, "f4")
    launch, stream = kernel("saxpy")[1, 4], _core.Stream()
    launch(2.0, x, y, 4)
    kernel("saxpy")[1, 4, stream](2.0, x, y, 4)
    _core.trace(True)
    launch(2.0, x, y, 4)
    launch(np.float64(2), x, Foreign(y), n=np.int32(4))
    kernel("saxpy")[1, 4](2, x, y, 4)
    kernel("saxpy")[1, 4, stream](2, x, y, 4)
    calls = _core.traced()
    _core.trace(False)
    if _core.device_count() > 1:  # where it is asked which of them is current
        calls = [call for call in calls if call != "cuCtxGetCurrent"]
    assert calls == ["cuLaunchKernel"] * 4


def test_cooperative_and_cluster_launches(kernel, image, module):
    out = empty(6, "u4")
    together = kernel("where", cooperative=True)
    together[2, 32](out)
    assert out[0] == 2
    with pytest.raises(ValueError, match=r"cooperative grid of \d+ blocks.*limit of \d+"):
        together[(65535, 65535), 1024](out)
    clustered = _core.Dispatcher("where", ["out"], typed=True, cluster=(2, 1, 1))
    clustered._only(0, kernel_of(kernel("where")))
    with pytest.raises(ValueError, match="grid dimension x is 3, which is no multiple of the cluster's 2"):
        clustered[3, 32](out)
    if not cuda.is_simulated() and cuda.get_current_device().compute_capability >= (9, 0):
        clustered[4, 32](out)
        assert out[0] == 4


def test_no_configuration(kernel):
    with pytest.raises(ValueError, match="launch configuration"):
        kernel("nothing")()
    with pytest.raises(TypeError):
        _core.Launcher()


# ---- dispatchers without a signature ----
class Lazy(_core.Dispatcher):
    def __init__(self, kernels, names=("value", "out")):
        super().__init__("lazy", names)
        self.kernels = kernels
        self.asked = []

    def _resolve(self, device, codes, args):
        codes = tuple(code & 0xFF for code in np.frombuffer(codes, "<u4"))
        self.asked.append((device, codes, args))
        found = self.kernels.get(codes)
        if isinstance(found, Exception):
            raise found
        return found


CODES = {"i64": 5, "u64": 9, "f64": 12, "f32": 11, "boolean": 1, "c128": 14}


@pytest.fixture
def lazy(kernel):
    return Lazy({(c, c): kernel_of(kernel(name)) for name, c in CODES.items()})


def test_kernels_are_asked_for_once(lazy):
    outs = {dtype: empty(1, dtype) for dtype in ("i8", "u8", "f8", "f4", "?", "c16")}
    bound = lazy[1, 1]
    calls = [(3, "i8"), (2**63, "u8"), (2.5, "f8"), (np.float32(1.5), "f4"), (True, "?"), (2j, "c16"),
             (np.int64(-3), "i8"), (device_scalar(7, "i8"), "i8"), (np.array(2.25), "f8")]  # fmt: skip
    for _ in range(3):
        for value, dtype in calls:
            for launch in (bound, lazy[1, 1], lazy[1, (1, 1)]):
                outs[dtype]._fill(np.zeros((), dtype))
                launch(value, outs[dtype])
                expected = value if not isinstance(value, _core.DeviceArray) else value[()]
                assert outs[dtype][0] == expected
                launch(value, Foreign(outs[dtype]))
                launch(value, out=outs[dtype])
    assert len(lazy.asked) == 6
    device, codes, args = lazy.asked[0]
    assert device == 0 and codes == (5, 5) and args == (3, outs["i8"])


def test_what_a_resolver_may_do_wrong(lazy, kernel):
    out = empty(1, "i8")
    lazy.kernels = {(5, 5): ZeroDivisionError("mine")}
    with pytest.raises(ZeroDivisionError, match="mine"):
        lazy[1, 1](1, out)
    for wrong in (None, 3, kernel("i64"), "kernel"):
        lazy.kernels = {(5, 5): wrong}
        with pytest.raises(TypeError, match="Kernel is needed"):
            lazy[1, 1](1, out)
    lazy.kernels = {(5, 5): kernel_of(kernel("saxpy"))}
    with pytest.raises(TypeError, match="missing 2"):
        lazy[1, 1](1, out)
    assert out[0] == 0
    plain = _core.Dispatcher("plain", ["x"])
    with pytest.raises(TypeError, match=r"plain\(\): there is no kernel"):
        plain[1, 1](1)
    with pytest.raises(TypeError, match="Kernel is needed"):
        plain._only(0, None)
    with pytest.raises(ValueError, match="4 bytes"):
        plain._add(0, b"123", kernel_of(kernel("i64")))
    with pytest.raises(TypeError):
        plain._add(0, "1234", None)
    if _core.device_count() > 1:
        with pytest.raises(ValueError, match="loaded on device 0"):
            plain._only(1, kernel_of(kernel("i64")))
    with pytest.raises(IndexError):
        plain._only(99, kernel_of(kernel("i64")))


def test_a_resolver_that_moves_to_another_device(lazy):
    if _core.device_count() < 2:
        pytest.skip("one device")
    resolve = lazy.kernels.copy()

    class Moving(dict):
        def get(self, codes):
            _core.select_device(1)
            return resolve[codes]

    lazy.kernels = Moving()
    out = empty(1, "i8")
    try:
        lazy[1, 1](5, out)
    finally:
        _core.select_device(0)
    assert out[0] == 5


def test_what_a_lazy_kernel_does_not_take(lazy):
    out = empty(1, "i8")
    for value in ("s", None, [1], object(), np.zeros(2, "M8[s]"), np.zeros(2, ">i4"), np.datetime64(1, "s")):
        with pytest.raises(TypeError, match=r"^lazy\(\): parameter 1 'value': .* cannot be passed"):
            lazy[1, 1](value, out)
    with pytest.raises(OverflowError, match=r"^lazy\(\): parameter 1 'value'"):
        lazy[1, 1](2**64, out)
    with pytest.raises(TypeError, match="missing 1"):
        lazy[1, 1](1)
    with pytest.raises(ValueError, match="grid dimension x is 0"):
        lazy[0, 1]("not even looked at")
    assert not lazy.asked


def test_kernels_can_be_added_and_forgotten(lazy, kernel):
    out = empty(1, "f8")
    codes = _core.typecodes((1.0, out))
    lazy._add(0, codes, kernel_of(kernel("f64")))
    bound = lazy[1, 1]
    bound(1.5, out)
    assert out[0] == 1.5 and not lazy.asked
    lazy._clear()
    bound(2.5, out)
    lazy[1, 1](2.5, out)
    assert out[0] == 2.5 and len(lazy.asked) == 1
    assert len(codes) == 8


def test_initialising_twice(lazy, kernel):
    with pytest.raises(RuntimeError, match="once"):
        _core.Dispatcher.__init__(kernel("saxpy"), "again")
    for arguments in [(), (3,), ("k", 3), ("k", [3]), ("k", None, False, False, (1.5,))]:
        with pytest.raises(TypeError):
            _core.Dispatcher(*arguments)
    bare = _core.Dispatcher.__new__(_core.Dispatcher)  # __init__ never ran
    with pytest.raises(TypeError):
        bare[1, 1](1)


def test_nothing_keeps_arguments_or_dispatchers(kernel):
    lazy = Lazy({(5, 5): kernel_of(kernel("i64"))})
    array, host = empty(1, "i8"), np.zeros(1, "i8")
    launcher = lazy[1, 1]
    launcher(1, array)
    launcher(1, host)
    lazy.asked.clear()
    refs = [weakref.ref(o) for o in (array, host)]
    del array, host
    assert [r() for r in refs] == [None, None]
    ref = weakref.ref(lazy)
    del lazy, launcher
    assert ref() is None  # at once: there is no cycle
    lazy = Lazy({})
    lazy.launcher = lazy[1, 1]
    ref = weakref.ref(lazy)
    del lazy
    gc.collect()
    assert ref() is None


# ---- host arrays are announced ----
def test_the_warning_about_host_arrays(kernel):
    said = []
    dispatcher = _core.Dispatcher("saxpy", list("axyn"), typed=True, warn_host=lambda: said.append(1))
    dispatcher._only(0, kernel_of(kernel("saxpy")))
    x, y = np.ones(4, "f4"), np.zeros(4, "f4")
    dispatcher[1, 4](1.0, cuda.In(x), cuda.InOut(y), 4)
    assert not said
    dispatcher[1, 4](1.0, x, y, 4)
    dispatcher[1, 4](1.0, x, y, 4)
    assert said == [1] and (y == 3).all()

    def angry():
        raise UserWarning("no")

    dispatcher = _core.Dispatcher("saxpy", list("axyn"), typed=True, warn_host=angry)
    dispatcher._only(0, kernel_of(kernel("saxpy")))
    for _ in range(2):
        with pytest.raises(UserWarning):
            dispatcher[1, 4](1.0, x, y, 4)
    assert (y == 3).all()


# ---- modules and kernels ----
def test_modules(image, module):
    assert module.device == 0 and module.alive
    for wrong in (b"", b"\0", b"nonsense" * 100):
        with pytest.raises((ValueError, errors.CudaAPIError)):
            _core.Module(wrong)
    for wrong in ("text", None, 3):
        with pytest.raises(TypeError):
            _core.Module(wrong)
    with pytest.raises(errors.CudaAPIError, match="no_such_kernel"):
        module.function("no_such_kernel", "k", [])
    with pytest.raises(errors.CudaAPIError, match="no_such_variable"):
        module.variable("no_such_variable", "f4", 3)


def test_descriptions_that_cannot_be(image, module):
    good = parameters_of(image, "f32")[0]
    for changes in [{"kind": "thing"}, {"dtype": "float31"}, {"size": 8}, {"size": -1}, {"size": 2**40},
                    {"align": 0}, {"align": 3}, {"align": 2**20}, {"layout": "Q"}, {"ndim": -1},
                    {"kind": "array"}, {"kind": "array", "ndim": 33, "size": 8 + 33 * 16},
                    {"kind": "pointer"}, {"kind": "pointer", "size": 8, "itemsize": 3},
                    {"kind": "array", "ndim": 2**28, "size": 8}, {"kind": "struct", "size": 0},
                    {"dtype": ""}]:  # fmt: skip
        with pytest.raises(ValueError):
            module.function(image.lowered["f32"], "f32", [good._replace(**changes)] * 2)
    for wrong in (3, [3], [()], [("a",)], ["scalar"], [(*good[:4], "x", *good[5:])]):
        with pytest.raises(TypeError):
            module.function(image.lowered["f32"], "f32", wrong)
    with pytest.raises(ValueError, match="more than"):
        module.function(image.lowered["f32"], "f32", [good._replace(kind="struct", size=30000)] * 2)
    # what the driver knows of the compiled kernel is compared, where it tells
    rows = parameters_of(image, "f32")
    for wrong in ([*rows, rows[1]], rows[:1], [rows[1], rows[0]]):
        try:
            module.function(image.lowered["f32"], "f32", wrong)
        except RuntimeError as error:
            assert "f32" in str(error)


def test_kernels(image, module, kernel):
    saxpy = kernel_of(kernel("saxpy"))
    assert (saxpy.name, saxpy.device, saxpy.module) == ("saxpy", 0, module)
    assert [row.name for row in saxpy.parameters] == ["a", "x", "y", "n"]
    assert saxpy.attribute(0) > 0 and saxpy.attribute(1) == 0
    assert saxpy.occupancy(256) > 0 and saxpy.occupancy(block=128, shared=1024) > 0
    grid, block = saxpy.max_block_size()
    assert grid > 0 and block > 0
    with pytest.raises(errors.CudaAPIError):
        saxpy.attribute(9999)
    for call in (lambda: saxpy.occupancy(0), lambda: saxpy.occupancy(-1), lambda: saxpy.occupancy(1, -1),
                 lambda: saxpy.max_block_size(-1)):  # fmt: skip
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        saxpy.attribute("0")
    with pytest.raises(TypeError):
        _core.Kernel()
    with pytest.raises(TypeError):
        copy.copy(saxpy)


def test_variables(image, kernel):
    module = _core.Module(image.data)
    table = module.variable(image.lowered["table"], "f4", (2, 3))
    values = np.arange(6, dtype="f4").reshape(2, 3) + 0.5
    table._write(values)
    look_up = _core.Dispatcher("look_up", ["out"], typed=True)
    look_up._only(0, module.function(image.lowered["look_up"], "look_up", parameters_of(image, "look_up")))
    out = empty(6, "f4")
    look_up[1, 1](out)
    assert [out[i] for i in range(6)] == values.ravel().tolist()
    table[1, 1:2]._write(np.array([9], "f4"))
    look_up[1, 1](out)
    assert out[4] == 9
    before = _core.live()["modules"]
    del module, look_up
    assert table[0, 1] == 1.5 and _core.live()["modules"] == before  # the array holds the module
    del table
    assert _core.live()["modules"] == before - 1
    module = _core.Module(image.data)
    for dtype, shape in [("f4", 7), ("f8", 6), ("f4", (2, 2)), ("f4", 0)]:
        with pytest.raises(ValueError, match="24 bytes"):
            module.variable(image.lowered["table"], dtype, shape)
    with pytest.raises(TypeError):
        module.variable(image.lowered["table"], "O", 3)


# ---- faults that kernels report ----
def test_faults(image, module):
    records = []

    class Boom(Exception):
        pass

    def hook(record):
        records.append(record)
        raise Boom

    rows = parameters_of(image, "faulty")
    fault = image.lowered["fault_record"], hook
    dispatcher = _core.Dispatcher("faulty", ["out", "value"], typed=True)
    dispatcher._only(0, module.function(image.lowered["faulty"], "faulty", rows, fault))
    for stream in (0, _core.Stream(), _core.Stream(non_blocking=True)):
        records.clear()
        out = np.zeros(1, "i4")
        with pytest.raises(Boom):
            dispatcher[1, 1, stream](out, 7)
        assert len(records[0]) == 256 and np.frombuffer(records[0], "i4")[[0, 5]].tolist() == [7, 42]
        dispatcher[1, 1, stream](out, 0)  # wiped out: the next launch is a new one
        assert len(records) == 1
    for wrong in (3, ("fault_record",), (3, hook)):
        with pytest.raises(TypeError):
            module.function(image.lowered["faulty"], "faulty", rows, wrong)
    with pytest.raises(errors.CudaAPIError):
        module.function(image.lowered["faulty"], "faulty", rows, ("nowhere", hook))


# ---- resets ----
def test_what_a_reset_leaves(run_python):
    """Arrays and kernels from before a reset are refused, new ones work; in a process of its own."""
    run_python("""
import numpy as np
from numbalite import _core, cuda
k = cuda.jit("__global__ void k(float* x) { x[0] += 1; }")
x = cuda.to_device(np.zeros(4, "f4"))
k[1, 1](x)
_core.reset_device(0)
for use in (lambda: k[1, 1](x), lambda: x.copy_to_host(), lambda: x[0], lambda: x.fill(1)):
    try:
        use()
    except RuntimeError as error:
        assert "reset" in str(error), error
    else:
        raise AssertionError("a dead array was used")
y = cuda.to_device(np.zeros(4, "f4"))
k[1, 1](y)
assert y[0] == 1
""")
