"""Tests kernels for few contiguous elements: a vectorized function compiles these kernels first, because
they compile in a third of the time. The simulator has no kernels for few elements, so that other tests
run the kernels for many elements; these tests enable them."""

import numpy as np
import pytest

from numbalite import cuda, vectorize
from numbalite.ufuncs import cudaufunc

MANY = 65536  # SMALL_COUNT in cext/py/ufuncloops.c


@pytest.fixture(autouse=True)
def enable_small_kernels_on_simulator(monkeypatch):
    monkeypatch.setattr(cudaufunc, "_QUICK_ON", ("cuda", "sim"))


def kernel_kinds_of(ufunc):
    return sorted(plan.kind for plan in ufunc._overloads)


def random_values(dtype, size, seed):
    drawn = np.random.default_rng(seed).uniform(-50, 50, size)
    return drawn.astype(dtype)


def test_size_selects_the_kernel():
    f = vectorize(["f4(f4, f4)"], target="cuda", source="return x - 2 * y;", args="x, y", name="f")
    assert kernel_kinds_of(f) == ["small"]
    x, y = (cuda.to_device(random_values("f4", MANY + 3, seed)) for seed in (1, 2))
    for size in (1, 255, 257, MANY):
        np.testing.assert_array_equal(f(x[:size], y[:size]).get(), (x.get() - 2 * y.get())[:size])
    assert kernel_kinds_of(f) == ["small"]
    np.testing.assert_array_equal(f(x, y).get(), x.get() - 2 * y.get())
    assert kernel_kinds_of(f) == ["flat", "small"]
    np.testing.assert_array_equal(f(x[:9], 3).get(), x.get()[:9] - 6)  # 3: another kernel
    np.testing.assert_array_equal(f(x[::2][:8], y[:8]).get(), x.get()[:16:2] - 2 * y.get()[:8])
    assert kernel_kinds_of(f) == ["flat", "small", "small", "strided32"]


def test_compiled_kernel_for_many_elements_also_computes_few():
    f = vectorize(target="cuda", source="return x * x;", args="x", name="f")
    d = cuda.to_device(random_values("f4", MANY + 1, 3))
    for part in (d, d[:5], d[:100], d):
        np.testing.assert_array_equal(f(part).get(), part.get() ** 2)
    assert kernel_kinds_of(f) == ["flat"]


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # on Arm
@pytest.mark.parametrize("dtypes", ["f4 f8", "f2 f4", "? i8", "u1 f4", "c16 i2", "i4 ?"])
def test_small_kernels_match_numpy(dtypes):
    first, second = dtypes.split()
    f = vectorize(target="cuda", source="return x + y;", args="x, y", name="f")
    a, b = random_values(first, 700, 4), random_values(second, 700, 5)
    mask = random_values("?", 700, 6)
    mask[::3] = False
    expected = np.add(a, b)
    np.testing.assert_allclose(f(cuda.to_device(a), cuda.to_device(b)).get(), expected)
    out = cuda.to_device(np.zeros(700, expected.dtype))
    f(cuda.to_device(a), cuda.to_device(b), out=out, where=cuda.to_device(mask))
    np.testing.assert_allclose(out.get(), np.where(mask, expected, 0))
    np.testing.assert_allclose(f(cuda.to_device(a), b[7]).get(), np.add(a, b[7]))
    np.testing.assert_allclose(f(cuda.to_device(a), cuda.to_device(b[:1])).get(), a + b[:1])
    assert set(kernel_kinds_of(f)) == {"small"}


def test_small_kernels_store_several_results():
    @vectorize(["Tuple((f8, boolean))(f8, f4)"], target="cuda")
    def product_and_less(x, y):
        "return make_tuple(x * y, x < y);"

    a, b = random_values("f8", 300, 7), random_values("f4", 300, 8)
    product, less = product_and_less(cuda.to_device(a), cuda.to_device(b))
    np.testing.assert_array_equal(product.get(), a * b)
    np.testing.assert_array_equal(less.get(), a < b)
    inplace = cuda.to_device(a)
    f = vectorize(["f8(f8, f4)"], target="cuda", source="return x - y;", args="x, y", name="f")
    f(inplace, cuda.to_device(b), out=inplace)
    np.testing.assert_array_equal(inplace.get(), a - b)
    assert kernel_kinds_of(product_and_less) == kernel_kinds_of(f) == ["small"]
