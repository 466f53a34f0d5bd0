"""Compares NumPy's functions on device arrays with the same functions on host arrays, for every
dtype and memory layout."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import draw_examples
from kit.likenumpy import assert_equal_results, assert_same, assert_same_result
from kit.needs import numpy_since
from kit.sample import draw_cases, random_generator

from numbalite import _core, cuda
from numbalite.ndarray.arrays import DeviceNDArray

NUMBERS = ["f4", "f8", "i4", "u1", "c8", "?"]


@st.composite
def draw_array_pair(draw, dtypes=NUMBERS, min_dims=0, max_dims=3, shape=None):
    """Returns (the function's result on the device, its result on the host)."""
    shape = draw(drawn.draw_shapes(min_dims, max_dims, most=5)) if shape is None else shape
    dtype = draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 30)))
    values = rng.integers(0, 5, shape)
    values = (values + (1j * rng.integers(0, 5, shape) if dtype == "c8" else 0)).astype(dtype)
    placed = drawn.PlacedArray(values, draw(drawn.array_recipes(len(shape))))
    return placed.device(), placed.host


def draw_axis_argument(draw, ndim, several=True):
    numbers = st.integers(-ndim, ndim - 1) if ndim else st.just(0)
    choices = [st.none(), numbers]
    if several and ndim > 1:
        choices.append(st.lists(st.integers(0, ndim - 1), unique=True).map(tuple))
    return draw(st.one_of(choices))


# The functions that print, save, or write to a host array; a comprehension of copyto before Python 3.12
MAY_COPY = {"_host_copy", "copyto", "<listcomp>"}


@pytest.fixture(autouse=True)
def _forbid_copies_to_host(monkeypatch):
    """Only the results that are compared are copied to the host: no function copies an array to compute on
    the host."""
    real = DeviceNDArray.copy_to_host

    def copy_to_host(self, *args, **keywords):
        code = sys._getframe(1).f_code
        caller, name = code.co_filename, code.co_name
        if self.ndim and "numbalite/functions/" in caller and name not in MAY_COPY:
            raise AssertionError(f"{caller} copies to the host")
        return real(self, *args, **keywords)

    monkeypatch.setattr(DeviceNDArray, "copy_to_host", copy_to_host)


REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "ptp"]


@draw_examples(40)
@given(data=st.data())
def test_reductions_match_numpy(data):
    name = data.draw(st.sampled_from(REDUCTIONS))
    plain = ["f4", "i4"] + (["?"] if name in ("any", "max", "mean") else [])
    ordered = name in ("max", "min", "ptp")
    device, host = data.draw(draw_array_pair(plain if ordered else [*plain, "c8"]))
    keywords = {"axis": draw_axis_argument(data.draw, host.ndim)}
    if data.draw(st.booleans()):
        keywords["keepdims"] = data.draw(st.booleans())
    if name in ("sum", "mean", "var", "std") and data.draw(st.integers(0, 3)) == 0:
        keywords["dtype"] = data.draw(st.sampled_from(["f4", "f8", "c16"]))
        if host.dtype.kind == "c":
            keywords["dtype"] = "c16"
    if name in ("sum", "prod") and data.draw(st.integers(0, 3)) == 0:
        keywords["initial"] = 2
    if name in ("var", "std"):
        keywords["ddof"] = data.draw(st.integers(0, 2))
    function = getattr(np, name)
    if name != "ptp" and data.draw(st.integers(0, 3)) == 0:
        mask, host_mask = data.draw(draw_array_pair(["?"], shape=host.shape))
        if ordered:
            keywords["initial"] = 1
        assert_same(
            lambda x, m: function(x, where=m, **keywords), (device, mask), (host, host_mask)
        )
    elif name != "ptp" and data.draw(st.booleans()):
        assert_same(lambda x: getattr(x, name)(**keywords), (device,), (host,))
    else:
        assert_same(function, (device,), (host,), keywords)


