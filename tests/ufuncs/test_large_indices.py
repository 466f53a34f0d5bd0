"""Tests indices near 2**31 and 2**32: the simulator runs only the last blocks of a grid, so most memory is
never accessed. tests/gpu/test_large_arrays.py runs whole grids on a GPU that has the memory."""

import numpy as np
import pytest

from numbalite import _core, cuda, guvectorize, vectorize

pytestmark = [pytest.mark.sim, pytest.mark.cases(1)]

HALF, FULL = 1 << 31, 1 << 32
TAIL = 3000  # elements whose results are compared
BLOCKS = 256


@pytest.fixture
def run_last_blocks():
    def run_blocks(function, *args, **keywords):
        _core.run_last_blocks(BLOCKS)
        try:
            result = function(*args, **keywords)
            cuda.synchronize()
        finally:
            _core.run_last_blocks(0)
        return result

    yield run_blocks
    _core.run_last_blocks(0)


def zeros_with_random_tail(shape, dtype="i1"):
    """Returns a device array whose last TAIL elements are random; the other elements are not initialized."""
    d = cuda.device_array(shape, dtype)
    d.reshape(-1)[-TAIL:] = np.random.default_rng(5).integers(1, 50, TAIL).astype(dtype)
    return d


def tail_on_host(d, count=TAIL):
    return d.reshape(-1)[-count:].copy_to_host()


@pytest.fixture(params=(HALF + 5, FULL + 13), ids=("2**31", "2**32"))
def array_size(request):
    return request.param


def test_elementwise_loops_with_64_bit_indices_match_numpy(run_last_blocks, array_size):
    x = zeros_with_random_tail(array_size)
    one = cuda.to_device(np.array([3], "i1"))
    expected = tail_on_host(x)
    np.testing.assert_array_equal(
        tail_on_host(run_last_blocks(np.add, x, x, out=x)), expected + expected
    )
    np.testing.assert_array_equal(
        tail_on_host(run_last_blocks(np.multiply, x, one, out=x)), expected * 6
    )


def test_broadcast_rows_and_columns_with_64_bit_indices_match_numpy(run_last_blocks, array_size):
    """Tests two dimensions that cannot be merged: one operand is broadcast, or has gaps."""
    x = zeros_with_random_tail((array_size // 4, 4))
    expected = tail_on_host(x).reshape(-1, 4)
    row = cuda.to_device(np.arange(4, dtype="i1"))
    found = run_last_blocks(np.add, x, row, out=x)
    np.testing.assert_array_equal(tail_on_host(found).reshape(-1, 4), expected + np.arange(4))
    run_last_blocks(np.add, x[:, ::2], x[:, 1::2], out=x[:, ::2])
    expected = expected + np.arange(4)
    expected[:, ::2] += expected[:, 1::2]
    np.testing.assert_array_equal(tail_on_host(x).reshape(-1, 4), expected)


def test_user_ufunc_with_64_bit_indices_matches_numpy(run_last_blocks, array_size):
    @vectorize(["int8(int8, int8)"], target="cuda")
    def add_double(a, b):
        "a + 2 * b"

    x = zeros_with_random_tail(array_size)
    expected = 3 * tail_on_host(x)
    np.testing.assert_array_equal(tail_on_host(run_last_blocks(add_double, x, x, out=x)), expected)


def make_gufunc(body, layout="(n)->()", **options):
    scope = {}
    exec(f"def f(x, y):\n    {body!r}\n", scope)
    return guvectorize(["void(int8[:], int8[:])"], layout, target="cuda", **options)(scope["f"])


LAST = "y[0] = x[x.size() - 1];"
RUNNING = "int s = 0; for (int i = 0; i < x.size(); ++i) y[i] = s += x[i];"


@pytest.mark.parametrize("staged", (False, True, None))
@pytest.mark.parametrize("body, layout", ((LAST, "(n)->()"), (RUNNING, "(n)->(n)")))
def test_gufunc_loops_with_64_bit_indices_match_numpy(run_last_blocks, body, layout, staged):
    loop = HALF + 4
    x = zeros_with_random_tail((loop, 1))
    f = make_gufunc(body, layout)
    f.staged = staged
    expected = tail_on_host(x)
    small = np.arange(8, dtype="i1").reshape(8, 1)
    np.testing.assert_array_equal(f(small).reshape(-1), small.reshape(-1))
    y = cuda.device_array((loop,) if layout == "(n)->()" else (loop, 1), "i1")
    np.testing.assert_array_equal(tail_on_host(run_last_blocks(f, x, out=y)), expected)
