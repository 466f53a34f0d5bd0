"""Tests the C code that calls an element-wise function: reading operands, planning, launching,
results. NumPy is the oracle; NumPy also chooses the loop, so that only the engine is under test."""

import gc
import itertools
import threading

import numpy as np
import pytest
from kit.arrays import ForeignArray
from numpy.testing import assert_array_equal

from numbalite import _core, cuda, errors, types, vectorize
from numbalite.kernels.options import Options
from numbalite.ufuncs import cudaloops, element


def dtype_code(dtype):
    name = "boolean" if dtype == np.bool_ else dtype.name
    found = [i for i, t in enumerate(types.SCALARS) if t.name == name]
    if not found:
        raise TypeError(f"no loop for {dtype}")
    return 1 + found[0]


class LikeNumpyUfunc(_core.Ufunc):
    """A minimal subclass, which selects types like the NumPy ufunc `like`."""

    def __init__(self, like, expression, args="x, y"):
        super().__init__(like.__name__, like.nin, like.nout)
        self.like = like
        self.function = element.element_function(source=expression, args=args, name=like.__name__)
        self.asked, self.compiled = [], []

    def _choose(self, inputs, outputs, casting, dtype, signature):
        self.asked.append((inputs, outputs, casting, dtype, signature))
        if dtype is not None:
            signature = (None,) * self.nin + (np.dtype(dtype),) * self.nout
        more = {} if signature is None else {"signature": signature}
        found = self.like.resolve_dtypes(inputs + outputs, casting=casting, **more)
        return bytes(dtype_code(d) for d in found)

    def _compile(self, device, loop, stored, kind, dims):
        self.compiled.append((kind, dims))
        scalars = tuple(types.SCALARS[c - 1] for c in loop)
        plan = cudaloops.UfuncPlan(scalars, self.nin, stored, kind, dims)
        kernel = cudaloops.plan_kernel(self.function, plan, Options()).load(device)
        return kernel, cudaloops.BLOCK_THREADS, cudaloops.elements_per_thread(plan)


@pytest.fixture(scope="module")
def add():
    return LikeNumpyUfunc(np.add, "x + y")


@pytest.fixture(scope="module")
def negative_ufunc():
    return LikeNumpyUfunc(np.negative, "-x", "x")


@pytest.fixture(scope="module")
def divmod_():
    return LikeNumpyUfunc(np.divmod, "return make_tuple(floor(x / y), x - y * floor(x / y));")


def to_host_array(x):
    return x.copy_to_host() if isinstance(x, _core.DeviceArray) else x


def copy_to_device(x):
    """Returns a device array with the strides of x, as a view of a larger array."""
    x = np.asarray(x)
    base = x
    while base.base is not None:
        base = base.base
    d = cuda.to_device(base.reshape(-1) if base.flags.c_contiguous else base)
    offset = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return d._view(x.shape, x.strides, None, offset)


def traced_calls():
    """Returns the driver calls that were traced. With several devices, calls also query the current
    context."""
    return [name for name in _core.traced() if name != "cuCtxGetCurrent"]


def check_like_numpy(ufunc, like, *arrays, **kwargs):
    """A call returns NumPy's result with host arrays and with device arrays."""
    expected = like(*arrays, **kwargs)
    result = ufunc(*arrays, **kwargs)
    assert type(result) is type(expected)
    assert result.dtype == expected.dtype
    assert_array_equal(result, expected)
    if isinstance(expected, np.ndarray) and 0 not in expected.shape:
        assert result.strides == expected.strides
    on_device = ufunc(*map(copy_to_device, arrays), **kwargs)
    assert isinstance(on_device, _core.DeviceArray)
    assert (on_device.shape, on_device.dtype) == (expected.shape, expected.dtype)
    if 0 not in expected.shape:
        assert on_device.strides == np.asarray(expected).strides
    assert_array_equal(on_device.copy_to_host(), expected)


# ------------------------------------------------------------------------------------ geometry

