"""Compares cuda.reduce with NumPy: forms, types, shapes, order and reproducibility."""

import functools
import pickle

import numpy as np
import pytest
from kit.arrays import DLPackSpeaker, ForeignArray
from kit.sample import draw_cases

from numbalite import _core, cuda

SIZES = (1, 2, 31, 32, 33, 1000, 4097, 100_000, 1_000_007)
DTYPES = "?bhiqBHIQefdFD"


def random_values(dtype, shape, seed=0):
    """Returns small numbers, whose sums are exact in every dtype but float16."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    low = -8 if dtype.kind in "ifc" else 0
    made = rng.integers(low, 8, shape).astype(dtype)
    if dtype.kind == "c":
        made += 1j * rng.integers(-8, 8, shape)
    return made


def expected_sum(x, axis=None):
    """Returns the expected result of "a + b", in the array's own dtype."""
    if x.dtype == bool:
        return x.any(axis)
    return x.sum(axis, dtype=x.dtype)


class Test_forms:
    def test_reduce_accepts_an_expression(self):
        assert cuda.reduce("a + b")(np.arange(10.0)) == 45

    def test_reduce_accepts_a_body(self):
        assert cuda.reduce("float c = a; return c + b;")(np.arange(10, dtype="f4")) == 45

    def test_reduce_works_as_a_decorator(self):
        @cuda.reduce
        def maximum(x, y):
            "return x > y ? x : y;"

        assert maximum.__name__ == "maximum"
        assert maximum(np.array([3, 9, 2])) == 9

    def test_reduce_decorator_accepts_options(self):
        @cuda.reduce(fastmath=True)
        def minimum(x, y):
            "x < y ? x : y"

        assert minimum(np.array([3, 9, 2])) == 2

    def test_reduce_accepts_a_device_function(self):
        @cuda.jit(device=True)
        def sum_of_two(a, b):
            "return a + b;"

        assert cuda.Reduce(sum_of_two)(np.arange(4)) == 6

    def test_reduce_accepts_a_source_with_parameter_names(self):
        assert cuda.reduce(source="x * y", args="x, y")(np.arange(1, 6)) == 120
        made = cuda.reduce(
            source="template <class T> T helper(T x) { return x; }\n"
            "template <class T> __device__ T most(T a, T b) { return a < b ? b : a; }",
            name="most",
        )
        assert made(np.array([1.0, 7.0, 3.0])) == 7

    def test_reduce_accepts_a_function_definition(self):
        assert cuda.reduce("__device__ int add(int a, int b) { return a + b; }")(np.arange(5)) == 10

    def test_reductions_capture_device_functions_and_constants(self):
        modulus = 97

        @cuda.jit(device=True)
        def remainder(x):
            "return x % modulus;"

        @cuda.reduce
        def product(a, b):
            "return remainder(a * b);"

        expected = functools.reduce(lambda a, b: a * b % modulus, range(1, 50))
        assert product(np.arange(1, 50)) == expected

    def test_reduce_rejects_another_number_of_parameters(self):
        with pytest.raises(TypeError, match="two numbers"):

            @cuda.reduce
            def three_parameters(a, b, c):
                "return a;"

    def test_failed_assert_in_a_reduction_raises(self):
        from numbalite.errors import KernelError

        @cuda.reduce(debug=True)
        def checked_sum(a, b):
            "assert(b < 3); return a + b;"

        assert checked_sum(np.arange(3)) == 3
        with pytest.raises(KernelError, match="b < 3"):
            checked_sum(np.arange(6))

    def test_reduce_of_a_number_raises(self):
        with pytest.raises(TypeError):
            cuda.reduce(5)

    def test_compile_errors_name_the_reduction(self):
        from numbalite.errors import CompileError

        with pytest.raises(CompileError, match="undefined_thing"):
            cuda.reduce("a + undefined_thing")(np.arange(4.0))

    def test_reductions_are_pickled(self):
        total = pickle.loads(pickle.dumps(cuda.reduce("a + b")))
        assert total(np.arange(4.0)) == 6

    def test_inspect_source_contains_the_expression(self):
        assert "a + b" in cuda.reduce("a + b").inspect_source("f4")


@pytest.mark.parametrize("size", SIZES)
def test_sums_of_each_size_match_numpy(size):
    x = random_values("q", size)
    assert cuda.reduce("a + b")(x) == x.sum()


