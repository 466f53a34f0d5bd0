"""Compares reduce, accumulate, reduceat, at and outer of CUDA ufuncs with NumPy's ufuncs."""

import copy
import pickle

import numpy as np
import pytest
from kit.arrays import assert_equal_arrays

from numbalite import cuda, vectorize


@pytest.fixture(autouse=True)
def _discard_reduction_loops():
    """The reduction loops of a ufunc are selected when the ufunc is created, so they are removed before and
    after each test."""
    for ufunc in (add, multiply, maximum, last):
        ufunc.__dict__.pop("_reduction_loops_made", None)
    yield
    for ufunc in (add, multiply, maximum, last):
        ufunc.__dict__.pop("_reduction_loops_made", None)


def make_ufunc(name, source, **given):
    args = given.pop("args", "a, b")
    return vectorize(source=source, args=args, name=name, target="cuda", **given)


add = make_ufunc("add", "a + b", identity=0)
multiply = make_ufunc("multiply", "a * b", identity=1)
maximum = make_ufunc("maximum", "a > b ? a : b", identity="reorderable")
subtract = make_ufunc("subtract", "a - b")
less = make_ufunc("less", "a < b")
last = make_ufunc("last", "b")
negative = make_ufunc("negative", "-a", args="a")


@vectorize(["Tuple((int64, int64))(int64, int64)"], target="cuda")
def divmod_(a, b):
    "return make_tuple(a / b, a % b);"


def random_integers(dtype, shape, seed=0):
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    made = rng.integers(0 if dtype.kind in "bu" else -6, 7, shape).astype(dtype)
    if dtype.kind == "c":
        made += 1j * rng.integers(-6, 7, shape)
    return made


# --- reduce ------------------------------------------------------------------------------------------