A = np.arange(4 * 6 * 8, dtype="f4").reshape(4, 6, 8)
VIEWS = {
    "dense": A,
    "fortran": np.asfortranarray(A),
    "transposed": A.transpose(2, 0, 1).copy().transpose(1, 2, 0),
    "backwards": A[::-1, ::-1, ::-1],
    "partly backwards": A[:, ::-1],
    "every other": np.arange(8 * 6 * 16, dtype="f4").reshape(8, 6, 16)[::2, :, ::2],
    "row": A[0, 0],
    "column": A[0, :, :1],
    "one": A[:1, :1, :1],
    "broadcast": np.broadcast_to(A[0, 0], A.shape),
    "shifted": np.arange(4 * 6 * 8 + 1, dtype="f4")[1:].reshape(4, 6, 8),
    "scalar array": np.array(3, dtype="f4"),
}


@pytest.mark.parametrize("first", VIEWS)
@pytest.mark.parametrize("second", VIEWS)
def test_operands_of_each_view_match_numpy(add, first, second):
    check_like_numpy(add, np.add, VIEWS[first], VIEWS[second])


@pytest.mark.parametrize("order", "KCFA")
@pytest.mark.parametrize("view", ["dense", "fortran", "transposed", "partly backwards"])
def test_order_argument_matches_numpy(add, view, order):
    check_like_numpy(add, np.add, VIEWS[view], VIEWS[view], order=order)


def test_broadcast_rows_use_row_kernels(add):
    """Tests kernels by rows: operands are a matrix and a row, or a matrix and a column."""
    before = len(add.compiled)
    m = np.arange(6 * 128, dtype="f4").reshape(6, 128)
    check_like_numpy(add, np.add, m, m[0])
    check_like_numpy(add, np.add, m, m[:, :1])
    check_like_numpy(
        add, np.add, np.arange(4 * 6 * 256, dtype="f4").reshape(4, 6, 256)[::2, ::3, :128], m[:2]
    )
    assert ("rows", 1) in add.compiled[before:] and ("rows", 2) in add.compiled[before:]


def test_operand_layout_selects_the_kernel(add):
    other = LikeNumpyUfunc(np.add, "x + y")
    d = cuda.to_device(np.arange(64, dtype="f4"))
    other(d, d)
    other(d, cuda.to_device(np.ones((1,), "f4")))  # one element for all
    assert other.compiled == [("flat", 0)]
    other(d[::2], d[:32])
    other(d[1:33], d[:32])  # not aligned
    assert other.compiled == [("flat", 0), ("strided32", 1)]
    bytes_of = cuda.to_device(np.zeros(65, "u1"))
    other(bytes_of[1:33], bytes_of[:32])
    assert other.compiled[-1] == ("shifted", 1)
    eight = cuda.to_device(np.zeros(65))
    other(eight[1:33], eight[:32])
    assert other.compiled[-1] == ("single", 1)
    odd = cuda.to_device(np.zeros(65, "u1"))
    x = odd._view((16,), None, "f4", 1)  # elements that are not aligned
    assert_array_equal(other(x, x).copy_to_host(), np.zeros(16))
    assert other.compiled[-1] == ("strided64", 1)


@pytest.mark.parametrize("ndim", [2, 3, 4, 5, 7, 9, 17, 32])
def test_many_dimensions_match_numpy(add, ndim):
    n = min(ndim, 9)
    a = np.arange(2**n, dtype="i4").reshape((2,) * n + (1,) * (ndim - n))
    order = np.random.default_rng(ndim).permutation(ndim)
    check_like_numpy(add, np.add, a, a.transpose(order).reshape(a.shape) if n == ndim else a)
    check_like_numpy(
        add, np.add, a[::-1], np.broadcast_to(a.sum(axis=0, keepdims=True, dtype="i4"), a.shape)
    )


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 4)])
def test_empty_operands_match_numpy(add, shape):
    check_like_numpy(add, np.add, np.zeros(shape), np.zeros(shape))
    check_like_numpy(add, np.add, np.zeros(shape), np.zeros(shape[-1:]))
    out = np.zeros(shape)
    assert add(out, 1, out=out) is out


def test_operands_broadcast_as_in_numpy(add):
    for one, two in itertools.product([(3, 1), (1, 4), (4,), (2, 1, 1), (2, 3, 4), ()], repeat=2):
        x = np.arange(np.prod(one, dtype=int), dtype="f8").reshape(one)
        y = np.arange(np.prod(two, dtype=int), dtype="f8").reshape(two)
        check_like_numpy(add, np.add, x, y)