@pytest.mark.parametrize("code", DTYPES)
def test_sums_of_every_dtype_match_numpy(code):
    sums_are_numpys(code)


@pytest.mark.sim
@pytest.mark.parametrize("code", "?hdD")
def test_sums_of_every_dtype_match_numpy_on_the_simulator(code):
    sums_are_numpys(code)


def sums_are_numpys(code):
    total = cuda.reduce("a + b")
    x = random_values(code, 777)
    found = total(cuda.to_device(x))
    assert type(found) is x.dtype.type
    np.testing.assert_allclose(found, expected_sum(x), rtol=1e-2 if code == "e" else 0)
    table = random_values(code, (37, 130), 1)
    tolerance = 2e-2 if code == "e" else 0
    for axis in (0, 1):
        found = total(cuda.to_device(table), axis=axis)
        assert found.dtype == x.dtype
        np.testing.assert_allclose(
            found.copy_to_host(), expected_sum(table, axis), rtol=tolerance, atol=tolerance * 20
        )


SHAPES = ((5,), (3, 4), (1, 70), (70, 1), (40, 50), (3, 1000), (1000, 3), (2, 3, 4), (33, 5, 70),
          (4, 1, 6, 33), (2, 2, 2, 2, 2, 2, 3, 5))  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions_along_axes_match_numpy(shape):
    total = cuda.reduce("a + b")
    x = random_values("q", shape)
    device = cuda.to_device(x)
    for axis in (None, *range(-len(shape), len(shape)), tuple(range(len(shape)))[::2]):
        found = total(device, axis=axis)
        if axis is not None:
            assert found.shape == x.sum(axis).shape
            found = found.copy_to_host()
        np.testing.assert_array_equal(found, x.sum(axis))
        host = total(x, axis=axis)
        assert not cuda.is_cuda_array(host)
        np.testing.assert_array_equal(host, x.sum(axis))


def test_reductions_of_strided_views_match_numpy():
    total = cuda.reduce("a + b")
    x = random_values("i", (24, 36, 41))
    device = cuda.to_device(x)
    views = (
        np.s_[::2], np.s_[:, ::-3], np.s_[::-1, ::-1, ::-1], np.s_[3:, 1:30, 2:37], np.s_[..., 5],
        np.s_[4], np.s_[:, 3, ::2], np.s_[5:6, ::2, 1:],
    )  # fmt: skip
    for view in views:
        for turned in (False, True):
            a, d = x[view], device[view]
            if turned:
                a, d = a.T, d.T
            assert total(d) == a.sum()
            for axis in range(a.ndim):
                np.testing.assert_array_equal(total(d, axis=axis).copy_to_host(), a.sum(axis))


def test_sums_of_long_rows_with_gaps_match_numpy():
    """Each part of the reduction is a row, or an equal fraction of a row, which threads read as if
    the rows had no gaps."""

    def schedule_of(*dims):
        of_elements = [(length, step, 0, 0) for length, step in dims]
        return _core.reduction_schedule([], of_elements, 4, 4, 4, False, True)

    for (rows, row), parts in (((8192, 8192), 8192), ((100, 1 << 20), 6400), ((40, 12345), 120)):
        kind, _, _, found, chunk, _ = schedule_of((rows, 4 * row + 4), (row, 4))
        assert (kind, found, found * chunk) == ("packed8", parts, rows * row)
    assert schedule_of((7, 4 * 123457 + 4), (123457, 4))[0] == "strided8"
    assert schedule_of((100, 1 << 17), (1 << 13, 8))[:4] == ("stepped8", 256, 8, 200)
    x = random_values("i", (9, 4, 4099))
    device = cuda.to_device(x)
    steps = np.s_[..., ::2], np.s_[:, 1:, ::-2], np.s_[::-1, ::2, 1::2]
    for view in (np.s_[..., 1:-2], np.s_[::2, :, 3:], np.s_[::-1, 1:, :-3], *steps):
        a, d = x[view], device[view]
        assert cuda.reduce("a + b")(d) == a.sum()
        assert np.argmax(d) == np.argmax(a)
        np.testing.assert_allclose(np.mean(d), a.mean())
        np.testing.assert_array_equal(np.max(d, axis=(0, 2)).copy_to_host(), a.max((0, 2)))