class Test_reduce:
    @pytest.mark.parametrize("code", "iqIdfFD")
    def test_dtypes(self, code):
        x = random_integers(code, (40, 70))
        for axis in (0, 1, None):
            expected = np.add.reduce(x, axis=axis, dtype=code)
            found = add.reduce(x, axis=axis)
            assert not cuda.is_cuda_array(found)
            assert_equal_arrays(found, expected)
            device = add.reduce(cuda.to_device(x), axis=axis)
            assert cuda.is_cuda_array(device)
            assert_equal_arrays(device, np.asarray(expected))

    def test_small_integers_are_reduced_with_promotion(self):
        x = np.full(100, 100, "i1")
        assert_equal_arrays(add.reduce(x), np.int32(10000))
        assert_equal_arrays(add.reduce(x, dtype="i1"), np.add.reduce(x, dtype="i1"))
        assert_equal_arrays(maximum.reduce(x), np.int8(100))
        assert_equal_arrays(add.reduce(np.ones(300, bool)), np.int32(300))

    def test_reduce_starts_with_the_ufuncs_identity(self):
        x = random_integers("i", (4, 5))
        for rows in (x, x[:0]):
            assert_equal_arrays(
                multiply.reduce(rows, dtype="i"), np.multiply.reduce(rows, dtype="i")
            )

    def test_reductions_with_random_arguments_match_numpy(self):
        rng = np.random.default_rng(11)
        for _ in range(80):
            shape = tuple(rng.integers(0 if rng.random() < 0.1 else 1, 30, rng.integers(0, 4)))
            x = random_integers("i", shape, rng)
            ours, theirs = [(add, np.add), (maximum, np.maximum)][rng.integers(2)]
            axes = rng.permutation(x.ndim)[: rng.integers(0, x.ndim + 1)].tolist()
            axis = [None, tuple(axes), axes[0] if axes else None][rng.integers(3)]
            given = {"axis": axis, "keepdims": bool(rng.random() < 0.5)}
            if rng.random() < 0.4:
                given["initial"] = int(rng.integers(-5, 6))
            if rng.random() < 0.4:
                mask = tuple(1 if rng.random() < 0.3 else n for n in shape)[rng.integers(2) :]
                given["where"] = rng.random(mask) < 0.5
            if rng.random() < 0.3:
                given["dtype"] = "q"
            view = tuple(slice(None, None, int(rng.choice([1, 1, 2, -1]))) for _ in shape)
            x, device = x[view], cuda.to_device(x)[view]
            if "where" in given:
                try:
                    given["where"] = np.broadcast_to(given["where"], x.shape).copy()
                except ValueError:
                    given["where"] = rng.random(x.shape) < 0.5
            if theirs is not np.maximum and "dtype" not in given:
                given["dtype"] = "i"
            try:
                expected = theirs.reduce(x, **given)
            except ValueError as problem:
                with pytest.raises(ValueError, match="identity") as found:
                    ours.reduce(x, **given)
                assert str(found.value) == str(problem)
                continue
            assert_equal_arrays(ours.reduce(x, **given), expected)
            assert_equal_arrays(ours.reduce(device, **given), np.asarray(expected))

    def test_reduce_where_mask_broadcasts(self):
        x = random_integers("d", (20, 30))
        column, row = np.arange(20)[:, None] % 3 == 0, np.arange(30) % 2 == 0
        for mask in (column, row, True, np.True_, row.tolist()):
            assert_equal_arrays(add.reduce(x, where=mask), np.add.reduce(x, where=mask))
        assert_equal_arrays(add.reduce(x, where=False), np.add.reduce(x, where=False))
        device = cuda.to_device(row)
        assert_equal_arrays(
            add.reduce(x, axis=None, where=device), np.asarray(np.add.reduce(x, None, where=row))
        )

    def test_reduce_where_of_a_long_array_matches_numpy(self):
        x = random_integers("q", 300_000)
        for mask in (x > 0, np.zeros(300_000, bool), np.arange(300_000) == 299_999):
            assert_equal_arrays(add.reduce(x, where=mask), np.add.reduce(x, where=mask))
            assert_equal_arrays(
                maximum.reduce(x, where=mask, initial=-100),
                np.maximum.reduce(x, where=mask, initial=-100),
            )

    def test_reduce_writes_to_out(self):
        x = random_integers("d", (30, 40))
        for dtype in ("d", "f", "q"):
            out = np.zeros(40, dtype)
            assert add.reduce(x, out=out) is out
            assert_equal_arrays(out, x.sum(0).astype(dtype))
        device = cuda.to_device(np.zeros((40, 2)))[:, 0]
        assert add.reduce(x, 0, None, device) is device
        assert_equal_arrays(device, x.sum(0))
        kept = np.zeros((30, 1))
        assert add.reduce(x, 1, keepdims=True, out=(kept,)) is kept
        assert_equal_arrays(kept, x.sum(1, keepdims=True))
        kept = cuda.to_device(np.zeros((1, 40)))
        add.reduce(x, 0, keepdims=True, out=kept)
        assert_equal_arrays(kept, x.sum(0, keepdims=True))

    def test_reduce_out_may_be_part_of_the_array(self):
        x = random_integers("q", (50, 50))
        device = cuda.to_device(x)
        add.reduce(device, axis=0, out=device[7])
        assert_equal_arrays(device[7], x.sum(0))

    def test_reduce_uses_the_declared_loops(self):
        @vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
        def sum_of_two(a, b):
            "return a + b;"

        assert sum_of_two.reduce(np.arange(5, dtype="i1")).dtype == np.float32
        assert sum_of_two.reduce(np.arange(5)).dtype == np.float64
        assert sum_of_two.reduce(np.arange(5), dtype="f4") == np.float32(10)

    def test_reduce_along_several_axes_matches_numpy(self):
        x = random_integers("q", (2, 3, 2, 1, 2, 2, 3, 2, 2, 2))
        turned, device = x.transpose(range(9, -1, -1)), cuda.to_device(x).T
        for axis in ((0, 2, 4), (1, 3, 5, 7, 9), (8,), None):
            assert_equal_arrays(add.reduce(device, axis=axis), np.asarray(turned.sum(axis)))

    def test_reduce_keeps_the_order_along_one_axis(self):
        x = np.arange(200 * 300).reshape(200, 300)
        assert_equal_arrays(last.reduce(x, axis=1), x[:, -1])
        assert_equal_arrays(last.reduce(x), x[-1])

    def test_reduce_runs_on_the_given_stream(self):
        x = random_integers("q", 1000)
        for stream in (cuda.stream(), cuda.stream(non_blocking=True)):
            found = add.reduce(cuda.to_device(x, stream), stream=stream)
            assert found.copy_to_host(stream=stream) == x.sum()
            assert add.reduce(x, stream=stream) == x.sum()

    def test_ufunc_methods_leak_no_device_memory(self, count_live):
        def call_methods():
            device = cuda.to_device(random_integers("q", (100, 1000)))
            add.reduce(device)
            add.accumulate(device)
            add.reduceat(device, [0, 3])
            add.at(device, (0, 0), 1)

        call_methods()
        before = count_live()
        call_methods()
        assert count_live() == before


