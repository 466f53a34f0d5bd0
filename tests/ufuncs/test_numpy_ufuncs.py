"""NumPy's own ufuncs and Python's operators on device arrays: they have NumPy's results and dtypes, on the
device."""

import operator

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda, guvectorize, types, vectorize

protocols = pytest.importorskip("numbalite.ufuncs.protocols")
TABLE = sorted(name for name in protocols._TABLE if hasattr(np, name))
# On the simulator, which compiles a kernel for each dtype, one dtype of each kind is tested;
# on a GPU, more dtypes are tested. Unsigned integers and booleans use the same code as
# other integers, so one such dtype is tested.
ALIKE = """equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not
    maximum minimum fmax fmin isnan isinf isfinite rint floor ceil trunc conjugate square""".split()
KINDS = {"b": ["?"], "u": ["u1"], "i": ["i4"], "f": ["f4"], "c": ["c8"]}


@pytest.fixture(autouse=True)
def _ignore_float_errors():
    with np.errstate(all="ignore"):
        yield


def random_numbers(dtype, seed=0, count=40):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, count).astype(dtype)
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -9, 10, count).astype(dtype)
    if kind == "c":
        return (rng.normal(size=count) + 1j * rng.normal(size=count)).astype(dtype)
    values = (rng.normal(size=count) * 3).astype(dtype)
    values[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1]
    return values


