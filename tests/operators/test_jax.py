"""Compares calls of numbalite.jax with JAX's own functions, under jit, vmap and grad, and runs
check_grads."""

import subprocess
import sys

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda, guvectorize, vectorize

pytest.importorskip("jax", reason="JAX is not installed")
import jax
import jax.numpy as jnp
from jax.test_util import check_grads

from numbalite.jax import call, handlers
from numbalite.operators import operation

pytestmark = [
    pytest.mark.sim,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

DD, DDD = ["float64(float64)"], ["float64(float64, float64)"]


@pytest.fixture(autouse=True)
def with_float64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def make_ufunc(text, args="x", signatures=DD, target="cuda"):
    return vectorize(signatures, target=target, source=text, args=args, name="f")


def random_jax_array(*shape):
    return jnp.asarray(random_generator().uniform(0.1, 0.9, shape))


@pytest.mark.parametrize("target", ["cuda", "cpu", "parallel"])
def test_jax_ufuncs_match_numpy(target):
    f = make_ufunc("return sin(x) * y;", "x, y", ["float32(float32, float32)", *DDD], target)
    g = call(f)
    for shapes in [((3, 4), (4,)), ((), (2, 1)), ((0, 3), (3,)), ((5,), (5,))]:
        x, y = (random_jax_array(*shape) for shape in shapes)
        for found in (g(x, y), jax.jit(g)(x, y)):
            np.testing.assert_array_equal(found, f(np.asarray(x), np.asarray(y)))
    x = random_jax_array(3).astype("f4")
    assert g(x, x).dtype == np.float32
    assert g(x, 2.0).dtype == np.float32 and g(x, 2.0).shape == (3,)
    np.testing.assert_allclose(g(x, 2.0), jnp.sin(x) * 2, rtol=1e-6)


def test_jax_operators_return_two_results():
    f = call(
        make_ufunc(
            "return make_tuple(x + n, x * n);",
            "x, n",
            ["Tuple((float64, float64))(float64, int32)"],
        )
    )
    x, n = random_jax_array(2, 3), jnp.arange(3, dtype="i4")
    for found, expected in zip(jax.jit(f)(x, n), (x + n, x * n), strict=True):
        np.testing.assert_allclose(found, expected)
    check_grads(lambda x: f(x, n), (x,), 2)
    g = call(matmul)
    a, b = random_jax_array(2, 3, 4), random_jax_array(4, 5)
    np.testing.assert_allclose(jax.jit(g)(a, b), a @ b)
    found = jax.vmap(g, (None, 2))(a, jnp.stack([b, 2 * b], 2))
    np.testing.assert_allclose(found, jnp.stack([a @ b, 2 * a @ b]))


@guvectorize(
    ["void(float64[:,:], float64[:,:], float64[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda"
)
def matmul(a, b, c):
    """
    for (int i = 0; i < a.shape[0]; ++i)
        for (int j = 0; j < b.shape[1]; ++j) {
            double sum = 0;
            for (int k = 0; k < a.shape[1]; ++k) sum += a(i, k) * b(k, j);
            c(i, j) = sum;
        }
    """


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(3),(3)->(3)", target="cuda")
def cross_product(a, b, c):
    """
    for (int i = 0; i < 3; ++i) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        c[i] = a[j] * b[k] - a[k] * b[j];
    }
    """


def test_jax_gufunc_gradients_match_jax():
    f = call(cross_product)
    a, b = random_jax_array(4, 3), random_jax_array(3)
    check_grads(f, (a, b), 1, modes=["rev"])
    found = jax.vmap(jax.grad(lambda a, b: f(a, b).sum(), 1), (0, None))(a, b)
    expected = jax.vmap(jax.grad(lambda a, b: jnp.cross(a, b).sum(), 1), (0, None))(a, b)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(NotImplementedError, match="fixed sizes"):
        jax.grad(lambda a: call(matmul)(a, a).sum())(random_jax_array(2, 2))


@pytest.mark.parametrize("axes", [(0, None), (1, 0), (None, 1), (2, 1)])
def test_vmap_matches_jax(axes):
    f = call(make_ufunc("return x - y * y;", "x, y", DDD))
    x, y = random_jax_array(3, 3, 3), random_jax_array(3, 3)
    expected = jax.vmap(lambda x, y: x - y * y, axes)(x, y)
    np.testing.assert_allclose(jax.vmap(f, axes)(x, y), expected, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.vmap(f, axes))(x, y), expected, rtol=1e-12)


TEXTS = {
    "smooth": ("return sin(x) * exp(y) + pow(x, y);", lambda x, y: jnp.sin(x) * jnp.exp(y) + x**y),
    "a branch and a loop": (
        "double t = 0; for (int i = 1; i < 4; ++i) t += x > 0.5 ? sin(i * x) : y * y; return t;",
        lambda x, y: sum(jnp.where(x > 0.5, jnp.sin(i * x), y * y) for i in range(1, 4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS.values(), ids=TEXTS)
def test_gradients_match_jax(case):
    text, expected = case
    f = call(make_ufunc(text, "x, y", DDD))
    x, y = random_jax_array(3, 4), random_jax_array(4)
    check_grads(f, (x, y), 2)
    for transform in (
        lambda f: jax.grad(lambda *args: f(*args).sum(), (0, 1)),
        lambda f: jax.jit(jax.grad(lambda *args: f(*args).sum(), (0, 1))),
        lambda f: lambda x, y: jax.jvp(f, (x, y), (y + 0 * x, 2 * y)),
        lambda f: jax.jacfwd(f),
        lambda f: jax.hessian(lambda *args: f(*args).sum()),
    ):
        found, wanted = transform(f)(x, y), transform(expected)(x, y)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), found, wanted)


def test_jax_operators_of_complex_numbers_have_gradients():
    signatures = ["complex128(complex128, float64)", *DDD]
    f = call(make_ufunc("return exp(z * x) * z;", "z, x", signatures))
    expected = lambda z, x: jnp.exp(z * x) * z
    z, x = random_jax_array(5) + 1j * random_jax_array(5), random_jax_array(5)
    np.testing.assert_allclose(f(z, x), expected(z, x), rtol=1e-12)
    for loss in (
        lambda f: lambda *args: jnp.sum(jnp.abs(f(*args)) ** 2),
        lambda f: lambda *args: jnp.sum(f(*args).real * 2 + f(*args).imag),
    ):
        found, wanted = (jax.grad(loss(one), (0, 1))(z, x) for one in (f, expected))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), found, wanted)
    check_grads(f, (x, x), order=2)  # the signature of real numbers