# --- accumulate ---------------------------------------------------------------------------------------


class Test_accumulate:
    @pytest.mark.parametrize("size", (0, 1, 31, 32, 33, 1000, 1025, 5000, 100_000))
    def test_accumulate_of_each_size_matches_numpy(self, size):
        x = random_integers("q", size)
        assert_equal_arrays(add.accumulate(x), np.add.accumulate(x))
        assert_equal_arrays(last.accumulate(x), x)

    @pytest.mark.parametrize("code", "iqIdfFD")
    def test_dtypes(self, code):
        self.scans_are_numpys(code)

    @pytest.mark.sim
    @pytest.mark.parametrize("code", "iD")
    def test_accumulate_of_each_dtype_matches_numpy_on_the_simulator(self, code):
        self.scans_are_numpys(code)

    def scans_are_numpys(self, code):
        x = random_integers(code, (30, 200))
        for axis in (0, 1, -1):
            assert_equal_arrays(add.accumulate(x, axis), np.add.accumulate(x, axis, dtype=code))
            assert_equal_arrays(
                add.accumulate(cuda.to_device(x), axis), np.add.accumulate(x, axis, dtype=code)
            )

    def test_accumulate_of_long_rows_and_columns_matches_numpy(self):
        x = random_integers("i", (3, 70_001))
        assert_equal_arrays(add.accumulate(x, 1), np.add.accumulate(x, 1, dtype="i"))
        assert_equal_arrays(add.accumulate(x.T, 0), np.add.accumulate(x.T, 0, dtype="i"))
        assert_equal_arrays(maximum.accumulate(x, 1), np.maximum.accumulate(x, 1))
        x = random_integers("i", (70_001, 3))
        assert_equal_arrays(add.accumulate(x, 0), np.add.accumulate(x, 0, dtype="i"))

    @pytest.mark.parametrize("shape", [(3000, 100), (9000, 7), (40, 2100), (5, 1, 900, 6)], ids=str)
    def test_accumulate_of_each_shape_matches_numpy(self, shape):
        x = random_integers("i", shape)
        device = cuda.to_device(x)
        for axis in range(x.ndim):
            assert_equal_arrays(add.accumulate(device, axis), np.add.accumulate(x, axis, dtype="i"))
            assert_equal_arrays(last.accumulate(device.T, axis), x.T)

    def test_accumulate_keeps_the_operand_order(self):
        first = make_ufunc("first", "a")
        x = np.arange(50_000)
        assert_equal_arrays(first.accumulate(x), np.zeros_like(x))
        assert_equal_arrays(last.accumulate(x), x)

    def test_accumulate_of_views_and_into_out_matches_numpy(self):
        x = random_integers("q", (20, 30, 40))
        device = cuda.to_device(x)
        for view in (np.s_[::2, ::-1], np.s_[:, 3, ::-2], np.s_[4, :, 1:]):
            for axis in range(x[view].ndim):
                assert_equal_arrays(
                    add.accumulate(device[view], axis), np.add.accumulate(x[view], axis)
                )
        out = np.zeros((20, 30, 40), "f4")
        assert add.accumulate(x, out=out) is out
        assert_equal_arrays(out, np.add.accumulate(x).astype("f4"))
        assert add.accumulate(device, 1, out=device) is device
        assert_equal_arrays(device, np.add.accumulate(x, 1))
        line = cuda.to_device(np.arange(1000))
        add.accumulate(line[:-1], out=line[1:])
        assert_equal_arrays(line[1:], np.add.accumulate(np.arange(999)))


# --- reduceat -----------------------------------------------------------------------------------------