# ------------------------------------------------------------------------------------ operands


@pytest.mark.parametrize("dtype", "? b h i q B H I Q e f d F D".split())
def test_addition_of_every_dtype_matches_numpy(add, dtype):
    x = np.array([0, 1, 1, 0, 1], dtype)
    check_like_numpy(LikeNumpyUfunc(np.add, "x | y") if dtype == "?" else add, np.add, x, x[::-1])


def test_kernels_convert_operand_dtypes(add):
    codes = "b H i q e f d F".split()
    for at, one in enumerate(codes):
        for two in (codes[at - 1], codes[at - 3]):
            x, y = np.arange(7).astype(one), (np.arange(7) * 3).astype(two)
            check_like_numpy(add, np.add, x, y)


def test_python_numbers_do_not_change_the_dtype(add):
    x = np.arange(5, dtype="f4")
    for y in (1, 2.5, True):
        check_scalar = np.add(x, y)
        for result in (add(x, y), add(y, x), add(copy_to_device(x), y)):
            assert result.dtype == check_scalar.dtype == np.float32
            assert_array_equal(to_host_array(result), check_scalar)
    assert add(x, 1j).dtype == np.complex64
    assert add(x, np.float64(1)).dtype == np.float64
    assert add(np.int8(3), 4).dtype == np.int8


@pytest.mark.parametrize(
    "x, y", [(1, 2), (1, 2.5), (1j, 2), (True, 3), (np.float32(1), 2), (np.int8(1), np.int16(5))]
)
def test_scalar_operands_return_scalars(add, x, y):
    result, expected = add(x, y), np.add(x, y)
    assert type(result) is type(expected) and result == expected


def test_out_of_range_python_integers_raise(add):
    x = np.arange(3, dtype="u1")
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for uint8"):
        add(x, 300)
    with pytest.raises(OverflowError, match="Python integer -1 out of bounds for uint8"):
        add(copy_to_device(x), -1)
    with pytest.raises(OverflowError):
        add(np.zeros(3), 10**400)
    assert_array_equal(add(np.zeros(3), 10**30), np.full(3, 1e30))


def test_ufunc_engine_accepts_lists_and_subclasses(add):
    assert_array_equal(add([1, 2, 3], (4, 5, 6)), [5, 7, 9])
    matrix = np.arange(4.0).reshape(2, 2).view(np.matrix)
    assert_array_equal(add(matrix, 1), np.arange(4.0).reshape(2, 2) + 1)
    with pytest.raises(TypeError, match="masked array"):
        add(np.ma.array([1, 2], mask=[0, 1]), 1)


def test_byte_swapped_arrays_are_converted(add):
    x = np.arange(5, dtype=">f4")
    assert_array_equal(add(x, x), np.arange(5) * 2)
    out = np.zeros(5, ">f8")
    assert add(x, 1, out=out) is out
    assert_array_equal(out, np.arange(5) + 1)


def test_types_without_a_loop_raise(add):
    for x in (np.array(["a"]), np.array([object()]), "text", object(), np.zeros(2, "M8[s]")):
        with pytest.raises(TypeError):
            add(x, 1)


def test_ufunc_engine_accepts_foreign_arrays(add):
    d = cuda.to_device(np.arange(6, dtype="f4"))
    result = add(ForeignArray(d), ForeignArray(d[::-1]))
    assert isinstance(result, _core.DeviceArray)
    assert_array_equal(result.copy_to_host(), np.full(6, 5))
    out = ForeignArray(cuda.device_array(6, np.float32))
    assert add(d, d, out=out) is out
    assert_array_equal(out.array.copy_to_host(), np.arange(6) * 2)