@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "f2", "f4", "f8"])
def test_argmax_and_argmin_return_the_first_extreme(dtype):
    """The first of equal extremes is found, NaN precedes all other values, and -0.0 equals 0.0,
    whether or not the kernel packs value and index into 64 bits."""
    host = np.random.default_rng(0).integers(0, 100, (6, 50)).astype(dtype)
    if host.dtype.kind == "f":
        host[2, 3:5], host[3], host[4] = np.nan, -host[3], 0
        host[4, 7] = -0.0
    if host.dtype.kind == "i":
        host = -host
    d = cuda.to_device(host)
    for function in (np.argmax, np.argmin):
        for axis in (None, 0, 1):
            assert_same(function, (d, axis), (host, axis))
        assert_same(function, (d.T,), (host.T,), {"axis": 1, "keepdims": True})


def test_conj_of_real_array_returns_the_array():
    for host in (np.array([True, False]), np.arange(3), np.array([1 + 2j, 3])):
        device = cuda.to_device(host)
        assert_equal_results(device.conj(), host.conj())
        assert (device.conj() is device) == (host.conj() is host)


@pytest.mark.parametrize(
    "values", [(3, np.inf), (-np.inf,) * 40, (1, np.nan), (1j, np.inf)], ids=str
)
def test_variances_of_infinities_and_nan_match_numpy(values):
    host = np.array([values] * 3)
    for axis in (None, 0, 1):
        assert_same(np.var, (cuda.to_device(host), axis), (host, axis))


def test_variances_with_dtype_match_numpy():
    host = np.arange(6, dtype="i2").reshape(2, 3)
    for dtype in ("f4", "D"):
        assert_same(np.var, (cuda.to_device(host), 0, dtype), (host, 0, dtype))


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar", "nanstd"])
def test_means_with_dtype_and_out_match_numpy(name):
    """The sum of a mean has dtype=, the quotient has the dtype of out=; deviations have an imaginary part if
    the
    elements or the means have one."""
    function = getattr(np, name)
    values = np.array([[1.5, 2, 4], [0, 7, 7.25]])
    pairs = itertools.product(("i4", "f4", "f8", "D"), ("i8", "f4", "f8", "D"))
    for dtype, asked in draw_cases(2, pairs, name):
        x = (values + (2j * values[::-1] if dtype == "D" else 0)).astype(dtype)
        d = cuda.to_device(x)
        if name.startswith("nan") and x.dtype.kind != "i" and asked == "i8":
            continue
        for out in (np.zeros(2), np.zeros(2, "D")):
            expected = function(x, axis=1, dtype=asked, out=out)
            made = function(d, axis=1, dtype=asked, out=cuda.to_device(np.zeros_like(out)))
            np.testing.assert_allclose(made.copy_to_host(), expected, 1e-6)
        np.testing.assert_allclose(
            function(d, dtype=asked).copy_to_host(), function(x, dtype=asked), 1e-6
        )


def test_complex_variances_in_real_dtypes_warn():
    with pytest.warns(getattr(np, "exceptions", np).ComplexWarning):
        np.var(cuda.to_device(np.array([1 + 2j, 3])), dtype=float)


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="NumPy before 2.1")
def test_cumulative_sums_have_one_axis():
    x = np.ones((2, 3))
    for axis, error in (
        ((), ValueError),
        ((0, 1), ValueError),
        ((0, 5), ValueError),
        ([0], TypeError),
    ):
        for a in (x, cuda.to_device(x)):
            with pytest.raises(error):
                np.cumulative_sum(a, axis=axis)


