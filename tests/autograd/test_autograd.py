"""autograd's gradients of device arrays and numbalite's ufuncs equal those of NumPy arrays and pass
autograd's own checks."""

import numpy as np
import pytest
from kit.sample import random_generator

import numbalite
from numbalite import cuda, vectorize

pytest.importorskip("autograd")
import autograd.numpy as anp
from autograd import grad, jacobian
from autograd.test_util import check_grads

import numbalite.autograd
from numbalite.autograd import grad_and_loss, traced

TARGETS = ["cuda", "cpu", "parallel"]


def make_ufunc(target, text="sin(x) * y * y"):
    return vectorize(
        ["float64(float64, float64)"],
        target=target,
        source=f"return {text};",
        args="x, y",
        name="f",
    )


FUNCTIONS = {
    "sum of a product": lambda x: anp.sum(anp.tanh(x) * x),
    "mean of rows": lambda x: anp.sum(anp.mean(anp.exp(x), axis=1) ** 2),
    "softmax": lambda x: anp.sum(x * anp.exp(x) / anp.sum(anp.exp(x), axis=1, keepdims=True)),
    "matrix product": lambda x: anp.sum(anp.dot(x, x.T) ** 2),
    "transposed and reshaped": lambda x: (
        anp.sum(anp.reshape(x, (2, -1))[1] ** 3) + anp.sum(x.T[1] ** 2)
    ),
    "maximum and where": lambda x: anp.sum(anp.where(x > 0.5, anp.maximum(x, 0.7), x * x)),
    "concatenated": lambda x: anp.sum(anp.concatenate([x, 2 * x], axis=0) ** 2),
    "variance": lambda x: anp.var(x) + anp.sum(anp.std(x, axis=0)),
    "diagonal": lambda x: anp.sum(anp.diagonal(anp.dot(x, x.T), axis1=-1, axis2=-2) ** 2),
    "norm": lambda x: anp.sqrt(anp.sum(x * x)),
    "an index": lambda x: anp.sum(x[1:, ::2] * x[:-1, ::2]),
    "logsumexp": lambda x: anp.log(anp.sum(anp.exp(x - anp.max(x)))),
    "absolute and clip": lambda x: anp.sum(anp.abs(anp.clip(x, 0.2, 0.8) - 0.5)),
}


@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_device_array_gradients_equal_host_array_gradients(function):
    x = random_generator().random((4, 6))
    found = grad(function)(cuda.to_device(x))
    assert isinstance(found, cuda.DeviceNDArray)
    np.testing.assert_allclose(found.copy_to_host(), grad(function)(x), rtol=1e-10, atol=1e-13)


def test_gradients_of_scalar_times_array_match_host():
    x = random_generator().random((4, 6))
    for f in (lambda a, x: anp.sum(a * x * x), lambda a, x: anp.sum(anp.dot(x, a))):
        found = grad(f)(2.0, cuda.to_device(x))
        np.testing.assert_allclose(float(found), grad(f)(2.0, x))
        check_grads(f)(2.0, cuda.to_device(x))


@pytest.mark.parametrize("target", TARGETS)
def test_ufuncs_pass_the_checks_of_autograd(target):
    f = make_ufunc(target)
    x, y = random_generator().random((4, 3)), random_generator().random(3)
    check_grads(lambda x, y: anp.tanh(f(x, y)) * x, modes=["fwd", "rev"], order=2)(x, y)
    check_grads(lambda x: f(x, 0.5) + f(2.0, x), modes=["rev"], order=1)(0.3)


def test_ufunc_gradients_on_device_arrays_match_host():
    f, same = make_ufunc("cuda"), make_ufunc("cpu")
    x, y = random_generator().random((4, 3)), random_generator().random(3)
    for argnum in (0, 1):
        found = grad(lambda x, y: anp.sum(anp.tanh(f(x, y)) * x), argnum)(
            *map(cuda.to_device, (x, y))
        )
        expected = grad(lambda x, y: anp.sum(anp.tanh(same(x, y)) * x), argnum)(x, y)
        assert isinstance(found, cuda.DeviceNDArray)
        np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-10)


@pytest.mark.parametrize("target", TARGETS)
def test_user_defined_derivative_rules_are_used(target):
    f = make_ufunc(target, "x * y").defvjp("3 * g", "g * x")
    x = random_generator().random(5)
    np.testing.assert_allclose(grad(lambda x: anp.sum(f(x, 2.0)))(x), np.full(5, 3.0))


def test_jacobian_and_complex_gradients_match_host():
    x = random_generator().random(3)
    found = jacobian(lambda x: anp.sin(x) * anp.sum(x))(cuda.to_device(x))
    np.testing.assert_allclose(np.asarray(found), jacobian(lambda x: anp.sin(x) * anp.sum(x))(x))
    z = x + 1j * x[::-1]
    power = grad(lambda z: anp.sum(anp.real(z * anp.conj(z))))
    np.testing.assert_allclose(power(cuda.to_device(z)).copy_to_host(), power(z))