def test_host_and_device_operands_give_device_results(add):
    """If one operand is on the device, the result is on the device."""
    d = cuda.to_device(np.arange(6, dtype="f4"))
    x = np.arange(6, dtype="f8")
    result = add(d, x)
    assert isinstance(result, _core.DeviceArray) and result.dtype == np.float64
    assert_array_equal(result.copy_to_host(), np.arange(6) * 2)
    out = np.zeros(6)
    assert add(d, x, out=out) is out
    assert_array_equal(out, np.arange(6) * 2)
    out = cuda.device_array(6, np.float64)
    assert add(x, x, out=out) is out
    assert_array_equal(out.copy_to_host(), np.arange(6) * 2)
    assert add(cuda.to_device(np.array(2.0)), 3).copy_to_host() == 5


@pytest.mark.parametrize("n", [1, 1000, 100_000])
def test_host_arrays_of_all_sizes_match_numpy(add, n):
    x = np.arange(2 * n, dtype="f4").reshape(2, n)
    check_like_numpy(add, np.add, x, x[:1])
    check_like_numpy(add, np.add, x[:, ::-1], x[:, :1])


def test_large_strides_use_64_bit_offsets():
    """A few elements with large strides need offsets of 64 bits."""
    double = LikeNumpyUfunc(np.negative, "-x", "x")
    far = cuda.device_array(3 << 30, np.uint8)
    x = far._view((3,), (1 << 30,), "f4", 0)
    x[:] = np.array([1, 2, 3], "f4")
    assert_array_equal(double(x).copy_to_host(), [-1, -2, -3])
    assert double.compiled == [("strided64", 1)]


class ArrayUfuncHandler:
    """Handles ufuncs itself (NEP 13)."""

    answer = "handled"

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.seen = ufunc, method, inputs, kwargs
        return self.answer


class ArrayUfuncRefuser(ArrayUfuncHandler):
    answer = NotImplemented


def test_operands_with_array_ufunc_handle_the_call(add):
    h = ArrayUfuncHandler()
    assert add(h, 1) == "handled"
    assert h.seen == (add, "__call__", (h, 1), {})
    assert add(1, h, order="C") == "handled"
    assert h.seen == (add, "__call__", (1, h), {"order": "C"})
    out = np.zeros(3)
    assert add(1, h, out) == "handled"
    assert h.seen[3]["out"] == (out,)
    assert add(1, h, out=out) == "handled"
    assert h.seen[3]["out"][0] is out
    assert add(1, 2, out=h) == "handled"
    assert add(ArrayUfuncHandler(), ArrayUfuncRefuser()) == "handled"
    with pytest.raises(TypeError, match="all returned NotImplemented .* 'ArrayUfuncRefuser'"):
        add(ArrayUfuncRefuser(), 1)
    Silent = type("Silent", (), {"__array_ufunc__": None})
    with pytest.raises(TypeError, match="'Silent' does not support ufuncs"):
        add(Silent(), 1)


def test_dask_arrays_are_delegated():
    dask_array = pytest.importorskip("dask.array")
    plus = vectorize(source="x + y", args="x, y", target="cuda")
    x = dask_array.arange(10, chunks=4)
    lazy = plus(x, 1)
    assert isinstance(lazy, dask_array.Array)
    assert_array_equal(lazy.compute(scheduler="synchronous"), np.arange(10) + 1)


# ------------------------------------------------------------------------------------ outputs


def test_out_argument_is_filled_and_returned(add):
    x = np.arange(6, dtype="f4")
    for out in (np.zeros(6, "f4"), np.zeros(6, "f8"), np.zeros((2, 6)), np.zeros(12, "f4")[::2],
                np.zeros((3, 6), "c8", order="F")):  # fmt: skip
        expected = np.add(x, 1, out=np.zeros_like(out))
        assert add(x, 1, out=out) is out
        assert_array_equal(out, expected)
        d = copy_to_device(np.zeros_like(out))
        assert add(copy_to_device(x), 1, d) is d
        assert_array_equal(d.copy_to_host(), expected)
        assert add(x, 1, out=(d,)) is d


def test_ellipsis_as_out_returns_an_array(add, divmod_):
    """With an Ellipsis as out=, results stay arrays, as in NumPy 2.3."""
    result = add(1, 2, out=...)
    assert isinstance(result, np.ndarray) and result.shape == () and result == 3
    assert all(isinstance(r, np.ndarray) for r in divmod_(7.0, 3.0, out=...))
    assert_array_equal(add(np.arange(3), 1, out=...), [1, 2, 3])


