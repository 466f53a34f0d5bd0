"""Arrays of more than 2**31 and 2**32 elements: no kernel may count or index in 32 bits.

Arrays contain zeros, and other values at positions that a wrapped index would miss or visit twice.
"""

import math

import numpy as np
import pytest

from numbalite import cuda, guvectorize, vectorize

pytestmark = pytest.mark.gpu

GIB = 1 << 30
HALF, FULL = 1 << 31, 1 << 32
SIZES = (HALF + 777, FULL + 12_345)


def marked_indices(size):
    """Returns indices next to each position where an index of 31 or 32 bits wraps, and at both
    ends."""
    near = (
        0,
        1,
        5,
        HALF - 1,
        HALF,
        HALF + 1,
        HALF + 5,
        FULL - 1,
        FULL,
        FULL + 1,
        FULL + 5,
        size - 1,
    )
    return sorted({i for i in near if i < size})


def zeros_with_ones_at_marks(size, dtype="i1", needs=3):
    """Returns a device array of zeros with ones at the marks; skips the test if `needs` arrays of this size
    do not fit."""
    wanted = needs * size * np.dtype(dtype).itemsize + 2 * GIB
    cuda.memory_pool().trim()
    free = cuda.current_context().get_memory_info().free
    if free < wanted:
        pytest.skip(f"needs {wanted / GIB:.0f} GiB of device memory, {free / GIB:.0f} are free")
    x = cuda.zeros(size, dtype)
    for i in marked_indices(size):
        x[i] = 1
    return x


def values_at_marks(array, size):
    return [int(array[i]) for i in marked_indices(size)]


@pytest.fixture(params=SIZES, ids=("2**31", "2**32"))
def array_size(request):
    return request.param


def ones_at_marks(size):
    return [1] * len(marked_indices(size))


def test_elementwise_functions_with_64_bit_indices_are_correct(array_size):
    x = zeros_with_ones_at_marks(array_size)
    y = x + x
    assert values_at_marks(y, array_size) == [2] * len(marked_indices(array_size))
    np.add(x, y, out=y, where=x == 1)
    assert values_at_marks(y, array_size) == [3] * len(marked_indices(array_size)) and int(
        y.sum()
    ) == 3 * len(marked_indices(array_size))