class Test_reduceat:
    def test_reduceat_of_random_segments_matches_numpy(self):
        rng = np.random.default_rng(4)
        x = random_integers("q", (40, 300))
        device = cuda.to_device(x)
        for axis in (0, 1, -1):
            for count in (0, 1, 5, 39):
                indices = rng.integers(0, x.shape[axis], count)
                expected = np.add.reduceat(x, indices, axis)
                assert_equal_arrays(add.reduceat(x, indices, axis), expected)
                assert_equal_arrays(add.reduceat(device, indices, axis), expected)
                assert_equal_arrays(add.reduceat(device.T, np.sort(indices), -1 - axis % 2),
                     np.add.reduceat(x.T, np.sort(indices), -1 - axis % 2))  # fmt: skip

    def test_reduceat_of_long_segments_matches_numpy(self):
        x = random_integers("q", 200_000)
        indices = [0, 7, 100_000, 3, 150_000]
        assert_equal_arrays(add.reduceat(x, indices), np.add.reduceat(x, indices))
        assert_equal_arrays(
            last.reduceat(np.arange(200_000), indices),
            np.array([6, 99_999, 100_000, 149_999, 199_999]),
        )

    def test_reduceat_accepts_device_indices_dtype_and_out(self):
        x = random_integers("i", 100)
        indices = cuda.to_device(np.array([0, 50, 20]))
        found = add.reduceat(x, indices, dtype="d")
        assert cuda.is_cuda_array(found)
        assert_equal_arrays(found, np.add.reduceat(x, [0, 50, 20], dtype="d"))
        out = np.zeros(3, "f4")
        assert add.reduceat(x, [0, 50, 20], out=out) is out
        assert_equal_arrays(out, np.add.reduceat(x, [0, 50, 20]).astype("f4"))

    def test_reduceat_of_no_segments_is_empty(self):
        assert_equal_arrays(add.reduceat(np.zeros((0, 3)), []), np.zeros((0, 3)))


# --- at -----------------------------------------------------------------------------------------------

INDICES = (
    [0, 1, 1, -1, 0], 3, [], np.array([2, 2, 2]), slice(1, None, 2), (slice(None), [0, 0, 1]),
    ([0, 1, 0], [2, 2, 2]), (..., 1), np.array([[0, 1], [1, 0]]), (2, slice(None, None, -1)),
    (None, [1, 1]), np.arange(5) % 2 == 0, [True, False, True, True, False],
)  # fmt: skip


class Test_at:
    @pytest.mark.parametrize("indices", INDICES, ids=repr)
    def test_at_accepts_each_kind_of_index(self, indices):
        x = random_integers("q", (5, 4, 3))
        expected, host, device = x.copy(), x.copy(), cuda.to_device(x)
        np.add.at(expected, indices, 7)
        assert add.at(host, indices, 7) is None
        assert add.at(device, indices, 7) is None
        assert_equal_arrays(host, expected)
        assert_equal_arrays(device, expected)

    def test_at_broadcasts_the_operand(self):
        x = random_integers("d", (6, 5))
        for b in (
            np.arange(5.0),
            np.arange(3.0)[:, None],
            cuda.to_device(np.arange(15.0).reshape(3, 5)),
        ):
            expected, device = x.copy(), cuda.to_device(x)
            plain = b.copy_to_host() if cuda.is_cuda_array(b) else b
            np.multiply.at(expected, [1, 3, 1], plain)
            multiply.at(device, [1, 3, 1], b)
            assert_equal_arrays(device, expected)

    def test_at_applies_repeated_indices_in_order(self):
        x, b = np.zeros(10), np.arange(1000.0)
        indices = np.random.default_rng(0).integers(0, 10, 1000)
        expected = x.copy()
        for i, value in zip(indices, b, strict=True):
            expected[i] = 3 * expected[i] % 1001 + value
        horner = make_ufunc("horner", "fmod(3 * a, 1001.0) + b")
        horner.at(x, indices, b)
        assert_equal_arrays(x, expected)

    def test_at_updates_views(self):
        x = random_integers("q", (8, 9))
        expected, device = x.copy(), cuda.to_device(x)
        np.add.at(expected[::2, ::-1].T, [0, 0, 2], 5)
        add.at(device[::2, ::-1].T, [0, 0, 2], 5)
        assert_equal_arrays(device, expected)

    def test_at_of_a_unary_ufunc_matches_numpy(self):
        x = random_integers("d", 10)
        expected = x.copy()
        np.negative.at(expected, [0, 3, 3, 5])
        negative.at(x, [0, 3, 3, 5])
        assert_equal_arrays(x, expected)

    def test_at_casts_the_operand(self):
        for code, b in (("i", 2), ("f", 1.5), ("F", 1j), ("q", 1.5), ("d", np.int8(3))):
            x = random_integers(code, 6)
            expected = x.copy()
            np.add.at(expected, [1, 1, 4], b)
            add.at(x, [1, 1, 4], b)
            assert_equal_arrays(x, expected)

    def test_at_operand_may_be_the_array(self):
        x = np.arange(5)
        device, expected = cuda.to_device(x), x.copy()
        np.add.at(expected, [4, 3, 2, 1, 0], x.copy())
        add.at(device, [4, 3, 2, 1, 0], device)
        assert_equal_arrays(device, expected)