def special_values(dtype):
    """Returns values that functions treat specially: the limits of integers, signed zeros,
    infinities, NaN."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([0, 1], dtype)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        found = [0, 1, 2, 3, 7, ends.bits, ends.max, ends.max - 1]
        if dtype.kind == "i":
            found += [-1, -2, -3, -7, ends.min, ends.min + 1]
        return np.array(found, dtype)
    if dtype.kind == "f":
        ends = np.finfo(dtype)
        found = [0.0, 0.5, 1, 1.5, 2, 2.5, 3, 100, np.inf, ends.max, ends.tiny, ends.eps, np.pi / 2]
        return np.array([*found, *(-x for x in found), np.nan], dtype)
    parts = [0.0, -0.0, 1, -1, 0.5, -3, np.inf, -np.inf, np.nan]
    return np.array([complex(a, b) for a in parts for b in parts], dtype)


def special_operands(dtype, count):
    """Returns all pairs of special numbers."""
    values = special_values(dtype)
    if count == 1:
        return [values]
    if values.dtype.kind == "c":
        values = values[::3]
    return [np.repeat(values, len(values)), np.tile(values, len(values))]


def check_complex(got, expected, tolerance):
    """Compares the numbers part by part. If one part of a complex number is NaN, C99 does not
    define the sign of an infinite other part."""
    size = np.fmax(np.abs(expected.real), np.abs(expected.imag))
    slack = tolerance * np.where(np.isfinite(size), np.fmax(size, 1), 1)
    for mine, right, other in (
        (got.real, expected.real, expected.imag),
        (got.imag, expected.imag, expected.real),
    ):
        with np.errstate(all="ignore"):
            same = (
                (mine == right) | (np.isnan(mine) & np.isnan(right)) | (abs(mine - right) <= slack)
            )
            same |= np.isnan(other) & np.isinf(right) & (abs(mine) == abs(right))
        assert same.all(), list(zip(mine[~same], right[~same], other[~same], strict=True))


def check_result(result, expected, exact=False):
    if isinstance(expected, tuple):
        for one, other in zip(result, expected, strict=True):
            check_result(one, other, exact)
        return
    assert isinstance(result, cuda.DeviceNDArray)
    assert result.dtype == expected.dtype and result.shape == np.shape(expected)
    got = result.copy_to_host()
    if expected.dtype.kind == "c" and not exact:
        check_complex(got, expected, 20 * np.finfo(expected.dtype).eps)
    elif expected.dtype.kind == "f" and not exact:
        tolerance = 20 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_every_numpy_ufunc_matches_numpy(name):
    check_every_dtype_kind(
        name, protocols._TABLE[name][1].replace("bu" if name in ALIKE else "none", "")
    )


@pytest.mark.parametrize("name, kind", [
    ("floor_divide", "i"), ("remainder", "f"), ("power", "i"), ("absolute", "c"), ("sqrt", "f"), ("sin", "c"),
    ("maximum", "f"), ("hypot", "f"), ("right_shift", "i"), ("invert", "b"), ("greater", "f"), ("isnan", "c"),
    ("logical_xor", "f"), ("sign", "f"), ("gcd", "i"), ("arcsin", "c"), ("tanh", "c"), ("divide", "c"),
])  # fmt: skip
def test_selected_ufuncs_match_numpy(name, kind):
    check_every_dtype_kind(name, kind)


def check_every_dtype_kind(name, kinds):
    ufunc = getattr(np, name)
    for kind in kinds:
        for dtype in KINDS[kind]:
            hosts = [
                np.append(random_numbers(dtype, seed), values)
                for seed, values in enumerate(special_operands(dtype, ufunc.nin))
            ]
            if name == "power" and kind in "iu":
                hosts[1][hosts[1] < 0] = 2
            elif name in ("power", "float_power") and kind == "c":
                # NumPy computes 1 / infinity by a product, as NaN;
                # the last digits of other results may differ.
                hosts[1][np.isinf(hosts[0]) & (hosts[1] == -1)] = 1
                hosts = [h[40:] for h in hosts]
            elif name == "reciprocal" and kind in "iu":
                hosts[0][hosts[0] == 0] = 1  # NumPy has no result for 0
            elif "shift" in name:
                hosts = [h[:40].astype("i4") for h in hosts]
                hosts[1] = abs(hosts[1]) * 5
            try:
                expected = ufunc(*hosts)
            except TypeError:
                with pytest.raises(TypeError):
                    ufunc(*map(cuda.to_device, hosts))
                continue
            if "shift" in name:
                expected = np.array([op_shift(name, int(a), int(b)) for a, b in zip(*hosts)], "i4")
            check_result(ufunc(*map(cuda.to_device, hosts)), expected)


def op_shift(name, a, b):
    shifted = a << b if name == "left_shift" else a >> b
    return (shifted + (1 << 31)) % (1 << 32) - (1 << 31)


def test_python_operators_match_numpy():
    hosts = random_numbers("i4", 1), abs(random_numbers("i4", 2)) + 1
    devices = [cuda.to_device(h) for h in hosts]
    binary = "add sub mul truediv floordiv mod and_ or_ xor lt le eq ne gt ge".split()
    for name in binary:
        function = getattr(operator, name)
        check_result(function(*devices), function(*hosts))
    for name in ("neg", "pos", "abs", "invert"):
        function = getattr(operator, name)
        check_result(function(devices[0]), function(hosts[0]))
    check_result(divmod(*devices), divmod(*hosts))
    check_result(devices[0] ** 2, hosts[0] ** 2)
    check_result(2 ** devices[1], 2 ** hosts[1])
    check_result(devices[0] << 2, hosts[0] << 2)


@pytest.mark.parametrize("dtype", "?bHefD")
def test_powers_of_python_numbers_match_numpy(dtype):
    host = np.array([1, 0, 100]).astype(dtype)
    if dtype in "efD":
        host[1] = -0.0
    device = cuda.to_device(host)
    for exponent in (2, 0.5, 3) if host.dtype.kind in "bui" else (2, 0.5, -1, 3):
        with np.errstate(all="ignore"):  # up to 2.2, NumPy's result for booleans is int64
            expected = np.square(host) if exponent == 2 else host**exponent
        check_result(device**exponent, expected)
        if expected.dtype.kind == "f":
            check_result(np.signbit(device**exponent), np.signbit(expected))
    if dtype != "?":
        device **= 2
        host **= 2
        check_result(device, host)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("exponent", [2, 3, 4, 3.0])
def test_small_powers_are_as_accurate_as_pow(dtype, exponent):
    rng = random_generator()
    scale = rng.choice([1, 1e6, 1e-5, 1e15, 1e-8], 4000)
    edges = [0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max, -np.finfo(dtype).tiny]
    host = np.concatenate([rng.standard_normal(4000) * scale, edges]).astype(dtype)
    found = (cuda.to_device(host) ** exponent).copy_to_host()
    with np.errstate(all="ignore"):
        wanted, exact = host**exponent, host.astype(np.longdouble) ** exponent
        unit = np.spacing(np.abs(exact).astype(dtype))
    one = np.finfo(dtype).smallest_subnormal
    np.testing.assert_allclose(found, wanted, rtol=3e-7 if dtype == "f4" else 5e-16, atol=one)
    regular = np.isfinite(wanted) & (np.abs(exact) > np.finfo(dtype).tiny * 2.0**60)
    if np.finfo(np.longdouble).nmant > 60:
        assert (np.abs(found - exact)[regular] <= 0.51 * unit[regular]).all()


def test_mixed_operand_kinds_match_numpy():
    host = random_numbers("f4", 1)
    device = cuda.to_device(host)
    check_result(device + 1, host + 1)
    check_result(1 - device, 1 - host)
    check_result(device * np.float64(2), host * np.float64(2))
    check_result(host + device, host + host)
    check_result(device + host, host + host)
    check_result(device + [1.5] * 40, host + [1.5] * 40)
    check_result(device[::2] * device[1::2], host[::2] * host[1::2])
    column = cuda.to_device(host[:4].reshape(4, 1))
    check_result(column + device, host[:4].reshape(4, 1) + host)
    check_result(device[3] + device, host[3] + host)


def test_negative_integer_powers_raise():
    host = np.arange(1, 5)
    device, exponents = cuda.to_device(host), np.array([2, 0, -1, 3])
    for refused in (
        lambda: device**-1,
        lambda: np.power(device, exponents),
        lambda: np.power(device, cuda.to_device(exponents)),
        lambda: np.power.outer(device, exponents),
        lambda: np.power(2, cuda.to_device(exponents)),
    ):
        with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
            refused()
    where = exponents >= 0
    found = np.power(device, exponents, out=cuda.to_device(host), where=where)
    check_result(found, np.power(host, exponents, out=host.copy(), where=where))
    check_result(device**-1.0, host**-1.0)
    check_result(np.power(device, -1, dtype="f8"), np.power(host, -1, dtype="f8"))


def test_in_place_operators_match_numpy():
    host, device = random_numbers("i4"), cuda.to_device(random_numbers("i4"))
    same = device
    device += 3
    device *= host
    device[::2] -= 1
    expected = (host + 3) * host
    expected[::2] -= 1
    assert device is same
    check_result(device, expected)
    with pytest.raises(TypeError, match="same_kind"):
        device += 0.5
    on_host = random_numbers("i4")
    on_host += device
    np.testing.assert_array_equal(on_host, random_numbers("i4") + expected)


def test_ufunc_keywords_match_numpy():
    host = random_numbers("f4")
    device = cuda.to_device(host)
    out = cuda.device_array(40, "f8")
    assert np.add(device, 1, out=out) is out
    check_result(out, np.add(host, 1, out=np.empty(40)))
    mask = random_numbers("?")
    out = cuda.to_device(np.zeros(40, "f4"))
    np.multiply(device, 2, out=out, where=mask)
    check_result(out, np.multiply(host, 2, out=np.zeros(40, "f4"), where=mask))
    check_result(np.add(device, 1, dtype=types.float64), np.add(host, 1, dtype="f8"))
    whole, part = np.divmod(device, 2, out=(None, out))
    assert part is out
    check_result((whole, part), np.divmod(host, 2))
    on_host = np.empty(40, "f4")
    assert np.sqrt(device, out=on_host) is on_host
    np.testing.assert_array_equal(on_host, np.sqrt(host))


def test_dtypes_are_those_of_numpy():
    for first, second in [("i4", "f4"), ("u8", "i8"), ("?", "i1"), ("f2", "i2"), ("c8", "f8")]:
        hosts = random_numbers(first, 1), random_numbers(second, 2)
        check_result(np.add(*map(cuda.to_device, hosts)), np.add(*hosts))
    check_result(
        np.sqrt(cuda.to_device(np.arange(5, dtype="i2"))), np.sqrt(np.arange(5, dtype="i2"))
    )
    big = np.array([0, 1, 2**63, 2**64 - 1], "u8"), np.array([-1, 1, 2**62, -(2**63)])
    check_result(np.less(*map(cuda.to_device, big)), np.less(*big))
    check_result(np.equal(cuda.to_device(big[1]), big[0]), np.equal(big[1], big[0]))
    with pytest.raises(OverflowError):
        cuda.to_device(np.zeros(3, "u1")) + 300
    with pytest.raises(TypeError):
        np.subtract(cuda.to_device(np.zeros(3, "?")), True)


def test_reductions_match_numpy():
    host = random_numbers("i4").reshape(5, 8)
    device = cuda.to_device(host)
    check_result(np.add.reduce(device), np.add.reduce(host))
    check_result(np.add.reduce(device, axis=None), np.asarray(host.sum()))
    check_result(np.sum(device, axis=1), np.sum(host, axis=1))
    check_result(np.max(device, axis=1, keepdims=True), np.max(host, axis=1, keepdims=True))
    check_result(np.max(device), np.asarray(np.max(host)))
    check_result(np.prod(device % 5 + 1, axis=0), np.prod(host % 5 + 1, axis=0))
    check_result(np.maximum.accumulate(device, axis=1), np.maximum.accumulate(host, axis=1))
    check_result(np.multiply.outer(device[0], device[1]), np.multiply.outer(host[0], host[1]))
    np.add.at(device, (slice(None), 1), 7)
    host[:, 1] += 7
    check_result(device, host)


@pytest.mark.parametrize("dtype", ["i4", "f8", "c8"])
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logical_reductions_match_numpy(name, dtype):
    host = np.array(
        [[0.5, 0, 2], [np.nan, -0.0, 4]] if dtype == "f8" else [[1, 0, 2], [0, 0, 4]], dtype
    )
    device, ufunc = cuda.to_device(host), getattr(np, name)
    for axis in (0, 1, None):
        check_result(ufunc.reduce(device, axis), np.asarray(ufunc.reduce(host, axis)))
    check_result(ufunc.accumulate(device, 1), ufunc.accumulate(host, 1))
    check_result(ufunc.reduceat(device, [1, 0], 1), ufunc.reduceat(host, [1, 0], 1))
    with pytest.raises(TypeError, match="No loop matching"):
        ufunc.reduce(device, dtype="f8")
    with pytest.raises(TypeError, match="No loop matching"):
        np.hypot.reduce(device, dtype="i4")


def test_outer_accepts_numbers():
    host = np.arange(3, dtype="i1")
    check_result(np.add.outer(cuda.to_device(host), 1), np.add.outer(host, 1))
    check_result(np.add.outer(1.5, cuda.to_device(host)), np.add.outer(1.5, host))


def test_reductions_of_empty_arrays_match_numpy():
    for shape in [(0,), (0, 3), (3, 0), (0, 0), (2, 0, 0), (0, 2, 0)]:
        host = np.zeros(shape, "f4")
        for axis in (None, *range(len(shape))):
            for ufunc in (np.maximum, np.add):
                try:
                    expected = np.asarray(ufunc.reduce(host, axis=axis))
                except ValueError as problem:
                    with pytest.raises(ValueError) as ours:
                        ufunc.reduce(cuda.to_device(host), axis=axis)
                    assert str(ours.value) == str(problem)
                else:
                    check_result(ufunc.reduce(cuda.to_device(host), axis=axis), expected)


def test_reductions_of_noncommutative_ufuncs_raise():
    device = cuda.to_device(np.arange(6.0))
    for call in (np.subtract.reduce, np.divide.accumulate, lambda d: np.power.reduceat(d, [0])):
        with pytest.raises(TypeError, match=r"must be associative.*copy_to_host"):
            call(device)


def test_functions_without_a_device_version_raise():
    device = cuda.to_device(np.arange(6.0).reshape(2, 3))
    with pytest.raises(TypeError, match=r"isnat has no counterpart on the device"):
        np.isnat(device)


@pytest.mark.parametrize("target", ["cpu", "parallel"])
def test_cpu_ufuncs_reject_device_arrays(target):
    @vectorize(["float64(float64)"], target=target)
    def twice(x):
        "return 2 * x;"

    @guvectorize(["void(float64[:], float64[:])"], "(n)->()", target=target)
    def copy_first(x, r):
        "r[0] = x[0];"

    device = cuda.to_device(np.arange(3.0))
    for ufunc in (twice, copy_first):
        with pytest.raises(TypeError, match=r"target='cuda'.*copy_to_host"):
            ufunc(device)


def test_other_array_ufunc_overrides_take_precedence():
    class ArrayUfuncOverride:
        def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
            return ufunc.__name__, method

    class ArrayWithoutUfunc:
        __array_ufunc__ = None

    device = cuda.to_device(np.arange(3.0))
    assert np.add(device, ArrayUfuncOverride()) == ("add", "__call__")
    assert device + ArrayUfuncOverride() == ("add", "__call__")
    with pytest.raises(TypeError):
        device + ArrayWithoutUfunc()
    with pytest.raises(TypeError):
        device + object()


def test_invalid_operands_raise():
    """Ufuncs reject objects of numbalite that are not arrays."""
    d = cuda.to_device(np.ones(3))
    for other in (cuda.stream(), cuda.event(), object()):
        for name in ("sub", "rsub", "pow", "rpow", "isub", "divmod", "rdivmod", "lt"):
            with pytest.raises(TypeError):
                getattr(d, f"__{name}__")(other)
        assert d.__rsub__(1).copy_to_host().tolist() == [0, 0, 0]


def test_arrays_hash_by_identity_and_have_no_truth_value():
    a, b = cuda.to_device(np.arange(3)), cuda.to_device(np.arange(3))
    assert len({a, b}) == 2 and {a: 1}[a] == 1
    assert isinstance(a == b, cuda.DeviceNDArray)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(a == b)
    assert bool(np.logical_and.reduce(a == b))


def test_counterparts_are_pickled_by_name():
    import pickle

    made = protocols.cuda_ufunc_for(np.add)
    assert pickle.loads(pickle.dumps(made)) is made