@pytest.mark.parametrize("target", TARGETS)
def test_gradients_of_complex_ufuncs_match_autograd(target):
    signatures = ["complex128(complex128, float64)"]
    f = vectorize(signatures, target=target, source="return exp(z * x);", args="z, x", name="f")
    rng = random_generator()
    z, x = rng.random(4) + 1j * rng.random(4), rng.random(4)
    for i in (0, 1):
        found = grad(lambda *args: anp.sum(anp.abs(f(*args)) ** 2), i)(z, x)
        expected = grad(lambda z, x: anp.sum(anp.abs(anp.exp(z * x)) ** 2), i)(z, x)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    with pytest.raises(TypeError, match="first derivatives only"):
        grad(grad(lambda x: anp.real(anp.sum(f(z, x)))))(0.5)


def test_gradient_descent_finds_the_parameters():
    """Calls `grad_and_loss` in a training loop."""
    sigmoid = vectorize(
        ["float64(float64)"],
        target="cuda",
        source="return 1 / (1 + exp(-x));",
        args="x",
        name="sigmoid",
    )
    random = np.random.default_rng(3)
    x = random.normal(size=(200, 3))
    labels = (x @ [1.0, -2.0, 0.5] > 0).astype(float)
    features, targets = cuda.to_device(x), cuda.to_device(labels)

    def loss(w):
        p = sigmoid(anp.dot(features, w))
        return -anp.sum(targets * anp.log(p) + (1 - targets) * anp.log(1 - p))

    step, w, losses = grad_and_loss(loss), cuda.zeros(3), []
    for _ in range(40):
        gradient, value = step(w)
        losses.append(float(value))
        w = w - 0.02 * gradient
    assert losses[-1] < losses[0] / 4
    p = 1 / (1 + np.exp(-x @ w.copy_to_host()))
    assert ((p > 0.5) == labels).mean() > 0.97


def test_training_losses_equal_those_of_autograd():
    """Trains a network with two layers in 200 steps."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=(64, 4)), (random.random((64, 1)) > 0.5).astype(float)
    first = [random.normal(size=shape) for shape in [(4, 8), (8, 1)]]

    def losses(activation, array):
        inputs, targets = array(x), array(y)

        def loss(v, w):
            p = activation(anp.dot(activation(anp.dot(inputs, v)), w))
            return anp.sum((p - targets) ** 2) / 64

        step, (v, w), found = grad_and_loss(loss, (0, 1)), map(array, first), []
        for _ in range(200):
            (gv, gw), value = step(v, w)
            found.append(float(value))
            v, w = v - 0.5 * gv, w - 0.5 * gw
        return found

    sigmoid = vectorize(
        ["float64(float64)"], target="cuda", source="return 1 / (1 + exp(-x));", args="x", name="s"
    )
    expected = losses(lambda x: 1 / (1 + anp.exp(-x)), np.asarray)
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(losses(sigmoid, cuda.to_device), expected, rtol=1e-9)


def test_fused_functions_have_gradients():
    fused = numbalite.fuse(lambda a, b: np.sin(a) * b)
    x, y = random_generator().random((4, 3)), random_generator().random(3)
    function = traced(fused)
    a, b = cuda.to_device(x), cuda.to_device(y)
    np.testing.assert_allclose(function(a, b).copy_to_host(), np.sin(x) * y)
    found = grad(lambda b: anp.sum(function(a, b)))(b)
    np.testing.assert_allclose(found.copy_to_host(), np.sin(x).sum(0))
    with pytest.raises(TypeError, match="first derivatives only"):
        grad(lambda c: anp.sum(grad(lambda b: anp.sum(function(c, b)))(c)))(a)
    with pytest.raises(TypeError, match=r"accepts a function of numbalite\.fuse"):
        traced(np.sin)


def test_a_ufunc_with_several_results_is_refused():
    f = vectorize(
        ["Tuple((float64, float64))(float64)"], target="cuda", source="return make_tuple(x, x);", args="x",
        name="f",
    )  # fmt: skip
    with pytest.raises(TypeError, match="f has 2 results"):
        grad(lambda x: anp.sum(f(x)[0]))(np.ones(3))


def test_missing_autograd_raises_with_the_package_name(run_python):
    result = run_python(
        "import sys; sys.modules['autograd'] = None\n"
        "try: import numbalite.autograd\n"
        "except ImportError as problem: print(problem)"
    )
    assert "pip install 'numbalite[autograd]'" in result.stdout


def test_numbalite_alone_does_not_import_autograd(run_python):
    result = run_python(
        "import sys, numbalite, numbalite.cuda; print('autograd' in sys.modules, 'numbalite.autograd' in sys.modules)"
    )
    assert result.stdout.split() == ["False", "False"]