def test_one_pass_variances_in_parts_match_numpy():
    """Tests indices, means and variances that several blocks compute together, also of numbers far
    from zero, for which sums of squares would lose all digits."""
    host = np.random.default_rng(0).integers(0, 100, (70, 40, 12)).astype("f8")
    host[3, 4, 5] = host[60, 1, 1] = 1000
    for x in draw_cases(1, (host, (host + 1j * host[::-1])[:, :20]), "one pass"):
        d = cuda.to_device(x)
        for axis in (None, 0, 2):
            assert_same(np.argmax, (d, axis), (x, axis))
            np.testing.assert_allclose(np.std(d, axis).copy_to_host(), np.std(x, axis), 1e-12)
    for _ in range(2):  # C code replays the second call
        d = cuda.to_device(host)
        np.testing.assert_allclose(np.var(d, ddof=2).item(), np.var(host, ddof=2), 1e-12)
        assert_same(np.mean, (d, 1), (host, 1), {"keepdims": True})
        assert_same(np.argmin, (d[::-2],), (host[::-2],))
    counted = (host % 7 == 3) * 1j, (host // 90).astype("i8"), (host > 98).astype("f2") * np.nan
    for x in draw_cases(2, counted, "counted in one pass"):
        d = cuda.to_device(x)
        for axis in (None, 1, (0, 2), None):
            for function in (np.any, np.all, np.count_nonzero):
                assert_same(function, (d, axis), (x, axis))
        assert_same(np.count_nonzero, (d[::2].T, 1), (x[::2].T, 1), {"keepdims": True})
    far = (host % 100 + 4e6).astype("f4")
    assert abs(np.std(cuda.to_device(far)).item() / np.std(host % 100) - 1) < 0.05


@draw_examples(20)
@given(data=st.data())
def test_argmax_count_nonzero_and_scans_match_numpy(data):
    name = data.draw(st.sampled_from(["argmax", "argmin", "count_nonzero", "cumsum", "cumprod"]))
    device, host = data.draw(draw_array_pair(["f4", "i4", "u1", "?"]))
    keywords = {"axis": draw_axis_argument(data.draw, host.ndim, several=False)}
    if name in ("argmax", "argmin") and host.ndim and data.draw(st.booleans()):
        keywords["keepdims"] = True
    assert_same(getattr(np, name), (device,), (host,), keywords)


def test_reductions_with_nan_match_numpy():
    host = np.array([[1.5, np.nan, 2], [3, 4, np.nan]], "f4")
    d = cuda.to_device(host)
    for name in ("argmax", "argmin", "max", "sum", "mean", "std"):
        assert_equal_results(getattr(np, name)(d, axis=1), getattr(np, name)(host, axis=1))
    for name, dtype in (
        ("sum", "f4"),
        ("mean", "f8"),
        ("std", "f4"),
        ("argmax", "i8"),
        ("any", "?"),
    ):
        out = cuda.device_array(2, dtype)
        assert getattr(np, name)(d, axis=1, out=out) is out
        expected = np.empty(2, dtype)
        getattr(np, name)(host, axis=1, out=expected)
        assert_equal_results(out, expected)
    half = np.full(3000, 60, "f2")
    assert_equal_results(np.mean(cuda.to_device(half)), np.mean(half))


# ------------------------------------------------------------------------------------------ shapes


def draw_axis(draw, ndim):
    return draw(st.integers(-ndim - 1, ndim))


SHAPES = {
    "reshape": lambda draw, x: (draw(st.sampled_from([-1, (x.size,), (1, -1), (2, -1)])),),
    "ravel": lambda draw, x: (draw(st.sampled_from("CFA")),),
    "transpose": lambda draw, x: (),
    "swapaxes": lambda draw, x: (draw_axis(draw, x.ndim), draw_axis(draw, x.ndim)),
    "moveaxis": lambda draw, x: (draw_axis(draw, x.ndim), draw_axis(draw, x.ndim)),
    "rollaxis": lambda draw, x: (draw_axis(draw, x.ndim), draw_axis(draw, x.ndim)),
    "expand_dims": lambda draw, x: (draw(st.sampled_from([0, -1, (0, 1), (0, 0), 9])),),
    "squeeze": lambda draw, x: (draw(st.sampled_from([None, 0, -1])),),
    "flip": lambda draw, x: (draw(st.sampled_from([None, 0, -1, (0, 1)])),),
    "flipud": lambda draw, x: (),
    "fliplr": lambda draw, x: (),
    "rot90": lambda draw, x: (draw(st.integers(-5, 5)),),
    "diagonal": lambda draw, x: (draw(st.integers(-2, 2)),),
    "trace": lambda draw, x: (draw(st.integers(-2, 2)),),
    "broadcast_to": lambda draw, x: (draw(st.sampled_from([(2, *x.shape), x.shape, (3,), 2])),),
    "atleast_1d": lambda draw, x: (),
    "atleast_2d": lambda draw, x: (),
    "atleast_3d": lambda draw, x: (),
    "array_split": lambda draw, x: (draw(st.sampled_from([1, 2, 3, 0, [1, 2], [2, 1]])),),
    "split": lambda draw, x: (draw(st.sampled_from([1, 2, [1]])), draw_axis(draw, x.ndim)),
    "hsplit": lambda draw, x: (1,),
    "vsplit": lambda draw, x: (1,),
    "dsplit": lambda draw, x: (1,),
    "roll": lambda draw, x: (draw(st.integers(-7, 7)), draw(st.sampled_from([None, 0, -1]))),
    "tile": lambda draw, x: (draw(st.sampled_from([2, (2, 1), (1, 2, 1, 2), ()])),),
    "diff": lambda draw, x: (draw(st.integers(0, 2)), draw_axis(draw, x.ndim)),
    "shape": lambda draw, x: (),
    "ndim": lambda draw, x: (),
    "size": lambda draw, x: (draw(st.sampled_from([None, 0])),),
    "copy": lambda draw, x: (),
    "zeros_like": lambda draw, x: (draw(st.sampled_from([None, "i2"])),),
    "ones_like": lambda draw, x: (None, draw(st.sampled_from("CFAK"))),
    "full_like": lambda draw, x: (3, None, "K", True, draw(st.sampled_from([None, (2, 2), 3]))),
    "real": lambda draw, x: (),
    "imag": lambda draw, x: (),
    "angle": lambda draw, x: (),
    "iscomplexobj": lambda draw, x: (),
    "result_type": lambda draw, x: ("f4", np.int16),
    "round": lambda draw, x: (draw(st.integers(-2, 3)),),
    "array_equal": lambda draw, x: (x.copy(),),
    "array_equiv": lambda draw, x: (x[:1] if x.ndim else x,),
    "isclose": lambda draw, x: (1,),
    "clip": lambda draw, x: draw(st.sampled_from(LIMITS)),
}
LIMITS = [(1, None), (None, 3), (1, 3)]
if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # 2.0 refuses no limits
    LIMITS.append((None, None))


@pytest.mark.parametrize("name", SHAPES)
def test_shape_functions_match_numpy(name):
    @draw_examples(6)
    @given(data=st.data())
    def compare_random_call(data):
        dtypes = {"clip": ["f4", "i4"], "diff": ["f4", "i4"], "angle": ["?", "i2", "f4", "c8"]}
        device, host = data.draw(draw_array_pair(dtypes.get(name, ["f4", "c8"])))
        args = SHAPES[name](data.draw, host)
        assert_same(getattr(np, name), (device, *args), (host, *args))

    compare_random_call()


# ----------------------------------------------------------------------------------- several arrays


@draw_examples(20)
@given(data=st.data())
def test_joining_functions_match_numpy(data):
    shape = data.draw(drawn.draw_shapes(0, 3, most=4))
    pairs = [
        data.draw(draw_array_pair(["f4", "i4", "f8"], shape=shape))
        for _ in range(data.draw(st.sampled_from([1, 2, 3, 10])))
    ]
    device, host = zip(*pairs, strict=True)
    if data.draw(st.integers(0, 3)) == 0:
        device = (*device[:-1], host[-1]) if len(device) > 1 else device
    name = data.draw(
        st.sampled_from(["concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"])
    )
    keywords = {}
    if name in ("concatenate", "stack"):
        keywords["axis"] = data.draw(st.sampled_from([0, -1, 1]))
        if data.draw(st.integers(0, 3)) == 0:
            keywords |= {"dtype": "f4", "casting": data.draw(st.sampled_from(["safe", "unsafe"]))}
    assert_same(getattr(np, name), (list(device),), (list(host),), keywords)


@draw_examples(15)
@given(data=st.data())
def test_where_matches_numpy(data):
    shape = data.draw(drawn.draw_shapes(0, 3, most=4))
    condition, host_condition = data.draw(draw_array_pair(["?", "i4"], shape=shape))
    x, host_x = data.draw(
        draw_array_pair(["f4", "i4"], shape=data.draw(drawn.draw_broadcast_shape(shape)))
    )
    y = data.draw(st.sampled_from([0, 1.5, np.float64(2), np.arange(0)]))
    if isinstance(y, np.ndarray):
        other, y = data.draw(draw_array_pair(["u1", "c8"], shape=shape))
        assert_same(np.where, (condition, x, other), (host_condition, host_x, y))
    else:
        assert_same(np.where, (condition, x, y), (host_condition, host_x, y))


@numpy_since("2.1", "np.clip accepts integers that the dtype does not have")
def test_clip_bounds_and_tolerances_match_numpy():
    """Bounds of clip that are Python integers outside the dtype's range have no effect; a tolerance that is a
    NumPy scalar is not converted."""
    host = np.arange(200, dtype="u1")
    d = cuda.to_device(host)
    for limits in ((-1, 129), (3, 10**30), (-(2**70), None), (300, None), (None, -1)):
        assert_same(np.clip, (d, *limits), (host, *limits))
    one, below = np.array(1, "f4"), np.nextafter(1.0, 0)
    for atol in (below, np.float64(below), np.float32(below)):
        assert_same(
            np.isclose, (cuda.to_device(one), np.float32(0)), (one, np.float32(0)), {"atol": atol}
        )


def test_sinc_and_fix_match_numpy():
    for dtype in ("f4", "f8", "i4"):
        assert_same_result(np.sinc, np.array([[0, 1, -2], [3, 0, 5]], dtype) / np.array(4, dtype))
        assert_same_result(np.fix, np.array([-1.5, 0, 1.5]).astype(dtype))


def test_i0_matches_numpy():
    x = np.array([[0, 0.5, -7.9, 8], [8.1, -20, 3, 60]])
    for dtype in ("f4", "f8", "i4"):
        assert_same_result(np.i0, x.astype(dtype))
    assert_same_result(np.i0, np.array([0, 1, 9], "f2"))
    assert_same_result(np.i0, x * 1j)


def test_real_if_close_matches_numpy():
    tiny = np.array([1 + 1e-15j, 2])
    for host in (tiny, tiny.astype("c8"), tiny + 1e-8j, tiny.real, tiny[:0]):
        for tol in (100, 1e9, 0.5):
            assert_same_result(np.real_if_close, host, tol)


def test_shares_memory_matches_numpy():
    """Arrays whose address ranges overlap need not share an element."""
    host = np.zeros((4, 6), "i4")
    views = [
        slice(None),
        (slice(None), slice(None, 3)),
        (slice(None), slice(3, None)),
        0,
        slice(9, 9),
    ]
    d = cuda.to_device(host)
    for one in views:
        for other in views:
            expected = np.shares_memory(host[one], host[other])
            assert np.shares_memory(d[one], d[other]) is expected
    assert not np.shares_memory(d, host)


def test_clip_and_round_of_booleans_match_numpy():
    flags = np.array([True, False, True])
    neither = [(None, None)] if (None, None) in LIMITS else []
    for limits in ((False, True), (True, None), (None, False), *neither, (0, 1), (0.5, 2)):
        assert_same_result(np.clip, flags, *limits)
    for decimals in (0, 1, -1):
        assert_same_result(np.round, flags, decimals)


def test_axes_are_any_iterable():
    d = cuda.zeros((2, 3, 4))
    assert np.moveaxis(d, range(2), np.array([1, 2])).shape == (4, 2, 3)
    assert np.expand_dims(d, range(2)).shape == (1, 1, 2, 3, 4)


SEQUENCES = [tuple, list, np.array, lambda numbers: np.array(numbers, "u1")]


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_shapes_and_axes_are_any_sequence(sequence):
    a, of = np.arange(24.0).reshape(2, 3, 4), sequence
    assert_same_result(lambda x: x.reshape(of([4, 6])), a)
    assert_same_result(np.reshape, a, of([24]))
    assert_same_result(lambda x: x.transpose(of([2, 0, 1])), a)
    assert_same_result(np.transpose, a, of([1, 0]))
    assert_same_result(lambda x: np.zeros_like(x, shape=of([2, 5])), a)
    assert_same_result(np.broadcast_to, a, of([2, 2, 3, 4]))
    assert_same_result(np.tile, a, of([2, 1]))
    assert_same_result(np.tensordot, a, a, (of([0, 2]), of([0, 2])))
    assert_same_result(np.average, a, of([0, 2]))
    assert_same_result(np.average, a, of([1]), weights=np.array([1.0, 2, 4]), returned=True)
    assert_same_result(np.fft.fftshift, a, of([0, 2]))


def test_numpy_integers_are_accepted_as_shapes_and_axes():
    a = np.arange(24.0).reshape(2, 3, 4)
    for number in (np.int64(2), np.uint8(2), np.array(2)):
        assert_same_result(np.tile, a, number)
        assert_same_result(np.zeros_like, a, shape=number)
        assert cuda.zeros(number).shape == (2,)
    assert_same_result(np.fft.fftshift, a, np.int64(2))
    assert_same_result(np.tensordot, a, a.transpose(1, 2, 0), np.int64(2))
    assert_same_result(lambda x: x.transpose(range(3)), a)
    assert_same_result(lambda x: x.transpose(()), a)
    assert_same_result(lambda x: x.transpose(np.array(0)), a[0, 0])


def test_copyto_matches_numpy():
    d, host = cuda.to_device(np.zeros(4)), np.zeros(4)
    np.copyto(d, cuda.to_device(np.arange(4)), where=cuda.to_device(np.array([1, 0, 1, 1], bool)))
    assert_equal_results(d, np.array([0.0, 0, 2, 3]))
    np.copyto(host, d)
    np.testing.assert_array_equal(host, d)
    with pytest.raises(TypeError, match="according to the rule 'same_kind'"):
        np.copyto(cuda.to_device(np.zeros(4, "i4")), d)


# ---------------------------------------------------------------------------------------- creation


@pytest.mark.parametrize(
    "args",
    [(5,), (1, 7), (1, 2, 0.25), (3, 0, -1), (np.float32(5),), (0, 5, 2), (np.uint8(9),), (5.5,),
     (0, 3 + 3j), (2, 2), (-3,), (0, -5, -2), (2**40, 2**40 + 3)],
)  # fmt: skip
def test_arange_matches_numpy(args):
    like = cuda.to_device(np.zeros(1))
    expected = np.arange(*args)
    assert_equal_results(np.arange(*args, like=like), expected)
    assert_equal_results(cuda.arange(*args), expected)
    for dtype in ("f4", "i2", "u8"):
        if expected.dtype.kind != "c" and ((expected >= 0) & (expected < 99)).all():
            assert_equal_results(cuda.arange(*args, dtype=dtype), np.arange(*args, dtype=dtype))


def test_linspace_matches_numpy():
    for args in [
        (0, 1),
        (0, 1, 7),
        (2, 5, 1),
        (0, 1, 0),
        (5, 1, 4, False),
        (1j, 2, 3),
        (0, 9, 4, True, False, "i4"),
        (0, 1, 5, True, True),
        (np.float32(0), 1, 3),
        (np.float16(1), np.ones(2, "f2"), 3),
    ]:
        made, expected = cuda.linspace(*args), np.linspace(*args)
        if isinstance(made, tuple):
            assert made[1] == expected[1]
            made, expected = made[0], expected[0]
        assert_equal_results(made, expected)
    assert_equal_results(
        cuda.linspace(np.zeros(2), np.ones(2), 4, axis=1),
        np.linspace(np.zeros(2), np.ones(2), 4, axis=1),
    )
    assert_equal_results(
        np.linspace(cuda.to_device(np.zeros(2)), 1, 3), np.linspace(np.zeros(2), 1, 3)
    )
    ends = (
        np.array([0, 120], "f4"),
        np.array([100, 0], "f4"),
    )  # steps in float32, equal to NumPy's in every bit
    for dtype in ("f4", "i4"):
        made = np.linspace(*map(cuda.to_device, ends), 50, dtype=dtype)
        np.testing.assert_array_equal(made.get(), np.linspace(*ends, 50, dtype=dtype))
    with pytest.raises(ValueError, match="must be non-negative"):
        cuda.linspace(0, 1, -1)


def test_creation_functions_match_numpy():
    like = cuda.to_device(np.zeros(1))
    for call in (
        lambda np_, **k: np_.zeros((2, 3), "i4", **k),
        lambda np_, **k: np_.ones(3, "c8", **k),
        lambda np_, **k: np_.full((2, 2), [1, 2], **k),
        lambda np_, **k: np_.full(2, 1.5, "f4", order="F", **k),
        lambda np_, **k: np_.eye(3, 4, 1, "f4", **k),
        lambda np_, **k: np_.eye(2, k=5, **k),
    ):
        assert_equal_results(call(np, like=like), call(np))
        assert_equal_results(call(cuda), call(np))
    assert np.empty((2, 3), "i2", like=like).shape == cuda.empty((2, 3)).shape
    assert_equal_results(np.identity(2, like=like), np.identity(2))
    assert_equal_results(
        np.array([[1, 2]], "f4", ndmin=3, like=like), np.array([[1, 2]], "f4", ndmin=3)
    )
    assert_equal_results(np.asarray([1, 2], like=like), np.asarray([1, 2]))
    assert np.asarray(like, like=like) is like
    assert_equal_results(np.ascontiguousarray(like.reshape(1, 1).T, like=like), np.zeros((1, 1)))
    with pytest.raises(TypeError):
        np.zeros(3, "O", like=like)


def test_lists_of_device_arrays_are_joined_on_the_device(monkeypatch):
    """Lists that contain device arrays are joined on the device."""
    x = np.arange(3.0)
    d = cuda.to_device(x)
    monkeypatch.setattr(type(d), "__array__", lambda *args, **keywords: pytest.fail("a copy"))
    assert_equal_results(np.array([d, d * 2], like=d), np.array([x, x * 2]))
    assert_equal_results(
        cuda.array([[d, x], [d, [4, 5, 6]]], "f4"), np.array([[x, x], [x, [4, 5, 6]]], "f4")
    )
    with pytest.raises(ValueError, match="same shape"):
        np.array([d, d[:2]], like=d)
    for listed in ([d, d], [1, 2]):
        with pytest.raises(ValueError, match="avoid copy"):
            np.asarray(listed, copy=False, like=d)


# ------------------------------------------------------------------------------------------- texts


def test_str_and_format_match_numpy():
    host = np.linspace(0, 1, 5, dtype="f4")
    d = cuda.to_device(host)
    assert str(d) == str(host) == np.array2string(d) == np.array_str(d)
    assert f"{d.sum():.2f}" == "2.50" and f"{d}" == str(host)
    assert repr(d) == "DeviceNDArray([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32, device=0)"


def test_save_functions_accept_device_arrays(tmp_path):
    d = cuda.to_device(np.arange(3.0))
    np.save(tmp_path / "d.npy", d)
    np.savez(tmp_path / "d.npz", d, named=d)
    np.savetxt(tmp_path / "d.txt", d)
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy"), d)
    np.testing.assert_array_equal(np.load(tmp_path / "d.npz")["named"], d)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "d.txt"), d)
    assert_equal_results(np.loadtxt(tmp_path / "d.txt", like=d), np.arange(3.0))
    assert_equal_results(
        np.genfromtxt(tmp_path / "d.txt", dtype="f4", like=d), np.arange(3, dtype="f4")
    )
    (tmp_path / "d.bin").write_bytes(np.arange(3.0).tobytes())
    assert_equal_results(np.fromfile(tmp_path / "d.bin", like=d), np.arange(3.0))