def test_sums_of_unaligned_rows_match_numpy():
    total = cuda.reduce("a + b")
    for code in draw_cases(3, "bhifdD"):
        x = random_values(code, 9001)
        device = cuda.to_device(x)
        for begin, end in ((1, 9001), (3, 40), (5, 5000), (7, 8), (0, 8999), (15, 600)):
            assert total(device[begin:end]) == expected_sum(x[begin:end])


def test_sums_of_unaligned_elements_match_numpy():
    records = np.zeros(100, np.dtype([("a", "u1"), ("b", "f4")]))
    records["b"] = np.arange(100)
    assert cuda.reduce("a + b")(cuda.to_device(records)["b"]) == 4950


def test_reductions_of_broadcast_views_match_numpy():
    device = cuda.to_device(random_values("q", (50, 1)))
    spread = device._view_with_layout((50, 300), (8, 0))
    assert cuda.reduce("a + b")(spread) == 300 * device.copy_to_host().sum()


# --- order -------------------------------------------------------------------------------------------

LAST = "b"
FIRST = "a"
# Operation: product of 2x2 matrices over the integers modulo 251, with one byte per element.
MATRICES = """
    auto at = [](unsigned int m, int i, int j) { return m >> (8 * (2 * i + j)) & 255; };
    unsigned int r = 0;
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            r |= (at(a, i, 0) * at(b, 0, j) + at(a, i, 1) * at(b, 1, j)) % 251 << (8 * (2 * i + j));
    return r;
"""
# Represents a text by its hash and 31 to the power of its length.
HASHES = """
    unsigned int length = (unsigned int)(a >> 32) * (unsigned int)(b >> 32);
    unsigned int hash = (unsigned int)a * (unsigned int)(b >> 32) + (unsigned int)b;
    return (unsigned long long)length << 32 | hash;
"""


def random_matrices(count):
    return np.random.default_rng(1).integers(0, 251, (count, 4), dtype=np.uint8).view("u4").ravel()