def test_jax_uses_user_defined_derivative_rules():
    f = call(make_ufunc("return x > 0 ? x : 0.01 * x;").defvjp("x > 0 ? g : 5 * g"))
    found = jax.grad(lambda x: f(x).sum())(jnp.array([-1.0, 1.0]))
    assert found.tolist() == [5, 1]


# ---- kernels


@cuda.jit("void(const float64[:], float64, float64[:])")
def scale(x, a, y):
    "int i = grid<1>(); if (i < x.size()) y[i] = a * x[i];"


@cuda.jit("void(const float64[:], const float64[:], float64[:])")
def product(x, y, z):
    "int i = grid<1>(); if (i < x.size()) z[i] = x[i] * y[i];"


@cuda.jit("void(const float64[:], const float64[:], const float64[:], float64[:], float64[:])")
def product_adjoint(x, y, g, gx, gy):
    "int i = grid<1>(); if (i < x.size()) { gx[i] += g[i] * y[i]; gy[i] += g[i] * x[i]; }"


product.adjoint = product_adjoint


def launch_blocks(x, *rest):
    return -(-max(x.size, 1) // 32), 32


def test_jax_operators_launch_kernels():
    f = call(scale, lambda x, a: x, launch=launch_blocks)
    x = random_jax_array(40)
    np.testing.assert_allclose(f(x, 3.0), 3 * x)
    np.testing.assert_allclose(jax.jit(lambda x: f(x, 3) + f(x, 2))(x), 5 * x)
    with pytest.raises(TypeError, match="mark it as static"):
        jax.jit(f)(x, 3.0)
    with pytest.raises(NotImplementedError, match=r"set scale\.adjoint"):
        jax.grad(lambda x: f(x, 2.0).sum())(x)
    source = "__global__ void shift(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] + 1; }"
    shift = call(cuda.module(source).shift, (8,), launch=(1, 32))
    np.testing.assert_array_equal(jax.jit(lambda x: shift(x, 8))(jnp.zeros(8, "f4")), np.ones(8))


def test_jax_differentiates_kernels():
    f = call(product, lambda x, y: x.shape, launch=launch_blocks)
    x, y = random_jax_array(7), random_jax_array(7)
    check_grads(f, (x, y), 1, modes=["rev"])
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x: f(x, x).sum()))(x), 2 * x)
    batched = jax.vmap(jax.grad(lambda x, y: f(x, y).sum()), (0, None))(random_jax_array(3, 7), y)
    np.testing.assert_allclose(batched, jnp.stack([y] * 3))