def test_frombuffer_and_fromiter_match_numpy():
    d = cuda.zeros(1)
    assert_equal_results(np.frombuffer(b"abcd", "u2", like=d), np.frombuffer(b"abcd", "u2"))
    assert_equal_results(np.fromiter(range(3), "i4", like=d), np.arange(3, dtype="i4"))
    assert_equal_results(np.fromstring("1 2", sep=" ", like=d), np.array([1.0, 2]))


def test_tolerances_that_are_not_finite_are_reported():
    d = cuda.to_device(np.arange(3.0))
    x = np.array([0, 1, 2, np.inf, np.nan])
    y = np.array([0, 1.5, np.inf, np.inf, np.nan])
    for bad in (np.nan, np.inf, -np.inf, np.float32("nan")):
        for function in (np.isclose, np.allclose):
            for name in ("atol", "rtol"):
                with pytest.warns(RuntimeWarning, match="One of rtol or atol is not valid"):
                    found = function(cuda.to_device(x), cuda.to_device(y), **{name: bad})
                with np.errstate(invalid="ignore"):
                    expected = function(x, y, **{name: bad})
                np.testing.assert_array_equal(found, expected)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="not valid"):
        np.isclose(d, d, np.nan)


def test_quantiles_broadcast_into_a_larger_out():
    rng = random_generator()
    x = rng.normal(size=(3, 4))
    for q, shape in ((0.5, (1,)), (0.5, (2, 3)), ([0.2, 0.9], (3, 2))):
        expected = np.quantile(x, q, out=np.empty(shape))
        found = np.quantile(cuda.to_device(x), q, out=cuda.device_array(shape))
        np.testing.assert_allclose(found, expected)
    with pytest.raises(ValueError, match="out has shape"):
        np.quantile(cuda.to_device(x), [0.2, 0.9], out=cuda.device_array((2, 3)))


def test_arange_of_random_integers_matches_numpy():
    """C code numbers an array for ints; the device, the stream and other types are left to Python code."""
    rng = random_generator()
    for _ in range(60):
        count = int(rng.integers(1, 4))
        given = [int(n) for n in rng.integers(-300, 300, count)]
        if count == 3 and given[2] == 0:
            continue
        got, want = cuda.arange(*given), np.arange(*given)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_array_equal(got.copy_to_host(), want)
    for given in ((), (2.0,), (True,), (1, 2, 0), (1 << 60, (1 << 60) + 3), (1, None)):
        assert _core.arange(*given) is NotImplemented
    np.testing.assert_array_equal(
        cuda.arange(1 << 60, (1 << 60) + 3).copy_to_host(), np.arange(1 << 60, (1 << 60) + 3)
    )
    with pytest.raises(ZeroDivisionError):
        cuda.arange(1, 2, 0)
    stream = cuda.stream()
    with stream:
        made = cuda.arange(7)
    assert made.stream is stream
    np.testing.assert_array_equal(made.copy_to_host(), np.arange(7))
