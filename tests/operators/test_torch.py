"""Compares operators of numbalite.torch with torch's own functions, and runs opcheck and
gradcheck."""

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import _core, cuda, guvectorize, vectorize

pytest.importorskip("torch", reason="PyTorch is not installed")
import torch

from numbalite.operators import operation
from numbalite.torch import operator
from numbalite.torch.operator import _OperatorKernel

pytestmark = [
    pytest.mark.sim,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

DD, DDD = ["float64(float64)"], ["float64(float64, float64)"]
_count = iter(range(10**6))


def unique_operator_name():
    return f"numbalite_test::f{next(_count)}"


def make_ufunc(text, args="x", signatures=DD, target="cuda"):
    return vectorize(signatures, target=target, source=text, args=args, name="f")


def random_constants(*shape):
    return torch.from_numpy(np.asarray(random_generator().uniform(0.1, 0.9, shape)))


def random_variables(*shape):
    return random_constants(*shape).requires_grad_()


# ---- twenty operators


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


@guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cpu")
def total(x, result):
    "float sum = 0; for (int i = 0; i < x.size(); ++i) sum += x[i]; result[0] = sum;"


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(3),(3)->(3)", target="parallel")
def cross_product(a, b, c):
    """
    for (int i = 0; i < 3; ++i) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        c[i] = a[j] * b[k] - a[k] * b[j];
    }
    """


@guvectorize(["void(float64[:], float64)"], "(n),()", target="cuda", writable_args=["x"])
def scale_rows(x, a):
    "for (int i = 0; i < x.size(); ++i) x[i] *= a;"


@guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cuda", block=32)
def block_total(x, result):
    """
    __shared__ double parts[32];
    double sum = 0;
    for (int i = threadIdx.x; i < x.size(); i += 32) sum += x[i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int i = 0; i < 32; ++i) sum += parts[i];
        result[0] = sum;
    }
    """


@cuda.jit("void(const float64[:], float64, float64[:])")
def axpy(x, a, y):
    "int i = grid<1>(); if (i < x.size()) y[i] += a * x[i];"


@cuda.jit("void(const float64[:], const float64[:], float64[:])")
def product(x, y, z):
    "int i = grid<1>(); if (i < x.size()) z[i] = x[i] * y[i];"


@cuda.jit("void(const float64[:], const float64[:], const float64[:], float64[:], float64[:])")
def product_adjoint(x, y, g, gx, gy):
    "int i = grid<1>(); if (i < x.size()) { gx[i] += g[i] * y[i]; gy[i] += g[i] * x[i]; }"


product.adjoint = product_adjoint


@cuda.jit("void(const float32[:], int32, float32[:], int32[:])")
def python_body(x, n, values, numbers):
    i = cuda.grid(1)
    if i < n:
        values[i] = x[i] * 2
        numbers[i] = i


MODULE = cuda.module("""
__global__ void clamp(const float* x, float low, float* y, int n)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] < low ? low : x[i]; }
""")


def launch_blocks(x, *rest):
    return -(-max(x.size, 1) // 32), 32


def random_floats(*shape):
    return torch.from_numpy(random_generator().random(shape).astype("f4"))


OPERATORS = {
    "one input": (lambda: make_ufunc("return sin(x);"), {}, lambda: (random_variables(3, 4),)),
    "two inputs": (lambda: make_ufunc("return x * y;", "x, y", DDD), {}, lambda: (random_variables(3, 4), random_variables(4))),
    "scalars": (lambda: make_ufunc("return x - y;", "x, y", DDD), {}, lambda: (random_variables(), random_variables())),
    "empty": (lambda: make_ufunc("return x + y;", "x, y", DDD), {}, lambda: (random_variables(0, 3), random_variables(3))),
    "transposed": (lambda: make_ufunc("return x / y;", "x, y", DDD), {}, lambda: (random_variables(4, 3).T, random_variables(3, 4))),
    "parallel": (lambda: make_ufunc("return exp(x);", target="parallel"), {}, lambda: (random_variables(5),)),
    "on the cpu": (lambda: make_ufunc("return exp(x);", target="cpu"), {}, lambda: (random_variables(5)[::2],)),
    "two results": (
        lambda: make_ufunc("return make_tuple(x + y, x * y);", "x, y", ["Tuple((float64, float64))(float64, float64)"]),
        {}, lambda: (random_variables(2, 3), random_variables(2, 1)),
    ),
    "types": (
        lambda: make_ufunc("return x * y;", "x, y", ["float32(float32, float32)", *DDD]), {},
        lambda: (random_floats(4), random_variables(4)),
    ),
    "an integer": (lambda: make_ufunc("return x * n;", "x, n", ["float64(float64, int32)"]), {}, lambda: (random_variables(3), torch.arange(3, dtype=torch.int32))),
    "comparison": (lambda: make_ufunc("return x > y;", "x, y", ["boolean(float64, float64)"]), {}, lambda: (random_variables(3), random_variables(3))),
    "no signature": (lambda: make_ufunc("return x * x;", signatures=()), {}, lambda: (random_variables(3),)),
    "matrix product": (lambda: matmul, {}, lambda: (random_constants(2, 3, 4), random_constants(4, 5))),
    "a sum": (lambda: total, {}, lambda: (random_floats(2, 5),)),
    "fixed dimensions": (lambda: cross_product, {}, lambda: (random_variables(4, 3), random_variables(3))),
    "a written input": (lambda: scale_rows, {}, lambda: (random_constants(4, 3), random_constants(4))),
    "a block": (lambda: block_total, {}, lambda: (random_constants(3, 100),)),
    "a kernel that writes": (lambda: axpy, {"launch": launch_blocks}, lambda: (random_constants(40), 2.0, torch.zeros(40).double())),
    "a kernel with results": (lambda: product, {"launch": launch_blocks, "out_shapes": lambda x, y: x}, lambda: (random_variables(40), random_variables(40))),
    "a Python body": (lambda: python_body, {"launch": launch_blocks, "out_shapes": lambda x, n: [x.shape, (n,)]}, lambda: (random_floats(40), 40)),
    "a kernel of a module": (lambda: MODULE.clamp, {"launch": lambda *args: (-(-args[3] // 32), 32)}, lambda: (random_floats(40), 0.5, torch.zeros(40), 40)),
}  # fmt: skip


@pytest.mark.parametrize("case", OPERATORS.values(), ids=OPERATORS)
def test_operators_pass_opcheck(case):
    make, options, arguments = case
    function = make()
    op = operator(unique_operator_name(), **options)(function)
    found = torch.library.opcheck(op.overload, arguments())
    assert set(found.values()) == {"SUCCESS"}, found


@pytest.mark.parametrize("name", ["two inputs", "two results", "types", "matrix product", "fixed dimensions", "an integer"])  # fmt: skip
def test_torch_operator_results_match_numpy(name):
    make, options, arguments = OPERATORS[name]
    function, given = make(), arguments()
    found = operator(unique_operator_name(), **options)(function)(*given)
    expected = function(*(x.detach().numpy() for x in given))
    several = isinstance(expected, tuple)
    for f, e in zip(
        found if several else [found], expected if several else [expected], strict=True
    ):
        np.testing.assert_array_equal(f.detach().numpy(), e)
        assert f.is_contiguous() and f.detach().numpy().dtype == e.dtype


def test_kernels_change_their_arrays_or_return_results():
    x, y = torch.arange(5.0).double(), torch.ones(5).double()
    assert operator(unique_operator_name(), launch=launch_blocks)(axpy)(x, 3.0, y) is None
    torch.testing.assert_close(y, 1 + 3 * x)
    op = operator(unique_operator_name(), launch=(2, 32), out_shapes=lambda x, n: [x.shape, (n,)])(
        python_body
    )
    values, numbers = op(x.float(), 3)
    torch.testing.assert_close(values[:3], 2 * x.float()[:3])
    assert numbers.tolist() == [0, 1, 2] and numbers.dtype == torch.int32


def test_a_non_contiguous_tensor_for_a_pointer_is_copied():
    source = "__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }"
    op = operator(unique_operator_name(), launch=(1, 4), out_shapes=lambda x: x.shape)(
        cuda.module(source).copy
    )
    x = torch.arange(8.0)[::2]
    torch.testing.assert_close(op(x), x)


# ---- gradients

FUNCTIONS = (
    "sqrt rsqrt cbrt rcbrt sin cos tan sinpi cospi asin acos atan sinh cosh tanh asinh atanh exp exp2 exp10 expm1 log "
    "log2 log10 log1p erf erfc erfcx erfinv erfcinv normcdf normcdfinv lgamma tgamma fabs j0 j1 y0 y1 "
    "cyl_bessel_i0 cyl_bessel_i1"
).split()
OF_TWO = [
    "pow(x, y)", "atan2(x, y)", "hypot(x, y)", "fmod(x, y)", "fmax(x, y)", "fmin(x, y)", "fdim(x, y)",
    "copysign(x, -y)", "fma(x, y, x)", "rhypot(x, y)", "jn(2, x) * yn(3, y + 1)", "norm3d(x, y, 1.0)",
    "rnorm3d(2, x, y)", "norm4d(x, 1, y, x)", "rnorm4d(y, x, 2.0, y)", "pow(x, 3) * pow(2.0, y)", "x * 3 - 2 / y + (1 - x) / 7",
]  # fmt: skip


def split_in_groups(items, size=6):
    return [items[i : i + size] for i in range(0, len(items), size)]


def operator_of_group(texts, args):
    """Returns an operator with one result for each expression."""
    results = ", ".join(["float64"] * len(texts))
    inputs = ", ".join(["float64"] * (args.count(",") + 1))
    return operator(unique_operator_name())(
        make_ufunc(
            f"return make_tuple({', '.join(texts)});", args, [f"Tuple(({results}))({inputs})"]
        )
    )


@pytest.mark.parametrize("names", split_in_groups(FUNCTIONS), ids=lambda n: n[0])
def test_gradcheck_passes_for_unary_functions(names):
    op = operator_of_group([f"{name}(x)" for name in names], "x")
    assert torch.autograd.gradcheck(op, (random_variables(4),))


@pytest.mark.parametrize("texts", split_in_groups(OF_TWO, 20), ids=["all"])
def test_gradcheck_passes_for_binary_functions(texts):
    assert torch.autograd.gradcheck(
        operator_of_group(texts, "x, y"), (random_variables(4), random_variables(4))
    )


def random_expression(random, depth):
    """Returns a random smooth expression of x, y and t."""
    if depth == 0:
        return random.choice(["x", "y", "t", f"{random.uniform(0.5, 2):.3f}"])
    a, b = random_expression(random, depth - 1), random_expression(random, depth - 1)
    return random.choice(
        [f"({a} + {b})", f"({a} * {b})", f"sin({a})", f"tanh({a} - {b})", f"({a} / (2 + cos({b})))"]
    )


def random_program(random):
    """Returns a random body with a loop and a branch."""
    first, second, third = (random_expression(random, 2) for _ in range(3))
    return f"""
    double t = 0.5;
    for (int i = 0; i < {random.integers(1, 4)}; ++i)
        t = x * {random.uniform(0.5, 1):.3f} > y ? {first} : {second};
    return {third} + 0.5 * t * x;
    """


@pytest.mark.parametrize("seed", range(50))
def test_gradcheck_passes_for_random_programs(seed):
    op = operator(unique_operator_name())(
        make_ufunc(random_program(np.random.default_rng(seed)), "x, y", DDD)
    )
    x, y = random_variables(6), random_variables(6)
    assert torch.autograd.gradcheck(op, (x, y))


def test_gradients_by_broadcast_tensors_are_summed():
    op = operator(unique_operator_name())(make_ufunc("return sin(x) * y * y;", "x, y", DDD))
    for shapes in [((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((2, 1, 3), (5, 1))]:
        inputs = tuple(random_variables(*shape) for shape in shapes)
        assert torch.autograd.gradcheck(op, inputs)
        assert torch.autograd.gradgradcheck(op, inputs)


def test_gradients_of_higher_orders_match_torch():
    op = operator(unique_operator_name())(make_ufunc("return sin(x) * exp(y);", "x, y", DDD))
    x, y = random_variables(3), random_variables(3)
    found = op(x, y)
    for _ in range(3):
        (found,) = torch.autograd.grad(found.sum(), x, create_graph=True)
    torch.testing.assert_close(found, -torch.cos(x) * torch.exp(y))


def test_gradcheck_passes_for_two_results_and_mixed_types():
    two = ["Tuple((float64, float64))(float64, float64)"]
    op = operator(unique_operator_name())(
        make_ufunc("return make_tuple(x * y, sin(x));", "x, y", two)
    )
    assert torch.autograd.gradcheck(op, (random_variables(3, 2), random_variables(2)))
    assert torch.autograd.gradgradcheck(op, (random_variables(3, 2), random_variables(2)))
    mixed = operator(unique_operator_name())(
        make_ufunc("return x * y * n;", "x, y, n", ["float64(float64, float64, int64)"])
    )
    x, y, n = random_floats(3).requires_grad_(), random_variables(3), torch.arange(3)
    mixed(x, y, n).sum().backward()
    assert x.grad.dtype == torch.float32
    torch.testing.assert_close(x.grad, (y * n).detach().float())


def test_torch_uses_user_defined_derivative_rules():
    f = make_ufunc("return x > 0 ? x : 0.01 * x;").defvjp("x > 0 ? g : 5 * g")
    x = torch.tensor([-1.0, 1.0]).double().requires_grad_()
    operator(unique_operator_name())(f)(x).sum().backward()
    assert x.grad.tolist() == [5, 1]


def test_gradcheck_passes_for_gufuncs():
    op = operator(unique_operator_name())(cross_product)
    assert torch.autograd.gradcheck(op, (random_variables(4, 3), random_variables(3)))
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        torch.autograd.gradgradcheck(op, (random_variables(3), random_variables(3)))


def test_gradcheck_passes_for_kernel_adjoints():
    op = operator(unique_operator_name(), launch=launch_blocks, out_shapes=lambda x, y: x.shape)(
        product
    )
    assert torch.autograd.gradcheck(op, (random_variables(7), random_variables(7)))
    x = random_variables(7)
    op(x, x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())


COMPLEX = {
    "holomorphic": ("make_tuple(z * z * z, exp(z) / z)", "Tuple((complex128, complex128))(complex128)"),
    "conj, abs": ("make_tuple(sin(z) * conj(z), abs(z))", "Tuple((complex128, float64))(complex128)"),
    "real, imag": ("z.real() * z.imag()", "float64(complex128)"),
    "mixed": ("z * x + conj(z) * exp(x)", "complex128(complex128, float64)"),
    "of two": ("z * conj(x) / (x + 3)", "complex128(complex128, complex128)"),
}  # fmt: skip


def random_complexes(*shape):
    return torch.complex(random_constants(*shape), random_constants(*shape)).requires_grad_()


@pytest.mark.parametrize("text, signature", COMPLEX.values(), ids=COMPLEX)
def test_gradcheck_passes_for_complex_functions(text, signature):
    op = operator(unique_operator_name())(
        make_ufunc(
            f"return {text};", "z, x"[: 1 + 3 * ("," in signature.rpartition("(")[2])], [signature]
        )
    )
    inputs = [random_complexes(3, 2)]
    if op.operation.nin == 2:
        # a real tensor is a valid argument for a complex input
        inputs.append(random_variables(2) if "float64)" in signature else random_complexes(2))
        if signature.endswith("complex128)"):
            assert torch.autograd.gradcheck(op, (inputs[0], random_variables(2)))
    assert torch.autograd.gradcheck(op, tuple(inputs))


def test_gradcheck_passes_for_complex_python_bodies():
    @operator(unique_operator_name())
    @vectorize(["complex128(complex128, complex128)"], target="cpu")
    def multiply_conjugate(z, w):
        return z * w.conjugate() + abs(z) * w.real

    assert torch.autograd.gradcheck(multiply_conjugate, (random_complexes(3), random_complexes(3)))


def test_complex_gradients_match_torch_and_exist_once():
    op = operator(unique_operator_name())(
        make_ufunc("return z * w;", "z, w", ["complex128(complex128, complex128)"])
    )
    z, w = random_complexes(3), random_complexes(3)
    found, expected = op(z.conj(), w), z.conj() * w  # a lazy conjugate
    torch.testing.assert_close(found, expected)
    found = torch.autograd.grad(found.abs().sum(), (z, w), create_graph=True)
    torch.testing.assert_close(found, torch.autograd.grad(expected.abs().sum(), (z, w)))
    with pytest.raises(NotImplementedError, match="complex numbers have first derivatives only"):
        torch.autograd.grad(found[0].abs().sum(), w)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_forward_mode_derivatives_raise():
    op = operator(unique_operator_name())(make_ufunc("return sin(x);"))
    x = random_constants(3)
    with pytest.raises(NotImplementedError, match="no forward mode"):
        torch.func.jvp(op, (x,), (x,))
    with torch.autograd.forward_ad.dual_level():
        torch.testing.assert_close(op(x), torch.sin(x))
        with pytest.raises(NotImplementedError, match="no forward mode"):
            op(torch.autograd.forward_ad.make_dual(x, x))
    _, found = torch.autograd.functional.jvp(op, x, x)
    torch.testing.assert_close(found, torch.cos(x) * x)


# ---- tests of the kernel that torch's dispatcher calls


def device_operation(f, **options):
    return _OperatorKernel(operation(f, **options)).device_kernel()


def test_plans_of_ufuncs_depend_on_dtypes_only():
    both = ["float32(float32, float32)", *DDD]
    kernel = device_operation(make_ufunc("return x - 2 * y;", "x, y", both))
    random = random_generator()
    for _ in range(20):
        shape = tuple(random.integers(0, 4, random.integers(0, 4)))
        x = random_constants(*shape)
        y = random_constants(
            *(n if random.random() < 0.7 else 1 for n in shape[random.integers(0, 2) :])
        )
        if random.random() < 0.5:
            x = x.mT.contiguous().mT if x.ndim > 1 else x.requires_grad_()
        found = kernel(x, y)
        torch.testing.assert_close(found, (x - 2 * y).detach())
        assert found.is_contiguous() and not found.requires_grad
    assert len(kernel.plans) == 1
    x = torch.nn.Parameter(random_floats(3))
    torch.testing.assert_close(kernel(x, x), -x.detach())
    assert len(kernel.plans) == 2
    with pytest.raises(ValueError, match="cannot be broadcast"):
        kernel(random_constants(3), random_constants(4))
    with pytest.raises(TypeError, match="torch.bfloat16 is not a dtype"):
        kernel(torch.zeros(3, dtype=torch.bfloat16), random_constants(3))


def test_plans_of_kernels_depend_on_shapes_and_numbers():
    kernel = device_operation(
        python_body, launch=launch_blocks, out_shapes=lambda x, n: [x.shape, (n,)]
    )
    for size, n in [(5, 3), (5, 4), (6, 4), (5, 3)]:
        x = random_floats(size)
        values, numbers = kernel(x, n)
        torch.testing.assert_close(values[:n], 2 * x[:n])
        assert numbers.tolist() == list(range(n)) and values.shape == (size,)
    assert len(kernel.plans) == 3


def test_the_number_of_plans_is_limited():
    kernel = _core.TensorKernel(None, lambda *args: (lambda *args: None, None, (), ()), False, 0)
    for i in range(1500):
        assert kernel(i, 0.5, True, 1j) is None
        assert 0 < len(kernel.plans) <= 1024
    with pytest.raises(TypeError, match="a plan must be"):
        _core.TensorKernel(None, lambda *args: 5, False, 0)(1)


def test_calls_in_all_modes_have_equal_results():
    op = operator(unique_operator_name())(make_ufunc("return x * y;", "x, y", DDD))
    x, y = random_variables(3), random_constants(3)
    found = [op(x, y), op(x.detach(), y), op.overload(y=y, x=x)]
    with torch.no_grad():
        found.append(op(x, y))
    with torch.inference_mode():
        found.append(op(torch.ones(3).double() * x, y))
    assert [one.requires_grad for one in found] == [True, False, True, False, False]
    for one in found:
        torch.testing.assert_close(one.detach().clone(), (x * y).detach())
    seen = []

    class DispatchMode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with DispatchMode():
        op(x.detach(), y)
    assert op.overload in seen


# ---- transforms


def test_compiled_programs_are_one_graph():
    op = operator(unique_operator_name())(make_ufunc("return sin(x) * y;", "x, y", DDD))
    compiled = torch.compile(lambda x, y: op(x, y).sum(), fullgraph=True, backend="aot_eager")
    x, y = random_variables(3, 4), random_variables(4)
    compiled(x, y).backward()
    torch.testing.assert_close(x.grad, torch.cos(x.detach()) * y.detach())
    torch.testing.assert_close(y.grad, torch.sin(x.detach()).sum(0))
    for shape in [(5, 4), (6, 4)]:  # with symbols for the sizes
        x = random_variables(*shape)
        torch.testing.assert_close(compiled(x, y), (torch.sin(x) * y).sum())


def test_operators_are_exported():
    op = operator(unique_operator_name())(make_ufunc("return x * x;"))

    class OperatorModule(torch.nn.Module):
        def forward(self, x):
            return op(x) + 1

    x = random_variables(3).detach()
    exported = torch.export.export(OperatorModule(), (x,))
    assert op.overload in [node.target for node in exported.graph.nodes]
    torch.testing.assert_close(exported.module()(x), x * x + 1)


@pytest.mark.parametrize("dims", [(0, None), (1, 0), (None, 1), (2, 1)])
def test_vmap_matches_torch(dims):
    op = operator(unique_operator_name())(make_ufunc("return x - y * y;", "x, y", DDD))
    x, y = random_variables(3, 3, 3), random_variables(3, 3)
    expected = torch.vmap(lambda x, y: x - y * y, dims)(x, y)
    torch.testing.assert_close(torch.vmap(op, dims)(x, y), expected)


def test_vmap_of_gufuncs_and_kernels_matches_torch():
    op = operator(unique_operator_name())(matmul)
    a, b = random_variables(2, 3, 4, 5), random_variables(5, 6, 2)
    found = torch.vmap(op, (0, 2))(a, b)
    torch.testing.assert_close(found, torch.vmap(torch.matmul, (0, 2))(a, b))
    written = operator(unique_operator_name())(scale_rows)
    x, s = torch.ones(3, 4, 2).double(), torch.arange(3.0).double()
    torch.vmap(lambda x, s: (written(x, s), x)[1])(x, s)
    torch.testing.assert_close(x, s[:, None, None].expand(3, 4, 2))
    op = operator(unique_operator_name(), launch=launch_blocks, out_shapes=lambda x, y: x.shape)(
        product
    )
    x, y = random_variables(4, 3), random_variables(4)
    torch.testing.assert_close(torch.vmap(op, (1, None), 1)(x, y), x * y[:, None])


def test_jacobian_matches_torch():
    op = operator(unique_operator_name())(make_ufunc("return sin(x) * y;", "x, y", DDD))
    x, y = random_variables(4), random_constants(4)
    found = torch.autograd.functional.jacobian(lambda x: op(x, y), x, vectorize=True)
    torch.testing.assert_close(found, torch.diag(torch.cos(x) * y))


# ---- mistakes


def test_invalid_arguments_raise():
    f = make_ufunc("return x + y;", "x, y", DDD)
    for name in ("f", "a::b::c", "a::", "a::1", 5):
        with pytest.raises(ValueError, match="'namespace::name'"):
            operator(name)(f)
    with pytest.raises(TypeError, match="made from a ufunc"):
        operator(unique_operator_name())(np.sin)
    with pytest.raises(TypeError, match="launch= is"):
        operator(unique_operator_name())(product)
    with pytest.raises(TypeError, match="are for kernels"):
        operator(unique_operator_name(), launch=(1, 1))(f)
    with pytest.raises(TypeError, match="one signature"):
        operator(unique_operator_name(), launch=(1, 1))(cuda.jit(lambda x: None))
    with pytest.raises(TypeError, match="all its arrays are const"):
        reads = cuda.jit("void(const float32[:])")(_read_only)
        operator(unique_operator_name(), launch=(1, 1))(reads)
    op = operator(unique_operator_name())(f)
    with pytest.raises(ValueError, match="cannot be broadcast"):
        op(random_variables(3), random_variables(4))
    with pytest.raises(TypeError, match="torch.bfloat16 is not a dtype"):
        op(torch.zeros(3, dtype=torch.bfloat16), random_variables(3))
    with pytest.raises(ValueError, match="on cpu and meta|on meta and cpu"):
        op(random_variables(3), torch.zeros(3, device="meta", dtype=torch.float64))


def _read_only(x):
    "x[0];"


def test_without_a_derivative_only_backward_fails():
    op = operator(unique_operator_name())(matmul)
    result = op(random_variables(2, 3), random_variables(3, 2))
    with pytest.raises(NotImplementedError, match="fixed sizes"):
        result.sum().backward()
    kernel = cuda.jit("void(const float64[:], const float64[:], float64[:])")(_scalar_product)
    op = operator(unique_operator_name(), launch=launch_blocks, out_shapes=lambda x, y: x)(kernel)
    result = op(random_variables(2), random_variables(2))
    with pytest.raises(NotImplementedError, match="set _scalar_product.adjoint to a kernel"):
        result.sum().backward()
    kernel.adjoint = kernel
    with pytest.raises(TypeError, match=r"has \(x, y, cotangent_z, gradient_x, gradient_y\)"):
        op(random_variables(2), random_variables(2)).sum().backward()
    with pytest.raises(TypeError, match="adjoint is a kernel"):
        kernel.adjoint = 5


def _scalar_product(x, y, z):
    "z[0] = x[0] * y[0];"


def test_torch_operators_can_be_redefined():
    name = unique_operator_name()
    x = random_variables(3)
    torch.testing.assert_close(operator(name)(make_ufunc("return x;"))(x), x)
    op = operator(name)(make_ufunc("return 2 * x;"))
    torch.testing.assert_close(op(x), 2 * x)
    op(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_training_losses_equal_those_of_torch():
    sigmoid = operator(unique_operator_name())(make_ufunc("return 1 / (1 + exp(-x));"))
    random = np.random.default_rng(0)
    x = torch.from_numpy(random.normal(size=(64, 4)))
    y = torch.from_numpy((random.random((64, 1)) > 0.5).astype("f8"))

    def losses(activation):
        random = np.random.default_rng(1)
        weights = [
            torch.from_numpy(random.normal(size=s)).requires_grad_() for s in [(4, 8), (8, 1)]
        ]
        found = []
        for _ in range(200):
            loss = ((activation(activation(x @ weights[0]) @ weights[1]) - y) ** 2).mean()
            found.append(loss.item())
            for w, g in zip(weights, torch.autograd.grad(loss, weights), strict=True):
                w.data -= 0.5 * g
        return found

    expected = losses(torch.sigmoid)
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(losses(sigmoid), expected, rtol=1e-9)
