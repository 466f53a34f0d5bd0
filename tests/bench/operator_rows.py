"""Measures benchmark rows of operators of PyTorch.

The floor of a call is the same operator written by hand in C++ (hand_operators.cpp): PyTorch's
dispatcher and a launch. A call of an operator that does nothing is in the notes of the rows.
"""

import ctypes
import functools
import statistics

from measure import (
    HERE,
    NOTES,
    SMALL,
    RowSkipped,
    make_call_measure,
    median_in_turn,
    register_row,
    time_process,
)

SIZE = 1000
BLOCK = ((SIZE + 255) // 256, 256)
LIBRARIES = []  # an operator exists as long as the library that defines it


def import_torch():
    try:
        import torch
    except ImportError:
        raise RowSkipped("PyTorch is not installed") from None
    if not torch.cuda.is_available():
        raise RowSkipped("PyTorch sees no GPU")
    return torch


@functools.cache
def hand_operators(cubin):
    """Builds and loads the operators of hand_operators.cpp, which launch the kernel in `cubin`."""
    torch = import_torch()
    from torch.utils.cpp_extension import load

    ctypes.CDLL("libcuda.so.1", ctypes.RTLD_GLOBAL)  # the operators call the driver
    source = str(HERE / "hand_operators.cpp")
    load("numbalite_hand", [source], with_cuda=True, is_python_module=False)
    torch.ops.numbalite_hand.open(cubin)
    torch.library.register_autograd("numbalite_hand::differentiable", add_gradients)
    return torch.ops.numbalite_hand


def add_gradients(context, gradient):
    return gradient, gradient


@functools.cache
def empty_operators():
    """Returns PyTorch operators that do nothing, registered by torch.library."""
    torch = import_torch()
    library = torch.library.Library("numbalite_empty", "DEF")
    library.define("change(Tensor x, Tensor y, Tensor(a!) out) -> ()")
    library.impl("change", lambda x, y, out: None, "CUDA")
    for name in "result", "differentiable":
        library.define(f"{name}(Tensor x, Tensor y) -> Tensor")
        library.impl(name, lambda x, y: torch.empty_like(x), "CUDA")
    torch.library.register_autograd("numbalite_empty::differentiable", add_gradients, lib=library)
    LIBRARIES.append(library)
    return torch.ops.numbalite_empty


def measure_operator(floor, ours, name, tensors):
    """Returns the microseconds of a call of ours, and of the operator `name` in C++."""
    torch = import_torch()
    if SMALL:
        return 1.0, 1.0, 2.0
    by_hand = getattr(hand_operators(floor.compile_cubin()), name)
    empty = getattr(empty_operators(), name)
    by_hand(*tensors)
    calls = [
        make_call_measure(functools.partial(function, *tensors), torch.cuda.synchronize)
        for function in (ours, by_hand, empty)
    ]
    taken, least, dispatch, launch = median_in_turn(*calls, floor.driver_call("launch"), count=1000)
    NOTES.extend([f"empty operator {dispatch:.2f}", f"launch {launch:.2f}"])
    return taken, least, least + 1.0


def vectors(count):
    torch = import_torch()
    return [torch.arange(SIZE, dtype=torch.float32, device="cuda") for _ in range(count)]


@register_row(
    "O1", "operator of PyTorch that changes a tensor, 3 tensors", "us", "floor + 1 µs", gpu=True
)
def operator_in_place(floor):
    from numbalite import cuda
    from numbalite.torch import operator

    tensors = vectors(3)
    kernel = cuda.jit("void(const float32[::1], const float32[::1], float32[::1])")(add)
    ours = operator("numbalite_bench_ours::change", launch=BLOCK)(kernel)
    assert ours(*tensors) is None
    assert (tensors[2] == 2 * tensors[0]).all()
    return measure_operator(floor, ours, "change", tensors)


def add(x, y, out):
    "int i = grid<1>(); if (i < out.size()) out[i] = x[i] + y[i];"


@register_row(
    "O2", "operator of PyTorch with one result, 3 tensors", "us", "floor + 1 µs", gpu=True
)
def operator_with_result(floor):
    from numbalite import cuda
    from numbalite.torch import operator

    tensors = vectors(2)
    kernel = cuda.jit("void(const float32[::1], const float32[::1], float32[::1])")(add)
    make = operator("numbalite_bench_ours::result", launch=BLOCK, out_shapes=lambda x, y: x.shape)
    ours = make(kernel)
    assert (ours(*tensors) == 2 * tensors[0]).all()
    return measure_operator(floor, ours, "result", tensors)


@register_row("O3", "operator of PyTorch from a ufunc, 3 tensors", "us", "floor + 1 µs", gpu=True)
def operator_of_ufunc(floor):
    from numbalite import vectorize
    from numbalite.torch import operator

    tensors = vectors(2)
    source = "return x + y;"
    function = vectorize(
        ["float32(float32, float32)"], target="cuda", source=source, args="x, y", name="sum_of_two"
    )
    ours = operator("numbalite_bench_ours::sum_of_two")(function)
    assert (ours(*tensors) == 2 * tensors[0]).all()
    return measure_operator(floor, ours, "differentiable", tensors)


FIRST = """
import tempfile, time, torch
x = torch.rand(1000, device="cuda")
(x * x).sum().item()
from numbalite import cuda, vectorize
from numbalite.torch import operator
cuda.synchronize()
start = time.perf_counter()
f = vectorize(["float32(float32, float32)"], target="cuda", source="return {};", args="x, y", name="f")
result = operator("numbalite_bench_first::f")(f)(x, x)
torch.cuda.synchronize()
print(time.perf_counter() - start)
assert torch.allclose(result, {})
"""


@register_row(
    "O4", "operator x * y, decoration to first result, nothing cached", "us", "50 ms", gpu=True
)
def first_result_of_product(floor):
    return measure_first("x * y", "x * x"), None, 50_000


@register_row("O5", "operator sin(x) * cos(y), likewise", "us", "50 ms", gpu=True)
def first_result_of_sines(floor):
    return measure_first("sin(x) * cos(y)", "x.sin() * x.cos()"), None, 50_000


def measure_first(expression, expected):
    import_torch()
    import tempfile

    times = []
    for _ in range(1 if SMALL else 5):
        with tempfile.TemporaryDirectory() as folder:
            code = FIRST.format(expression, expected)
            times.append(float(time_process(code, NUMBALITE_CACHE_DIR=folder)[1]) * 1e6)
    NOTES.extend(f"{time:.0f}" for time in times)
    return statistics.median(times)