# ---- mistakes


def test_invalid_arguments_raise():
    f = call(make_ufunc("return x + y;", "x, y", DDD))
    with pytest.raises(TypeError, match=r"2 inputs \(x, y\), not 1"):
        f(random_jax_array(3))
    with pytest.raises(ValueError, match="cannot be broadcast"):
        f(random_jax_array(3), random_jax_array(4))
    with pytest.raises(TypeError, match="made from a ufunc"):
        call(np.sin)
    with pytest.raises(TypeError, match="writes its input z, and arrays of JAX are immutable"):
        call(product, launch=launch_blocks)
    with pytest.raises(TypeError, match="launch= is"):
        call(product, lambda x, y: x)
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(TypeError, match="jax_enable_x64"):
        f(jnp.zeros(3), jnp.zeros(3))


def test_kernel_exceptions_raise_jax_errors():
    f = call(scale, lambda x, a: x, launch=launch_blocks)
    with pytest.raises(Exception, match="expected array<const double, 1>"):
        f(random_jax_array(3, 4), 2.0).block_until_ready()


PROGRAM = """
import jax, jax.numpy as jnp, numpy as np, sys
from numbalite import vectorize
from numbalite.jax import call, handlers
from numbalite.operators import operation
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
other = call(vectorize(["float32(float32)"], target="cpu", source=sys.argv[2], args="x", name="f"))
print(jax.jit(other)(jnp.ones(2, "f4"))[0])
"""


def test_programs_of_the_disk_cache_call_their_own_functions(tmp_path):
    """Runs processes whose programs differ only in the text of the function."""
    for text in ("return x + 1;", "return x + 2;", "return x + 1;"):
        command = [sys.executable, "-c", PROGRAM, str(tmp_path), text]
        found = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert found.stdout.split() == [{"1": "2.0", "2": "3.0"}[text[-2]]], found.stderr


def test_training_losses_equal_those_of_jax():
    sigmoid = call(make_ufunc("return 1 / (1 + exp(-x));"))
    random = np.random.default_rng(0)
    x = jnp.asarray(random.normal(size=(64, 4)))
    y = jnp.asarray((random.random((64, 1)) > 0.5).astype("f8"))

    def losses(activation):
        random = np.random.default_rng(1)
        weights = [jnp.asarray(random.normal(size=s)) for s in [(4, 8), (8, 1)]]

        @jax.jit
        @jax.value_and_grad
        def loss_and_gradient(weights):
            return ((activation(activation(x @ weights[0]) @ weights[1]) - y) ** 2).mean()

        found = []
        for _ in range(200):
            loss, gradients = loss_and_gradient(weights)
            found.append(float(loss))
            weights = [w - 0.5 * g for w, g in zip(weights, gradients, strict=True)]
        return found

    expected = losses(jax.nn.sigmoid)
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(losses(sigmoid), expected, rtol=1e-9)


def test_prepared_launches_read_and_write_the_buffers_of_their_call(monkeypatch):
    """XLA's handler calls the function of an operation with addresses of device memory, which change."""
    monkeypatch.setattr(handlers, "_MAX_PREPARED", 3)
    f = vectorize(["f4(f4, f4)"], target="cuda", source="return x - y;", args="x, y", name="f")
    run = handlers._handler_function(operation(f, None, None), (np.dtype("f4"),) * 3, (None, None))
    stream = cuda.stream()
    arrays = [cuda.to_device(np.arange(n, n + 8, dtype="f4")) for n in range(4)]

    def address_and_size(array, size):
        return array.__cuda_array_interface__["data"][0], (size,)

    for first, second, size in [(0, 1, 8), (0, 1, 8), (1, 0, 8), (2, 0, 5), (2, 0, 8), (0, 1, 8), (3, 1, 1)]:  # fmt: skip
        out = cuda.to_device(np.full(8, -1, "f4"))
        run(
            [address_and_size(arrays[first], size), address_and_size(arrays[second], size)],
            [address_and_size(out, size)],
            int(stream.handle),
        )
        stream.synchronize()
        expected = [float(first - second)] * size + [-1.0] * (8 - size)
        assert out.copy_to_host().tolist() == expected