def expected_matrix_product(found):
    """Returns the product of packed matrices, computed with NumPy, which multiplies neighbours in each
    step."""
    m = found.view(np.uint8).reshape(-1, 2, 2).astype(np.int64)
    while len(m) > 1:
        odd = m[-1:] if len(m) % 2 else m[:0]
        pairs = m[: len(m) // 2 * 2]
        m = np.concatenate([pairs[::2] @ pairs[1::2] % 251, odd])
    return m[0].astype(np.uint8).reshape(-1).view("u4")[0]


@pytest.mark.parametrize("size", SIZES)
def test_reductions_keep_the_operand_order(size):
    x = np.arange(size, dtype="i4")
    device = cuda.to_device(x)
    assert cuda.reduce(LAST)(device) == size - 1
    assert cuda.reduce(FIRST)(device) == 0
    m = random_matrices(size)
    assert cuda.reduce(MATRICES)(m) == expected_matrix_product(m)


def test_noncommutative_hash_keeps_the_order():
    text = np.random.default_rng(2).integers(0, 256, 50_000)
    expected = 0
    for letter in text.tolist():
        expected = (expected * 31 + letter) & 0xFFFFFFFF
    found = cuda.reduce(HASHES)(text.astype("u8") | np.uint64(31 << 32))
    assert int(found) & 0xFFFFFFFF == expected


@pytest.mark.parametrize("code", "bhiqD")
def test_noncommutative_reductions_keep_the_order_along_axes(code):
    """Tests tiles of every element size; the value of each element is its index."""
    order_is_kept_along_axes(code)


@pytest.mark.sim
def test_noncommutative_reductions_keep_the_order_on_the_simulator():
    order_is_kept_along_axes("i")


def order_is_kept_along_axes(code):
    """The operation keeps one part of the first element and another part of the last element."""
    is_complex = np.dtype(code).kind == "c"
    ends = cuda.reduce("complex128(a.real(), b.imag())" if is_complex else "(a & ~15) | (b & 15)")

    def expected_along(a, axis):
        first, last = a.take(0, axis=axis), a.take(-1, axis=axis)
        return first.real + 1j * last.imag if is_complex else (first & ~15) | (last & 15)

    for shape in ((70, 130), (3, 9000), (9000, 3), (300, 17)):
        x = (np.arange(np.prod(shape)) % 127).reshape(shape).astype(code)
        x = x * (1 + 1j) if is_complex else x
        for d, a in ((cuda.to_device(x), x), (cuda.to_device(x).T, x.T)):
            for axis in (0, 1):
                found = ends(d, axis=axis).copy_to_host()
                np.testing.assert_array_equal(found, expected_along(a, axis))
            assert ends(d) == expected_along(a.ravel(), 0)


def test_matrix_products_along_rows_keep_the_order():
    product = cuda.reduce(MATRICES)
    x = random_matrices(60 * 500).reshape(60, 500)
    np.testing.assert_array_equal(product(x, axis=1), [expected_matrix_product(row) for row in x])
    np.testing.assert_array_equal(
        product(x, axis=0), [expected_matrix_product(row.copy()) for row in x.T]
    )


def test_repeated_sums_have_the_same_bits():
    x = np.random.default_rng(3).standard_normal(1_000_007).astype("f4")
    total = cuda.reduce("a + b")
    device = cuda.to_device(x)
    found = {total(device).tobytes() for _ in range(5)}
    assert len(found) == 1
    np.testing.assert_allclose(total(device), x.sum(dtype="f8"), rtol=1e-3, atol=1e-1)


# --- arguments ---------------------------------------------------------------------------------------


class Test_arguments:
    total = cuda.reduce("a + b")

    def test_init_is_the_first_operand(self):
        m = random_matrices(100)
        expected = expected_matrix_product(np.append(m[:1], m[1:]))
        assert cuda.reduce(MATRICES)(m[1:], init=m[0]) == expected
        assert self.total(np.arange(5), init=-10) == 0

    def test_reduce_without_an_identity_begins_with_the_first_element(self):
        assert cuda.reduce("a * b")(np.arange(1, 5)) == 24
        assert cuda.reduce("a > b ? a : b")(np.array([-5, -3])) == -3

    def test_init_applies_to_each_result(self):
        x = random_values("i", (40, 300))
        for axis in (0, 1, None):
            np.testing.assert_array_equal(self.total(x, axis=axis, init=7), x.sum(axis) + 7)

    def test_init_of_another_type_raises(self):
        with pytest.raises(TypeError, match="init="):
            self.total(np.arange(3), init=1.5)
        with pytest.raises(OverflowError):
            self.total(np.arange(3, dtype="u1"), init=300)
        with pytest.raises(TypeError, match="init="):
            self.total(np.arange(3), init=[1])
        with pytest.raises(TypeError, match="init="):
            self.total(np.arange(3), init="x")

    def test_size_argument_limits_the_elements(self):
        x = np.arange(100)
        assert self.total(cuda.to_device(x), size=10) == 45
        assert self.total(x, 10) == 45
        with pytest.raises(ValueError, match="size"):
            self.total(x, size=101)
        with pytest.raises(ValueError, match="size"):
            self.total(x, size=-1)
        with pytest.raises(TypeError, match="size"):
            self.total(x.reshape(10, 10), size=3)

    def test_res_argument_receives_the_result(self):
        res = cuda.to_device(np.full(3, 9.0))
        assert self.total(np.arange(10.0), res=res) is None
        np.testing.assert_array_equal(res.copy_to_host(), [45, 9, 9])

    def test_res_may_have_another_dtype(self):
        res = cuda.to_device(np.zeros(1))
        self.total(np.arange(10, dtype="f4"), res=res)
        assert res.copy_to_host()[0] == 45
        with pytest.raises(TypeError, match="res="):
            self.total(np.arange(10.0), res=cuda.to_device(np.zeros(1, "i4")))

    def test_res_may_be_the_reduced_array(self):
        x = cuda.to_device(np.arange(100_000))
        self.total(x, res=x)
        assert x.copy_to_host()[0] == np.arange(100_000).sum()

    def test_res_receives_results_along_an_axis(self):
        x = random_values("i", (40, 50))
        res = cuda.to_device(np.zeros((50, 2), "i4"))[:, 1]
        assert self.total(cuda.to_device(x), axis=0, res=res) is None
        np.testing.assert_array_equal(res.copy_to_host(), x.sum(0))
        with pytest.raises(ValueError, match="shape"):
            self.total(x, axis=1, res=res)

    def test_res_may_share_memory_with_the_array(self):
        x = random_values("i", (50, 50))
        device = cuda.to_device(x)
        self.total(device, axis=0, res=device[3])
        np.testing.assert_array_equal(device.copy_to_host()[3], x.sum(0))

    def test_invalid_res_arguments_raise(self):
        with pytest.raises(TypeError, match="res="):
            self.total(np.arange(3), res=5)
        with pytest.raises(ValueError, match="res="):
            self.total(np.arange(3), res=cuda.to_device(np.zeros(0, "q")))

    def test_reductions_run_on_the_given_stream(self):
        for stream in (cuda.stream(), cuda.stream(non_blocking=True)):
            x = cuda.to_device(np.arange(100_000), stream)
            assert self.total(x, stream=stream) == np.arange(100_000).sum()
            res = cuda.device_array(1, "q")
            self.total(x, res=res, stream=stream)
            assert res.copy_to_host(stream=stream)[0] == np.arange(100_000).sum()

    def test_empty_arrays_need_an_identity(self):
        assert self.total(np.zeros(0)) == 0 and cuda.reduce("b * a")(np.zeros(0, int)) == 1
        with pytest.raises(ValueError, match="zero-size array to reduction operation"):
            cuda.reduce("max(a, b)")(np.zeros(0))
        assert self.total(np.zeros(0), init=3) == 3
        np.testing.assert_array_equal(self.total(np.zeros((0, 4)), axis=0, init=2), np.full(4, 2.0))
        assert self.total(np.zeros((0, 4)), axis=1).shape == (0,)
        assert (self.total(np.zeros((0, 4)), axis=0) == np.zeros(4)).all()

    def test_reduction_of_a_scalar_returns_it(self):
        assert self.total(np.float32(4)) == 4
        assert self.total(np.float32(4), init=1) == 5

    def test_axis_out_of_bounds_raises(self):
        with pytest.raises(np.exceptions.AxisError):
            self.total(np.zeros((2, 2)), axis=2)
        with pytest.raises(ValueError, match="duplicate"):
            self.total(np.zeros((2, 2)), axis=(0, -2))

    def test_reduce_rejects_arrays_without_numbers(self):
        for wrong in (
            np.array(["a"]),
            np.zeros(3, "M8[s]"),
            np.array([None]),
            np.zeros(2, "i4,f4"),
        ):
            with pytest.raises(TypeError):
                self.total(wrong)

    def test_reduce_accepts_lists_and_swapped_bytes(self):
        assert self.total([1.0, 2.0, 3.5]) == 6.5
        assert self.total(np.arange(10, dtype=">i4")) == 45

    def test_arrays_of_other_libraries_are_reduced(self):
        x = cuda.to_device(np.arange(10.0))

        for foreign in (ForeignArray(x), DLPackSpeaker(x), DLPackSpeaker(np.arange(10.0))):
            assert self.total(foreign) == 45

    def test_reductions_leak_no_device_memory(self, count_live):
        def sum_along_axes():
            x = cuda.to_device(np.arange(100_000))
            for axis in (None, 0):
                self.total(x, axis=axis)

        sum_along_axes()  # creates the objects that `total` caches, if no other test did
        before = count_live()
        sum_along_axes()
        assert count_live() == before


def test_reductions_of_random_shapes_match_numpy():
    rng = np.random.default_rng(5)
    total = cuda.reduce("a + b")
    for _ in range(40):
        shape = tuple(rng.integers(1, 40, rng.integers(1, 5)))
        x = random_values("i", shape, rng)
        axes = tuple(rng.permutation(x.ndim)[: rng.integers(0, x.ndim + 1)].tolist())
        order = rng.permutation(x.ndim)
        device, x = cuda.to_device(x).transpose(order.tolist()), x.transpose(order)
        np.testing.assert_array_equal(
            total(device, axis=axes).copy_to_host(), x.sum(axes, dtype="i4")
        )


def test_reductions_are_thread_safe():
    import threading

    total, largest = cuda.reduce("a + b"), cuda.reduce("a > b ? a : b")
    wrong = []

    def reduce_in_thread(number):
        x = cuda.to_device(np.arange(50_000) + number)
        stream = cuda.stream(non_blocking=True) if number % 2 else 0
        for _ in range(20):
            found = total(x, stream=stream), largest(x, stream=stream)
            if found != (1_249_975_000 + 50_000 * number, 49_999 + number):
                wrong.append((number, found))

    threads = [threading.Thread(target=reduce_in_thread, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