# --- outer --------------------------------------------------------------------------------------------


class Test_outer:
    def test_outer_of_each_shape_matches_numpy(self):
        for left in ((), (3,), (2, 4)):
            for right in ((), (5,), (2, 3)):
                x, y = random_integers("d", left), random_integers("d", right, 1)
                assert_equal_arrays(multiply.outer(x, y), np.multiply.outer(x, y))
                found = multiply.outer(cuda.to_device(x), y)
                assert cuda.is_cuda_array(found)
                assert_equal_arrays(found, np.asarray(np.multiply.outer(x, y)))

    def test_outer_accepts_numbers_and_lists(self):
        assert_equal_arrays(multiply.outer([1, 2], [3, 4]), np.multiply.outer([1, 2], [3, 4]))
        assert_equal_arrays(
            multiply.outer(2.0, np.arange(3.0)), np.multiply.outer(2.0, np.arange(3.0))
        )
        out = np.zeros((2, 2))
        assert multiply.outer([1, 2], [3, 4.5], out=out) is out
        assert_equal_arrays(out, np.multiply.outer([1, 2], [3, 4.5]))


def test_ufunc_methods_accept_unaligned_elements():
    packed = np.zeros(50, np.dtype([("a", "u1"), ("b", "f8")]))
    packed["b"] = random_integers("d", 50)
    x = packed["b"].copy()
    device = cuda.to_device(packed)["b"]
    assert_equal_arrays(add.reduce(device), np.asarray(x.sum()))
    assert_equal_arrays(add.accumulate(device), np.add.accumulate(x))
    assert_equal_arrays(add.reduceat(device, [0, 20, 10]), np.add.reduceat(x, [0, 20, 10]))
    add.at(device, [3, 3, 4], device[:3])
    np.add.at(x, [3, 3, 4], x[:3].copy())
    assert_equal_arrays(device, x)
    assert add.accumulate(x, out=device) is device
    assert_equal_arrays(device, np.add.accumulate(x))
    add.reduce(np.arange(12.0).reshape(4, 3), axis=1, out=device[:4])
    assert_equal_arrays(device[:4], np.arange(12.0).reshape(4, 3).sum(1))
    cuda.reduce("a + b")(np.arange(10.0), res=device[7:])
    assert device[7] == 45


# --- what goes wrong ----------------------------------------------------------------------------------

A = np.arange(6.0).reshape(2, 3)
FROZEN, FROZEN_TABLE = np.zeros(3), np.zeros((2, 3))
FROZEN.flags.writeable = FROZEN_TABLE.flags.writeable = False
OURS = {np.add: add, np.maximum: maximum, np.subtract: subtract, np.less: less, np.sin: negative,
        np.divmod: divmod_}  # fmt: skip
