"""Compares element-wise ufuncs of every target with NumPy's: layouts, offsets, dtypes, values,
keywords."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import ALL, COMPLEX, FLOATS, INTEGERS, assert_close, draw_examples, result_or_error

from numbalite import cuda, vectorize

TARGETS = ["cpu", "parallel", "cuda"]
NUMBERS = [*INTEGERS, *FLOATS, *COMPLEX]
REALS = [*INTEGERS, *FLOATS]


class ElementwiseOperation:
    """An expression, the equivalent NumPy ufunc (`oracle`), and the dtypes of its loops; `result` is
    the dtype of the result if it is not that of the arguments."""

    def __init__(
        self, oracle, expression, dtypes, args="x, y", result=None, ulps=0, scale=0.0, mix=True
    ):
        self.oracle, self.expression, self.dtypes = oracle, expression, dtypes
        self.args, self.result, self.ulps, self.scale = args, result, ulps, scale
        self.mix = mix  # whether NumPy's ufunc has loops for two different dtypes

    @property
    def nin(self):
        return self.args.count(",") + 1

    def some_dtypes(self, target):
        """Returns all dtypes, or on the simulator only a few, unless drawn.LONG is set: the simulator
        compiles each loop separately, which takes most of the time of these tests."""
        if drawn.LONG or not cuda.is_simulated():
            return self.dtypes
        few = ("i4", "f4", "c8") if target == "cuda" else ("?", "i1", "u4", "i8", "f2", "f4", "c16")
        return [t for t in self.dtypes if t in few] or self.dtypes[:1]

    @functools.cache  # noqa: B019
    def on(self, target, complete=False):
        signatures = []
        for dtype in self.dtypes if complete else self.some_dtypes(target):
            name = drawn.numba_name(dtype)
            result = drawn.numba_name(self.result or dtype)
            signatures.append(f"{result}({', '.join([name] * self.nin)})")
        return vectorize(signatures, target=target, source=self.expression, args=self.args)


MAXIMUM = "x >= y || x != x ? x : y"
OPERATIONS = {
    "add": ElementwiseOperation(np.add, "x + y", ALL),
    "subtract": ElementwiseOperation(np.subtract, "x - y", NUMBERS),
    "multiply": ElementwiseOperation(np.multiply, "x * y", ALL, ulps=4, scale=2),
    "divide": ElementwiseOperation(np.divide, "x / y", FLOATS),
    "negative": ElementwiseOperation(np.negative, "-x", NUMBERS, "x"),
    "floor": ElementwiseOperation(np.floor, "floor(x)", FLOATS, "x"),
    "less": ElementwiseOperation(np.less, "x < y", ["?", *REALS], result="?", mix=False),
    "equal": ElementwiseOperation(np.equal, "x == y", ALL, result="?", mix=False),
    "logical_and": ElementwiseOperation(
        np.logical_and, "bool(x) && bool(y)", ["?", *REALS], result="?"
    ),
    "bitwise_and": ElementwiseOperation(np.bitwise_and, "x & y", ["?", *INTEGERS]),
    "bitwise_xor": ElementwiseOperation(np.bitwise_xor, "x ^ y", ["?", *INTEGERS]),
    "invert": ElementwiseOperation(np.invert, "~x", INTEGERS, "x"),
    "sqrt": ElementwiseOperation(np.sqrt, "sqrt(x)", FLOATS, "x"),
    "maximum": ElementwiseOperation(np.maximum, MAXIMUM, ["?", *REALS]),
    "minimum": ElementwiseOperation(np.minimum, "x <= y || x != x ? x : y", ["?", *REALS]),
    "power": ElementwiseOperation(np.power, "pow(x, y)", FLOATS, ulps=16),
    "conjugate": ElementwiseOperation(np.conjugate, "conj(x)", COMPLEX, "x"),
    "absolute": ElementwiseOperation(np.absolute, "x < 0 ? -x : x", ["i1", "i2", "i4", "i8"], "x"),
}
OPERATIONS["sincos"] = ElementwiseOperation(
    lambda x, y: np.multiply(np.sin(x), np.cos(y)), "sin(x) * cos(y)", FLOATS, ulps=8, scale=1
)
OPERATIONS["select"] = ElementwiseOperation(
    lambda x, y: np.where(x < y, x, y), "x < y ? x : y", ["?", *REALS]
)  # fmt: skip


@pytest.fixture(params=TARGETS)
def ufunc_target(request):
    return request.param


@pytest.fixture(autouse=True)
def _ignore_warnings():
    """Some tests of this file overflow on purpose."""
    with np.errstate(all="ignore"):
        yield


pytestmark = [
    pytest.mark.filterwarnings("ignore:'where' used without 'out'"),
    pytest.mark.filterwarnings("ignore:Casting complex values to real"),
]


def array_places(target):
    return st.sampled_from(drawn.PLACES if target == "cuda" else ["host"])


@st.composite
def draw_operands(draw, target, count, dtypes, special=False, unaligned=True, max_dims=5):
    """Returns (arguments, their host arrays): arrays that broadcast together, with random layouts,
    on the host or the device."""
    shape = draw(drawn.draw_shapes(max_dims=max_dims))
    full = draw(st.integers(0, count - 1))
    arguments, hosts = [], []
    for i in range(count):
        part = shape if i == full else draw(drawn.draw_broadcast_shape(shape))
        dtype = draw(st.sampled_from(dtypes))
        values = drawn.make_values(draw(st.integers(0, 99)), part, dtype, special)
        repeat = shape if draw(st.integers(0, 5)) == 0 else None
        placed = drawn.PlacedArray(values, draw(drawn.array_recipes(len(part), unaligned)), repeat)
        arguments.append(drawn.convert_to_argument(placed, draw(array_places(target))))
        hosts.append(placed.host)
    return arguments, hosts


@st.composite
def draw_outputs(draw, target, shape, dtype):
    """Returns an array for results, with a random layout and on a random device: (argument, a host array for
    NumPy)."""
    values = drawn.make_values(7, shape, dtype)
    recipe = draw(drawn.array_recipes(len(shape)))
    mine, theirs = drawn.PlacedArray(values, recipe), drawn.PlacedArray(values, recipe)
    place = draw(st.sampled_from(["host", "device"])) if target == "cuda" else "host"
    return (mine.device() if place == "device" else mine.host), theirs.host


# ---- layouts ----
@draw_examples(30)
@given(data=st.data())
def check_layouts(target, data):
    operation = OPERATIONS["subtract"]
    arguments, hosts = data.draw(draw_operands(target, 2, ["f4"]))
    expected = np.subtract(*hosts)
    result = operation.on(target)(*arguments)
    assert_close(result, expected, device=any(map(drawn.is_device_argument, arguments)))
    if isinstance(expected, np.ndarray) and not any(map(drawn.is_device_argument, arguments)):
        steps = zip(expected.shape, expected.strides, result.strides)
        assert all(wanted == got for n, wanted, got in steps if n > 1)  # order="K"


def test_ufuncs_match_numpy_for_random_layouts(ufunc_target):
    check_layouts(ufunc_target)


@draw_examples(20)
@given(data=st.data())
def check_out(target, data):
    arguments, hosts = data.draw(draw_operands(target, 2, ["f4"], max_dims=4))
    shape = np.broadcast_shapes(*(h.shape for h in hosts))
    out, oracle_out = data.draw(
        draw_outputs(target, shape, data.draw(st.sampled_from(["f4", "f4", "f8", "c8", "f2"])))
    )
    keywords, oracle_keywords = {}, {}
    if data.draw(st.booleans()):
        mask = drawn.make_values(3, data.draw(drawn.draw_broadcast_shape(shape)), "?")
        placed = drawn.PlacedArray(mask, data.draw(drawn.array_recipes(mask.ndim)))
        keywords["where"], oracle_keywords["where"] = (
            drawn.convert_to_argument(placed, data.draw(array_places(target))),
            placed.host,
        )
    np.subtract(*hosts, out=oracle_out, **oracle_keywords)
    ufunc = OPERATIONS["subtract"].on(target)
    assert ufunc(*arguments, out=out, **keywords) is out
    assert_close(out, oracle_out)


def test_ufuncs_match_numpy_with_out(ufunc_target):
    check_out(ufunc_target)


@draw_examples(15)
@given(data=st.data())
def check_where(target, data):
    arguments, hosts = data.draw(draw_operands(target, 2, ["f4"], max_dims=3))
    shape = np.broadcast_shapes(*(h.shape for h in hosts))
    mask = drawn.make_values(3, data.draw(drawn.draw_broadcast_shape(shape)), "?")
    result = OPERATIONS["subtract"].on(target)(*arguments, where=mask)
    assert_close(result, np.subtract(*hosts), where=mask)


def test_ufuncs_match_numpy_with_where(ufunc_target):
    check_where(ufunc_target)


@draw_examples(20)
@given(data=st.data())
def check_overlap(target, data):
    """If inputs and output overlap, the result is as if all inputs were read before the first write."""
    dims = data.draw(st.integers(1, 3))
    base = drawn.make_values(5, (7,) * dims, "f4")
    reversing = tuple(
        slice(None, None, data.draw(st.sampled_from([1, 1, -1]))) for _ in range(dims)
    )
    shifts = tuple(data.draw(st.integers(0, 2)) for _ in range(dims))
    window = [tuple(slice(s, s + 5) for s in shift) for shift in (shifts, (0,) * dims)]
    other = drawn.make_values(6, (5,) * dims, "f4")
    expected = base.copy()
    np.subtract(expected[window[0]][reversing], other, out=expected[window[1]])
    mine = cuda.to_device(base) if target == "cuda" and data.draw(st.booleans()) else base.copy()
    ufunc = OPERATIONS["subtract"].on(target)
    ufunc(mine[window[0]][reversing], other, out=mine[window[1]])
    assert_close(mine, expected)


def test_ufuncs_match_numpy_with_overlap(ufunc_target):
    check_overlap(ufunc_target)


@draw_examples(12)
@given(data=st.data())
def check_order(target, data):
    arguments, hosts = data.draw(draw_operands(target, 2, ["f4"], unaligned=False, max_dims=3))
    order = data.draw(st.sampled_from("CFAK"))
    expected = np.asarray(np.subtract(*hosts, order=order))
    result = OPERATIONS["subtract"].on(target)(*arguments, order=order)
    assert_close(result, expected[()] if expected.ndim == 0 else expected)
    if expected.ndim and expected.size:
        lengths = [s for n, s in zip(expected.shape, expected.strides) if n > 1]
        got = [s for n, s in zip(expected.shape, result.strides) if n > 1]
        assert got == lengths


def test_ufuncs_match_numpy_for_each_order(ufunc_target):
    check_order(ufunc_target)


# ---- what elements are ----
@pytest.mark.parametrize("name", OPERATIONS)
def test_ufuncs_match_numpy_for_edge_values(ufunc_target, name):
    """Runs each loop of a ufunc on its own dtype, with extremes, infinities and NaN."""
    if ufunc_target == "parallel" and name not in ("add", "less", "sincos") and not drawn.LONG:
        pytest.skip("the loops are those of the cpu target")
    operation = OPERATIONS[name]
    for dtype in operation.some_dtypes(ufunc_target):
        for special in (False, True):
            hosts = [
                drawn.make_values(seed, (61,), dtype, special) for seed in range(operation.nin)
            ]
            if name == "sincos":
                hosts = [np.where(abs(h) < 1000, h, 0).astype(dtype) for h in hosts]
            elif name == "power" and not special:
                hosts = [abs(hosts[0]) / 10, hosts[1] / 20]
                hosts = [h.astype(dtype) for h in hosts]
            expected, ulps = operation.oracle(*hosts), operation.ulps
            if name == "multiply" and np.dtype(dtype).kind != "c":
                ulps = 0
            elif np.dtype(dtype) == np.float16:  # computed in float32 and rounded once
                ulps = min(ulps, 2)
            assert_close(operation.on(ufunc_target)(*hosts), expected, ulps, operation.scale)


@draw_examples(16)
@given(data=st.data())
def check_dtypes(target, data):
    """For operands of two dtypes, numbalite selects NumPy's loop, or numbalite and NumPy both raise an
    error."""
    names = {"cpu": ["add", "less", "sqrt"]}
    name = data.draw(st.sampled_from(names.get(target, ["add", "sqrt"])))
    operation = OPERATIONS[name]
    dtypes = [data.draw(st.sampled_from(ALL)) for _ in range(operation.nin)]
    if not operation.mix and {"u8"} < set(dtypes):
        dtypes = [
            dtypes[0]
        ] * operation.nin  # NumPy has separate loops that compare int64 with uint64
    hosts = [abs(drawn.make_values(i, (5,), dtype)) for i, dtype in enumerate(dtypes)]
    hosts = [h.astype(dtype) for h, dtype in zip(hosts, dtypes)]
    keywords = {}
    if data.draw(st.integers(0, 2)) == 0:
        keywords["casting"] = data.draw(
            st.sampled_from(["no", "equiv", "safe", "same_kind", "unsafe"])
        )
    if data.draw(st.integers(0, 3)) == 0:
        wanted = np.dtype(data.draw(st.sampled_from(operation.dtypes)))
        if operation.result is None:
            keywords["dtype"] = wanted
    place = cuda.to_device if target == "cuda" and data.draw(st.booleans()) else np.asarray
    theirs = expected, refused = result_or_error(operation.oracle, *hosts, **keywords)
    if name in ("less", "maximum", "sqrt") and any(h.dtype.kind == "c" for h in hosts):
        return  # dtypes of NumPy loops that numbalite's operations lack
    if refused is None and expected.dtype not in [np.dtype(d) for d in ALL]:
        return
    ours = result_or_error(operation.on(target, True), *map(place, hosts), **keywords)
    drawn.assert_same_value_or_error(ours, theirs, functools.partial(assert_close, ulps=2))


def test_ufuncs_match_numpy_for_mixed_dtypes(ufunc_target):
    check_dtypes(ufunc_target)


SCALARS = [
    0,
    1,
    -3,
    100,
    300,
    1 << 40,
    -(1 << 63),
    (1 << 64) - 1,
    1 << 64,
    True,
    False,
    0.5,
    1e300,
    2j,
    1 + 1j,
]


@draw_examples(20)
@given(data=st.data())
def check_python_scalars(target, data):
    """NEP 50: a Python number adopts the array's dtype, if its kind allows."""
    dtype = data.draw(st.sampled_from(ALL))
    value = data.draw(st.sampled_from(SCALARS))
    shape = data.draw(st.sampled_from([(), (3,)]))
    host = drawn.make_values(1, shape, dtype)
    operation = OPERATIONS["add"]
    place = cuda.to_device if target == "cuda" and data.draw(st.booleans()) else np.asarray
    pair = data.draw(st.permutations([0, 1]))
    theirs = expected, refused = result_or_error(
        operation.oracle, *[(host, value)[i] for i in pair]
    )
    if refused is None and expected.dtype not in [np.dtype(d) for d in ALL]:
        return
    ours = result_or_error(operation.on(target, True), *[(place(host), value)[i] for i in pair])
    on_device = isinstance(place(host), cuda.DeviceNDArray)
    drawn.assert_same_value_or_error(
        ours, theirs, functools.partial(assert_close, device=on_device)
    )