def test_reductions_with_64_bit_indices_are_correct(array_size):
    x = zeros_with_ones_at_marks(array_size)
    count = len(marked_indices(array_size))
    assert int(x.sum()) == int(np.count_nonzero(x)) == count
    assert int(x.max()) == 1 and int(x.argmax()) == 0 and bool(x.any()) and not bool(x.all())
    x[0] = x[1] = x[5] = 0
    assert int(x.argmax()) == HALF - 1
    assert float(x.mean()) == pytest.approx((count - 3) / array_size, rel=1e-9)
    rows = x[: array_size // 4 * 4].reshape(-1, 4)
    expected = [0] * 4
    for i in marked_indices(array_size):
        if i not in (0, 1, 5) and i < array_size // 4 * 4:
            expected[i % 4] += 1
    assert np.sum(rows, axis=0, dtype="i8").copy_to_host().tolist() == expected
    assert int(rows.sum(axis=1, dtype="i1")[HALF // 4]) == sum(
        HALF <= i < HALF + 4 for i in marked_indices(array_size)
    )
    assert int(rows.max(axis=1).sum()) == len(
        {
            i // 4
            for i in marked_indices(array_size)
            if i not in (0, 1, 5) and i < array_size // 4 * 4
        }
    )


def test_scan_with_64_bit_indices_is_correct(array_size):
    x = zeros_with_ones_at_marks(array_size, needs=6)
    sums = np.cumsum(x, dtype="i1")
    assert values_at_marks(sums, array_size) == list(range(1, len(marked_indices(array_size)) + 1))


def test_sort_with_64_bit_indices_is_correct(array_size):
    x = zeros_with_ones_at_marks(array_size, needs=6)
    x.sort()
    count = len(marked_indices(array_size))
    assert int(x[: array_size - count].sum()) == 0 and int(x[array_size - count :].sum()) == count


def test_masks_and_gathers_with_64_bit_indices_are_correct(array_size):
    x = zeros_with_ones_at_marks(array_size, needs=12)
    assert x[x == 1].size == len(marked_indices(array_size))
    assert np.flatnonzero(x).copy_to_host().tolist() == marked_indices(array_size)
    indices = cuda.to_device(np.array(marked_indices(array_size)))
    assert x[indices].copy_to_host().tolist() == ones_at_marks(array_size)
    x[indices] = 3
    assert values_at_marks(x, array_size) == [3] * len(marked_indices(array_size)) and int(
        x.sum(dtype="i8")
    ) == 3 * len(marked_indices(array_size))
    assert values_at_marks(np.where(x == 3, np.int8(5), np.int8(0)), array_size) == [5] * len(
        marked_indices(array_size)
    )


def test_copies_of_views_with_64_bit_indices_are_correct(array_size):
    x = zeros_with_ones_at_marks(array_size, needs=4)
    backwards = x[::-1]
    y = backwards.copy()
    assert [int(y[array_size - 1 - i]) for i in marked_indices(array_size)] == ones_at_marks(
        array_size
    )
    every = x[::3].copy()
    assert int(every.sum()) == sum(i % 3 == 0 for i in marked_indices(array_size))
    joined = np.concatenate([x[:5], x])
    assert joined.size == array_size + 5 and int(joined[5 + HALF]) == 1
    tail = x[HALF - 2 :].copy_to_host()
    assert [i for i in range(12) if tail[i]] == [
        i - HALF + 2 for i in marked_indices(array_size) if HALF - 2 <= i < HALF + 10
    ]


def test_astype_with_64_bit_indices_is_correct(array_size):
    x = zeros_with_ones_at_marks(array_size, needs=4)
    y = x.astype("u1") if array_size > HALF * 2 else x.astype("f4")
    assert values_at_marks(y, array_size) == ones_at_marks(array_size) and float(
        y.sum(dtype="f8")
    ) == len(marked_indices(array_size))


def test_kernels_with_64_bit_indices_write_the_marked_elements(array_size):
    x = zeros_with_ones_at_marks(array_size, needs=2)

    @cuda.jit
    def twice(x):
        "long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; if (i < x.size()) x[i] *= 2;"

    @cuda.jit
    def thrice(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 3

    twice[math.ceil(array_size / 1024), 1024](x)
    thrice[math.ceil(array_size / 1024), 1024](x)
    assert values_at_marks(x, array_size) == [6] * len(marked_indices(array_size)) and int(
        x.sum(dtype="i8")
    ) == 6 * len(marked_indices(array_size))


@vectorize(["int8(int8, int8)"], target="cuda")
def add_int8(x, y):
    "x + y"


def test_ufunc_of_broadcast_operands_with_64_bit_indices_is_correct(array_size):
    x = zeros_with_ones_at_marks(array_size, needs=4)
    columns = x[: array_size // 2 * 2].reshape(-1, 2)
    y = add_int8(columns, cuda.to_device(np.array([1, 2], "i1")))
    assert int(y.sum(dtype="i8")) == array_size // 2 * 3 + sum(
        i < array_size // 2 * 2 for i in marked_indices(array_size)
    )
    assert int(y[HALF // 2, 0]) == 2


GUFUNCS = {}


def register_gufunc(name, signature, layout, body, **options):
    scope = {}
    exec(f"def {name}(x, y):\n    {body!r}\n", scope)
    GUFUNCS[name] = guvectorize([signature], layout, target="cuda", **options)(scope[name])
    return GUFUNCS[name]


last = register_gufunc("last", "void(int8[:], int8[:])", "(n)->()", "y[0] = x[x.size() - 1];")
total = register_gufunc(
    "total",
    "void(int8[:], int8[:])",
    "(n)->()",
    "int sum = 0; for (int i = 0; i < x.size(); ++i) sum += x[i]; y[0] = sum;",
)
block_total = register_gufunc(
    "block_total",
    "void(int8[:], int8[:])",
    "(n)->()",
    "if (threadIdx.x == 0) { int sum = 0; for (int i = 0; i < x.size(); ++i) sum += x[i]; y[0] = sum; }",
    block=True,
)
running = register_gufunc(
    "running",
    "void(int8[:], int8[:])",
    "(n)->(n)",
    "int sum = 0; for (int i = 0; i < x.size(); ++i) y[i] = sum += x[i];",
)


@pytest.mark.parametrize("n", (1, 3, 4, 20))
@pytest.mark.parametrize("staged", (False, True, None))
@pytest.mark.parametrize("name", ("last", "total", "running"))
@pytest.mark.parametrize("broadcast", (False, True))
def test_gufuncs_with_64_bit_loop_indices_are_correct(name, staged, n, broadcast):
    """Tests more than 2**31 loop indices, with all cores in memory, and with one core broadcast."""
    loop = HALF + 4
    f = GUFUNCS[name]
    if broadcast:
        x = zeros_with_ones_at_marks(loop, needs=2 + n * (name == "running"))
        rows = np.broadcast_to(x[:, None], (loop, n))
    else:
        x = zeros_with_ones_at_marks(loop * n, needs=2 + (name == "running"))
        x.fill(0)
        rows = x.reshape(loop, n)
        for i in marked_indices(loop):
            rows[i] = 1
    f.staged = staged
    y = f(rows)
    f.staged = None
    per = {"last": 1, "total": n, "running": n * (n + 1) // 2}[name]
    assert int(y.sum(dtype="i8")) == per * len(marked_indices(loop))
    flat = y if name != "running" else y[:, n - 1]
    assert values_at_marks(flat, loop) == [1 if name == "last" else n] * len(marked_indices(loop))


def test_block_gufunc_with_64_bit_loop_indices_is_correct():
    loop = HALF + 4
    x = zeros_with_ones_at_marks(loop)
    y = block_total(x[:, None])
    assert int(y.sum(dtype="i8")) == len(marked_indices(loop)) and values_at_marks(
        y, loop
    ) == ones_at_marks(loop)


def test_dot_products_with_64_bit_indices_are_correct():
    x = zeros_with_ones_at_marks(HALF + 777, "f4", needs=2)
    x.fill(1)
    assert float(x.dot(x)) == float(np.vdot(x, x)) == np.float32(HALF + 777)
    assert float(np.linalg.norm(x)) == pytest.approx(math.sqrt(HALF + 777), rel=1e-7)
    assert float(x.sum()) == np.float32(HALF + 777)
    assert float(x.std()) == 0


def test_random_numbers_and_bincount_with_64_bit_indices_are_correct(array_size):
    rng = cuda.random.default_rng(1)
    x = rng.integers(0, 4, array_size, dtype="i1")
    counts = np.bincount(x[: HALF + 777]).copy_to_host()
    assert counts.sum() == HALF + 777 and abs(counts / counts.sum() - 0.25).max() < 1e-3
    tail = x[-1000:].copy_to_host()
    assert set(tail.tolist()) == {0, 1, 2, 3}