WITH_THE_SAME_WORDS = (
    lambda f: f(np.add).reduce(A, axis=2),
    lambda f: f(np.add).reduce(A, axis=(0, 0)),
    lambda f: f(np.subtract).reduce(A, axis=(0, 1)),
    lambda f: f(np.subtract).reduce(A, axis=None),
    lambda f: f(np.maximum).reduce([]),
    lambda f: f(np.maximum).reduce(np.zeros((0, 3))),
    lambda f: f(np.add).reduce([], initial=None),
    lambda f: f(np.sin).reduce(A),
    lambda f: f(np.sin).accumulate(A),
    lambda f: f(np.sin).reduceat(A, [0]),
    lambda f: f(np.sin).outer(A, A),
    lambda f: f(np.divmod).reduce(A),
    lambda f: f(np.divmod).at(A.copy(), [0], 1),
    lambda f: f(np.add).reduce(A, out=np.empty((1, 3))),
    lambda f: f(np.add).reduce(A, axis=None, out=np.empty(3)),
    lambda f: f(np.add).reduce(A, keepdims=True, out=np.empty(3)),
    lambda f: f(np.maximum).reduce(A, where=A > 1),
    lambda f: f(np.add).reduce(A, initial=None, where=A > 1),
    lambda f: f(np.add).reduce(A, where=np.ones((2, 2, 3), bool)),
    lambda f: f(np.add).accumulate(A, axis=(0, 1)),
    lambda f: f(np.add).accumulate(5),
    lambda f: f(np.add).accumulate(A, axis=3),
    lambda f: f(np.add).reduceat(A, [0, 5]),
    lambda f: f(np.add).reduceat(A, [0, -1]),
    lambda f: f(np.add).reduceat(A, 0),
    lambda f: f(np.add).reduceat(5, [0]),
    lambda f: f(np.add).reduceat(A, [0], axis=(0, 1)),
    lambda f: f(np.add).reduceat(A, np.array([0, 1], dtype="u8")),
    lambda f: f(np.add).at([1, 2], [0], 1),
    lambda f: f(np.add).at(A.copy(), [0, 9], 1),
    lambda f: f(np.add).at(np.zeros(5), [0, 9], 1),
    lambda f: f(np.add).at(A.copy(), (0, 0, 0), 1),
    lambda f: f(np.add).at(A.copy(), [0.5], 1),
    lambda f: f(np.add).at(A.copy(), [0], [1, 2]),
    lambda f: f(np.add).at(A.copy(), [0]),
    lambda f: f(np.sin).at(A.copy(), [0], 1),
    lambda f: f(np.add).reduce(A, out=FROZEN),
    lambda f: f(np.add).reduce(A, out=5),
    lambda f: f(np.add).reduce(A, out=(None,)),
    lambda f: f(np.add).reduce(A, out=(1, 2)),
    lambda f: f(np.add).reduce(A, axis="x"),
    lambda f: f(np.add).reduce(A, axis=1.0),
    lambda f: f(np.add).reduce(A, axis=[0, 1]),
    lambda f: f(np.add).reduce(5, axis=1),
    lambda f: f(np.add).reduce(A, initial="x"),
    lambda f: f(np.add).reduce(np.arange(3, dtype="u1"), dtype="u1", initial=300),
)  # fmt: skip
OF_THE_SAME_TYPE = (
    lambda f: f(np.add).at(FROZEN_TABLE, [0], 1),  # NumPy 2.5 has other words than 2.4
    lambda f: f(np.add).reduce(A, out=np.empty(2)),
    lambda f: f(np.add).reduce(A, where=[True, False]),
    lambda f: f(np.less).reduce(A),
    lambda f: f(np.less).accumulate(A),
    lambda f: f(np.add).accumulate(A, out=np.empty(3)),
    lambda f: f(np.add).reduceat(A, [[0]]),
    lambda f: f(np.add).reduce(A, foo=1),
    lambda f: f(np.add).reduce(A, dtype="U3"),
)


def exception_of_call(call, which):
    with pytest.raises(Exception) as found:
        call(which)
    return found.value


@pytest.mark.every_case
@pytest.mark.parametrize("number", range(len(WITH_THE_SAME_WORDS)))
def test_errors_have_numpys_messages(number):
    call = WITH_THE_SAME_WORDS[number]
    expected = exception_of_call(call, lambda ufunc: ufunc)
    found = exception_of_call(call, OURS.get)
    assert type(found) is type(expected)
    assert str(found) == str(expected)


@pytest.mark.every_case
@pytest.mark.parametrize("number", range(len(OF_THE_SAME_TYPE)))
def test_ufunc_method_errors_have_numpys_types(number):
    call = OF_THE_SAME_TYPE[number]
    expected = exception_of_call(call, lambda ufunc: ufunc)
    found = exception_of_call(call, OURS.get)
    assert isinstance(found, (TypeError, ValueError))
    assert isinstance(found, type(expected)) or isinstance(expected, type(found))


def test_arrays_without_numbers_raise():
    for wrong in (np.array([None, 1]), np.array(["a"]), np.zeros(3, "M8[s]"), np.zeros(3, "g")):
        for call in (add.reduce, add.accumulate, lambda x: add.at(x, [0], 1)):
            with pytest.raises(TypeError):
                call(wrong)


def test_invalid_at_arguments_change_nothing():
    x = np.zeros(4)
    with pytest.raises(IndexError):
        add.at(x, [0, 4], 1)
    assert_equal_arrays(x, np.zeros(4))


def test_copied_ufuncs_have_the_methods():
    for made in (copy.copy(add), pickle.loads(pickle.dumps(add))):
        assert made.reduce(np.arange(4)) == 6