def test_ufuncs_match_numpy_with_python_scalars(ufunc_target):
    check_python_scalars(ufunc_target)


@draw_examples(15)
@given(data=st.data())
def check_scalars_alone(target, data):
    """Scalars give scalars."""
    x, y = (
        np.dtype(data.draw(st.sampled_from(ALL))).type(data.draw(st.integers(0, 50)))
        for _ in range(2)
    )
    choice = data.draw(st.sampled_from(["numpy", "python", "0-d"]))
    if choice == "python":
        x, y = 2.5, data.draw(st.sampled_from([1, 2.0, True]))
    elif choice == "0-d":
        x = np.asarray(x)
    expected = np.add(x, y)
    result = OPERATIONS["add"].on(target, True)(x, y)
    assert isinstance(result, np.generic) and type(result) is type(expected)
    assert result == expected


def test_ufuncs_match_numpy_with_only_scalars(ufunc_target):
    check_scalars_alone(ufunc_target)


# ---- wrong calls ----
@draw_examples(30)
@given(data=st.data())
def check_refusals(target, data):
    """Shapes that do not broadcast and unsuitable outputs raise exactly if NumPy raises."""
    x = drawn.make_values(1, data.draw(drawn.draw_shapes(max_dims=3)), "f4")
    y = drawn.make_values(2, data.draw(drawn.draw_shapes(max_dims=3)), "f4")
    keywords = oracle_keywords = {}
    if data.draw(st.booleans()):
        dtype = data.draw(st.sampled_from(["f4", "i4", "f8", "?", "c8"]))
        out = np.zeros(data.draw(st.sampled_from([x.shape, y.shape, (), (2, 3)])), dtype)
        if data.draw(st.integers(0, 4)) == 0:
            out.flags.writeable = False
        keywords = {"out": out.copy() if out.flags.writeable else out}
        oracle_keywords = {"out": out}
    place = cuda.to_device if target == "cuda" and data.draw(st.booleans()) else np.asarray
    theirs = result_or_error(np.add, x, y, **oracle_keywords)
    ours = result_or_error(OPERATIONS["add"].on(target), place(x), y, **keywords)
    drawn.assert_same_value_or_error(ours, theirs, assert_close)


def test_ufuncs_raise_numpys_errors(ufunc_target):
    check_refusals(ufunc_target)
