"""Compares jvp and vjp of generalized ufuncs with finite differences and with each other, and tests
rejected calls."""

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda, guvectorize

TARGETS = ["cuda", "cpu", "parallel"]
MATMUL = """
for (int i = 0; i < a.shape[0]; ++i)
    for (int j = 0; j < b.shape[1]; ++j) {
        auto sum = 0 * a(0, 0);
        for (int k = 0; k < a.shape[1]; ++k) sum += sin(a(i, k)) * b(k, j);
        c(i, j) = sum;
    }
"""


def to_host_array(value):
    return value.copy_to_host() if isinstance(value, cuda.DeviceNDArray) else np.asarray(value)


def finite_difference(f, inputs, tangents, step=1e-6):
    ahead = f(*(x + step * t for x, t in zip(inputs, tangents, strict=True)))
    behind = f(*(x - step * t for x, t in zip(inputs, tangents, strict=True)))
    return (ahead - behind) / (2 * step)


def matmul(target, layout="(m,n),(n,p)->(m,p)", types=("float64[:,:]",) * 3):
    return guvectorize(
        [f"void({', '.join(types)})"],
        layout,
        target=target,
        source=MATMUL,
        args="a, b, c",
        name="f",
    )


@pytest.mark.parametrize(
    ("target", "on_device"),
    [("cuda", False), ("cuda", True), ("cpu", False), ("parallel", False)],
)
def test_gufunc_jvp_matches_differences(target, on_device):
    f, random = matmul(target), random_generator()
    a, b, ta, tb = (random.random(s) for s in [(2, 3, 4), (4, 5), (3, 4), (2, 4, 5)])
    give = cuda.to_device if on_device else np.asarray
    value, tangent = f.jvp((give(a), give(b)), (give(ta), give(tb)))
    assert isinstance(value, cuda.DeviceNDArray) == on_device
    np.testing.assert_allclose(to_host_array(value), f(a, b), rtol=1e-13)
    expected = finite_difference(f, [a, b], [ta, tb])
    np.testing.assert_allclose(to_host_array(tangent), expected, rtol=1e-7)
    _, tangent = f.jvp((a, b), (ta, None))
    np.testing.assert_allclose(
        to_host_array(tangent), finite_difference(f, [a, b], [ta, 0]), rtol=1e-7
    )


@pytest.mark.parametrize("target", TARGETS)
def test_vjp_of_fixed_dimensions_is_the_transpose_of_jvp(target):
    f, random = matmul(target, "(2,3),(3,2)->(2,2)"), random_generator()
    a, b, g = (random.random(s) for s in [(5, 2, 3), (3, 2), (5, 2, 2)])
    by_a, by_b = f.vjp((a, b), g)
    assert by_a.shape == a.shape and by_b.shape == b.shape
    for tangents in [(random.random(a.shape), None), (None, random.random(b.shape))]:
        _, tangent = f.jvp((a, b), tangents)
        expected = sum(
            np.sum(x * t) for x, t in zip((by_a, by_b), tangents, strict=True) if t is not None
        )
        np.testing.assert_allclose(np.sum(tangent * g), expected, rtol=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_gufunc_derivatives_accept_scalars_and_integers(target):
    f = guvectorize(
        ["void(float32[:], float64, int32, float64[:], float64[:])"], "(3),(),()->(),(3)", target=target,
        source="y[0] = 0 * a; for (int i = 0; i < 3; ++i) { y[0] += x[i] * a * n; z[i] = x[i] * x[i] / a; }",
        args="x, a, n, y, z", name="f",
    )  # fmt: skip
    x, a, n = random_generator().random((4, 3)).astype("f4"), 2.0, np.int32(3)
    (y, z), (ty, tz) = f.jvp((x, a, n), (np.ones(3, "f4"), 1.0, None))
    np.testing.assert_allclose(ty, (3 * a + 3 * x).sum(1), rtol=1e-6)
    np.testing.assert_allclose(tz, 2 * x / a - x * x / a**2, rtol=1e-6)
    by_x, by_a, by_n = f.vjp((x, a, n), (np.ones(4), np.zeros((4, 3))))
    assert by_x.dtype == np.float32 and by_n is None and np.shape(by_a) == ()
    np.testing.assert_allclose(by_x, np.full((4, 3), 6.0))
    np.testing.assert_allclose(by_a, 3 * x.sum(), rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_derivatives_of_python_gufuncs_match_formula(target):
    @guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target=target)
    def sine_times_first(x, y):
        for i in range(x.size):
            y[i] = np.sin(x[i]) * x[0]

    x, t = random_generator().random((2, 3, 5))
    value, tangent = sine_times_first.jvp((x,), (t,))
    np.testing.assert_allclose(value, sine_times_first(x))
    np.testing.assert_allclose(tangent, np.cos(x) * t * x[:, :1] + np.sin(x) * t[:, :1])


def test_invalid_arguments_raise():
    f = matmul("cpu")
    a = np.ones((2, 2))
    with pytest.raises(TypeError, match=r"lacks fixed sizes, such as \(3\),\(3\)->\(3\): use jvp"):
        f.vjp((a, a), a)
    big = matmul("cpu", "(9,4),(4,9)->(9,9)")
    with pytest.raises(TypeError, match="72 elements in .*; a vjp supports 64"):
        big.vjp((np.ones((9, 4)), np.ones((4, 9))), np.ones((9, 9)))
    with pytest.raises(TypeError, match="2 primals, 1 tangents"):
        f.jvp((a, a), (a,))
    written = guvectorize(
        ["void(float64[:])"], "(n)", target="cuda", source="x[0] = 1;", args="x", name="f"
    )
    with pytest.raises(TypeError, match="writes its inputs"):
        written.jvp((np.ones(3),), (np.ones(3),))
    whole = guvectorize(
        ["void(int64[:], int64[:])"], "(n)->(n)", target="cpu", source="y[0] = x[0];", args="x, y", name="f"
    )  # fmt: skip
    with pytest.raises(TypeError, match="has no derivative"):
        whole.jvp((np.ones(3, int),), (None,))