def test_two_outputs_match_numpy(divmod_):
    x = np.arange(7.0)
    check_quotient, check_rest = np.divmod(x, 3)
    quotient, rest = divmod_(x, 3.0)
    assert_array_equal(quotient, check_quotient)
    assert_array_equal(rest, check_rest)
    out = np.zeros(7)
    result = divmod_(x, 3.0, out=(None, out))
    assert isinstance(result, tuple) and result[1] is out
    assert_array_equal(result[0], check_quotient)
    assert_array_equal(out, check_rest)
    assert divmod_(x, 3.0, None, out)[1] is out
    result = divmod_(7.0, 3.0)
    assert result == (2.0, 1.0) and all(type(x) is np.float64 for x in result)
    result = divmod_(cuda.to_device(x), 3.0)
    assert_array_equal(result[1].copy_to_host(), check_rest)
    with pytest.raises(TypeError, match="'out' must be a tuple of arrays"):
        divmod_(x, 3.0, out=out)
    with pytest.raises(ValueError, match="exactly one entry per ufunc output"):
        divmod_(x, 3.0, out=(out,))


OVERLAPS = {
    "same": lambda a: (a, a),
    "ahead": lambda a: (a[:-1], a[1:]),
    "behind": lambda a: (a[1:], a[:-1]),
    "backwards": lambda a: (a[::-1], a),
    "interleaved": lambda a: (a[::2], a[1::2]),
    "first half": lambda a: (a[: len(a) // 2], a[::2]),
    "broadcast": lambda a: (a[:1], a),
    "transposed": lambda a: (a[:36].reshape(6, 6).T, a[:36].reshape(6, 6)),
    "row": lambda a: (a[6:12], a[:36].reshape(6, 6)),
}


@pytest.mark.parametrize("case", OVERLAPS)
def test_overlapping_out_matches_numpy(add, case):
    a = np.arange(300, dtype="f4")
    x, out = OVERLAPS[case](a)
    d = cuda.to_device(a)
    dx, dout = OVERLAPS[case](d)
    h = a.copy()
    hx, hout = OVERLAPS[case](h)
    np.add(x, 1, out=out)
    add(dx, 1, out=dout)
    assert_array_equal(d.copy_to_host(), a)
    add(hx, 1, out=hout)
    assert_array_equal(h, a)


class RandomView:
    """Creates random views of arrays with `size` elements of 4 bytes."""

    def __init__(self, random, shape, size):
        self.shape = shape
        for _ in range(1000):
            strides = random.integers(-9, 10, len(shape)) * random.choice([1, 3], len(shape)) * 4
            ends = (np.array(shape) - 1) * strides
            low, high = ends[ends < 0].sum(), ends[ends > 0].sum()
            if high - low < 4 * size:
                break
        self.strides = tuple(map(int, strides))
        self.offset = int(-low + 4 * random.integers(0, size - (high - low) // 4))
        places = sum(np.ix_(*(np.arange(n) * s for n, s in zip(shape, strides, strict=True))))
        self.is_apart = np.unique(places).size == places.size

    def __call__(self, array):
        if isinstance(array, np.ndarray):
            return np.ndarray(self.shape, array.dtype, array, self.offset, self.strides)
        return array._view(self.shape, self.strides, None, self.offset)


@pytest.mark.parametrize("seed", range(20))
def test_randomly_overlapping_out_matches_a_copied_input(add, seed):
    """Inputs and output may be any views of one array, masked or not; the result is as if they did
    not overlap."""
    random = np.random.default_rng(seed)
    base = random.integers(0, 1000, 120).astype("i4")
    done = 0
    while done < 10:
        shape = tuple(int(n) for n in random.integers(1, 5, random.integers(1, 4)))
        x, y, out = (RandomView(random, shape, base.size) for _ in range(3))
        if not out.is_apart:
            continue
        done += 1
        if random.random() < 0.3:
            x = out
        mask = random.random(shape) < 0.5 if random.random() < 0.5 else True
        h, d, expected = base.copy(), cuda.to_device(base), base.copy()
        np.copyto(out(expected), x(base) + y(base), where=mask)
        try:
            add(x(d), y(d), out=out(d), where=mask)
        except ValueError as error:  # interleaved, which resembles an overlap
            assert "overlap in memory" in str(error)
            continue
        assert_array_equal(d.copy_to_host(), expected)
        add(x(h), y(h), out=out(h), where=mask)
        assert_array_equal(h, expected)


def test_interleaved_operands_are_not_copied(add):
    d = cuda.to_device(np.arange(64, dtype="f4"))
    add(d[::2], 1, out=d[1::2])
    gc.collect()  # what earlier tests have left
    before = _core.live()["buffers"]
    _core.trace(True)
    add(d[::2], 1, out=d[1::2])
    _core.trace(False)
    assert traced_calls() == ["cuLaunchKernel"]
    assert _core.live()["buffers"] == before


def test_where_argument_matches_numpy(add):
    x = np.arange(12, dtype="f4").reshape(3, 4)
    masks = [x % 2 == 0, np.array([True, False, True, False]), np.array([[True], [False], [True]]),
             np.array(True), np.array(False), False, True, np.True_, [True, False, False, True]]  # fmt: skip
    for mask in masks:
        expected = np.add(x, 1, out=np.full((3, 4), -1, "f4"), where=mask)
        for transform in (np.asarray, copy_to_device):
            out = transform(np.full((3, 4), -1, "f4"))
            assert add(transform(x), 1, out=out, where=mask) is out
            assert_array_equal(to_host_array(out), expected)
        if not isinstance(mask, (bool, np.bool_, list)):
            out = copy_to_device(np.full((3, 4), -1, "f4"))
            add(x, 1, out=out, where=copy_to_device(mask))
            assert_array_equal(to_host_array(out), expected)
    result = add(x, 1, where=x > 3)
    assert_array_equal(result[x > 3], (x + 1)[x > 3])
    assert add(x[0], 1, where=np.ones((3, 4), bool)).shape == (3, 4)
    assert add(1, 2, where=True) == 3


def test_invalid_where_raises(add):
    with pytest.raises(TypeError, match="to dtype\\('bool'\\) according to the rule 'safe'"):
        add(np.ones(3), 1, where=np.ones(3, "i4"))
    with pytest.raises(TypeError):
        add(np.ones(3), 1, where=1)


# ------------------------------------------------------------------------------------ types


def test_dtype_and_signature_select_the_loop(add):
    x = np.arange(4, dtype="i4")
    assert add(x, 1, dtype="f8").dtype == np.float64
    assert add(x, 1, dtype=np.int8, casting="unsafe").dtype == np.int8
    assert add(x, 1, signature=(None, None, np.dtype("f4")), casting="unsafe").dtype == np.float32
    assert add(x, 1, sig="dd->d").dtype == np.float64
    with pytest.raises(TypeError, match="cannot specify both 'signature' and 'dtype'"):
        add(x, 1, sig="dd->d", dtype="f8")
    with pytest.raises(TypeError, match="cannot specify both 'sig' and 'signature'"):
        add(x, 1, sig="dd->d", signature="dd->d")


def test_casting_argument_matches_numpy(add):
    x = np.arange(4, dtype="f8")
    with pytest.raises(TypeError, match="same_kind"):
        add(x, 1, out=np.zeros(4, "i4"))
    out = np.zeros(4, "i4")
    add(x, 1.9, out=out, casting="unsafe")
    assert_array_equal(out, [1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"casting must be one of .* \(got 'odd'\)"):
        add(x, 1, casting="odd")
    with pytest.raises(TypeError):
        add(x, np.arange(4, dtype="f4"), out=np.zeros(4, "f4"), casting="safe")


def test_loop_resolution_calls_python_once():
    other = LikeNumpyUfunc(np.add, "x + y")
    d = cuda.to_device(np.arange(4, dtype="f4"))
    for _ in range(3):
        other(d, d)
        other(d, 1)
    assert len(other.asked) == 2 and len(other.compiled) == 2
    assert other.asked[1][0] == (np.dtype("f4"), int)
    other._clear()
    other(d, d)
    assert len(other.asked) == 3 and len(other.compiled) == 3
    for dtype in ("f8", np.float64, np.dtype("f8")):
        assert other(d, d, dtype=dtype).dtype == np.float64
    assert len(other.asked) == 4 and len(other.compiled) == 4
    with pytest.raises(TypeError):
        other(d, d, dtype="nonsense")


# ------------------------------------------------------------------------------------ mistakes


def test_wrong_numbers_of_arguments_raise(add):
    message = "add() takes from 2 to 3 positional arguments but 1 was given"
    with pytest.raises(TypeError) as caught:
        add(1)
    assert str(caught.value) == message
    with pytest.raises(TypeError, match="but 4 were given"):
        add(1, 2, 3, 4)
    with pytest.raises(TypeError, match="cannot specify 'out' as both a positional and keyword"):
        add(1, 2, np.zeros(1), out=np.zeros(1))
    for name in ("axis", "axes", "keepdims", "other"):
        with pytest.raises(
            TypeError, match=rf"add\(\) got an unexpected keyword argument '{name}'"
        ):
            add(1, 2, **{name: 1})


@pytest.mark.parametrize("transform", [np.asarray, copy_to_device])
def test_mismatched_shapes_raise(add, transform):
    with pytest.raises(ValueError) as caught:
        add(transform(np.zeros(2)), transform(np.zeros((3, 3))))
    assert "operands could not be broadcast together with shapes (2,) (3,3) " in str(caught.value)
    assert str(caught.value).startswith("add")
    for shape in ((1,), (4,), (), (3, 1)):
        with pytest.raises(ValueError, match="broadcast"):
            add(transform(np.zeros(3)), 1, out=transform(np.zeros(shape)))
    with pytest.raises(
        ValueError,
        match=r"output operand with shape \(1,\) doesn't match the broadcast shape \(3,\)",
    ):
        add(transform(np.zeros(3)), 1, out=transform(np.zeros(1)))


def test_invalid_outputs_raise(add):
    for out in (3, [1, 2, 3], "x", np.float32(1)):
        with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
            add(1, 2, out=out)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="output array is read-only"):
        add(fixed, 1, out=fixed)
    swapped = np.zeros(3, ">f8")
    swapped.flags.writeable = False
    with pytest.raises(ValueError, match="output array is read-only"):
        add(swapped, 1, out=swapped)
    twice = np.lib.stride_tricks.as_strided(np.zeros(3), (3, 3), (8, 0))
    with pytest.raises(ValueError, match="overlap in memory"):
        add(1, 2, out=twice)
    with pytest.raises(ValueError, match="overlap in memory"):
        add(1, 2, out=cuda.to_device(np.zeros(3))._view((3, 3), (8, 0), None, 0))


def test_invalid_order_raises(add):
    with pytest.raises(ValueError, match=r"order must be one of 'C', 'F', 'A', or 'K' \(got 'Q'\)"):
        add(1, 2, order="Q")


def test_operands_on_two_devices_raise(add):
    if _core.device_count() < 2:
        pytest.skip("one device")
    d = cuda.to_device(np.ones(3))
    with cuda.gpus[1]:
        there = cuda.to_device(np.ones(3))
        assert add(1, d).device == 0
        with pytest.raises(ValueError, match="operand 2 is on device 0"):
            add(there, d)


def test_invalid_subclass_results_raise():
    class InvalidResultUfunc(_core.Ufunc):
        answer = b"\x0b\x0b"
        kernel = None

        def _choose(self, *args):
            return self.answer

        def _compile(self, *args):
            return self.kernel

    odd = InvalidResultUfunc("odd", 1, 1)
    for answer in (None, b"", b"\x0b", b"\x0b\x0f", b"\x0b\x00", "xx"):
        odd.answer = answer
        with pytest.raises(TypeError, match="_choose"):
            odd(1.0)
    odd.answer = b"\x0c\x0c"
    for kernel in (None, (1, 2, 3), (), (None,)):
        odd.kernel = kernel
        with pytest.raises(TypeError):
            odd(np.ones(3))
    with pytest.raises(TypeError, match="has no loops"):
        _core.Ufunc("nothing", 1, 1)(1)
    with pytest.raises(RuntimeError, match="once"):
        odd.__init__("again", 1, 1)
    with pytest.raises(ValueError, match="the maximum is"):
        _core.Ufunc("many", 63, 1)


def test_engine_ufunc_has_its_attributes(add):
    assert (add.nin, add.nout, add.nargs, add._name) == (2, 1, 3, "add")


# ------------------------------------------------------------------------------------ the call path


def test_repeated_call_needs_one_driver_call(add):
    d = cuda.to_device(np.arange(64, dtype="f4"))
    out = cuda.device_array_like(d)
    add(d, d, out=out)
    add(d, 2, out=d)
    _core.trace(True)
    add(d, d, out=out)
    add(d, 2, out=d)
    _core.trace(False)
    assert traced_calls() == ["cuLaunchKernel"] * 2


def test_small_host_calls_are_one_launch_and_one_wait(add):
    x = np.arange(8, dtype="f4")
    add(x, x)
    add(x, 1)
    _core.trace(True)
    add(x, x)
    add(x, 1)
    _core.trace(False)
    assert traced_calls() == ["cuLaunchKernel", "cuStreamSynchronize"] * 2


def test_calls_run_on_the_given_stream(add):
    x = np.arange(1000, dtype="f4")
    for stream in (cuda.stream(), cuda.default_stream()):
        d = cuda.to_device(x, stream=stream)
        result = add(add(d, 1, stream=stream), d, stream=stream)
        stream.synchronize()
        assert_array_equal(result.copy_to_host(), x + x + 1)
        assert_array_equal(add(x, x, stream=stream), x + x)
        out = np.zeros(1000, "f4")
        add(d, x, out=out, stream=stream)
        assert_array_equal(out, x + x)
    with pytest.raises(TypeError):
        add(x, x, stream="x")


def test_ufunc_calls_leak_nothing(add):
    def call_once():
        d = cuda.to_device(np.arange(64, dtype="f4"))
        add(d, d)
        add(d[::2], 1, out=d[:32])
        add(np.arange(100_000), 1)
        add([1, 2], 3)
        with pytest.raises(ValueError):
            add(np.ones(2), np.ones(3))

    call_once()
    gc.collect()
    before = dict(_core.live())
    for _ in range(5):
        call_once()
    gc.collect()
    assert dict(_core.live()) == before


def test_concurrent_first_calls_compile_once():
    other = LikeNumpyUfunc(np.add, "x + y")
    failures = []

    def call_in_thread(seed):
        try:
            for i in range(40):
                x = np.full(5, seed * 100 + i, "f4" if i % 2 else "f8")
                assert_array_equal(other(x, x), x + x)
                assert_array_equal(other(cuda.to_device(x)[::-1], 1).copy_to_host(), x + 1)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=call_in_thread, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


@pytest.mark.sim
def test_failed_assert_in_the_function_raises():
    """A device assert in the function is raised where the call waits, or by the next wait."""
    fussy = LikeNumpyUfunc(np.negative, "assert(x > 0); return -x;", "x")
    assert fussy(np.float32(2)) == -2
    with pytest.raises(errors.KernelError, match="Assertion"):
        fussy(np.array([1, -1], "f4"))
    assert fussy(np.float32(2)) == -2
    with pytest.raises(errors.KernelError, match="Assertion"):
        fussy(cuda.to_device(np.array([1, -1], "f4"))).copy_to_host()
    assert_array_equal(fussy(np.array([1, 2], "f4")), [-1, -2])


AFTER_A_RESET = """
import numpy as np
from numbalite import cuda, vectorize
plus = vectorize(source="x + y", args="x, y", target="cuda")
old = cuda.to_device(np.ones(3))
assert plus(old, old).copy_to_host()[0] == 2
assert plus(1.0, 2.0) == 3
cuda.get_current_device().reset()
assert plus(1.0, 2.0) == 3
assert plus(cuda.to_device(np.ones(3)), 1).copy_to_host()[0] == 2
try:
    plus(old, 1)
except RuntimeError as error:
    print(error)
"""


def test_arrays_from_before_a_reset_raise(run_python):
    assert "was reset" in run_python(AFTER_A_RESET).stdout


def test_ufuncs_in_cycles_are_collected():
    import weakref

    other = LikeNumpyUfunc(np.add, "x + y")
    other(1.0, 2.0)
    other.me = other
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None
