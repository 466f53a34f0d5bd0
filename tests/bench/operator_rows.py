"""The rows of operators of PyTorch.

The floor of a call is a launch from C and a call of an operator that does nothing, which is
registered as numbalite registers its operators: by torch.library, with a kernel in Python.
"""

import functools
import statistics

from measure import NOTES, SMALL, LeftOut, calls_of, in_turn, process, row

SIZE = 1000
BLOCK = ((SIZE + 255) // 256, 256)
LIBRARIES = []  # an operator exists as long as the library that defines it


def import_torch():
    try:
        import torch
    except ImportError:
        raise LeftOut("PyTorch is not installed") from None
    if not torch.cuda.is_available():
        raise LeftOut("PyTorch sees no GPU")
    return torch


@functools.cache
def empty_operators():
    """Returns PyTorch operators that do nothing: their time is that of PyTorch's dispatcher."""
    torch = import_torch()
    library = torch.library.Library("numbalite_bench", "DEF")
    library.define("change(Tensor x, Tensor y, Tensor(a!) out) -> ()")
    library.impl("change", lambda x, y, out: None, "CUDA")
    for name in "result", "differentiable":
        library.define(f"{name}(Tensor x, Tensor y) -> Tensor")
        library.impl(name, lambda x, y: torch.empty_like(x), "CUDA")
    gradient = lambda context, gradient: (gradient, gradient)
    torch.library.register_autograd("numbalite_bench::differentiable", gradient, lib=library)
    LIBRARIES.append(library)
    return torch.ops.numbalite_bench


def measure_operator(floor, ours, reference, tensors):
    """Returns the microseconds of a call of ours, and of a launch and a call of the empty operator."""
    torch = import_torch()
    call = calls_of(lambda: ours(*tensors), torch.cuda.synchronize)
    empty = calls_of(lambda: reference(*tensors), torch.cuda.synchronize)
    taken, launch, dispatch = in_turn(call, floor.driver("launch"), empty, count=1000)
    NOTES.extend([f"launch {launch:.2f}", f"empty operator {dispatch:.2f}"])
    return taken, launch + dispatch, launch + dispatch + 1.0


def vectors(count):
    torch = import_torch()
    return [torch.arange(SIZE, dtype=torch.float32, device="cuda") for _ in range(count)]


@row("O1", "operator of PyTorch that changes a tensor, 3 tensors", "us", "floor + 1 µs", gpu=True)
def operator_in_place(floor):
    from numbalite import cuda
    from numbalite.torch import operator

    tensors = vectors(3)
    kernel = cuda.jit("void(const float32[::1], const float32[::1], float32[::1])")(add)
    ours = operator("numbalite_bench_ours::change", launch=BLOCK)(kernel)
    assert ours(*tensors) is None
    assert (tensors[2] == 2 * tensors[0]).all()
    return measure_operator(floor, ours, empty_operators().change, tensors)


def add(x, y, out):
    "int i = grid<1>(); if (i < out.size()) out[i] = x[i] + y[i];"


@row("O2", "operator of PyTorch with one result, 3 tensors", "us", "floor + 1 µs", gpu=True)
def operator_with_result(floor):
    from numbalite import cuda
    from numbalite.torch import operator

    tensors = vectors(2)
    kernel = cuda.jit("void(const float32[::1], const float32[::1], float32[::1])")(add)
    make = operator("numbalite_bench_ours::result", launch=BLOCK, out_shapes=lambda x, y: x.shape)
    ours = make(kernel)
    assert (ours(*tensors) == 2 * tensors[0]).all()
    return measure_operator(floor, ours, empty_operators().result, tensors)


@row("O3", "operator of PyTorch from a ufunc, 3 tensors", "us", "floor + 1 µs", gpu=True)
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
    return measure_operator(floor, ours, empty_operators().differentiable, tensors)


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


@row("O4", "operator x * y, decoration to first result, nothing cached", "us", "50 ms", gpu=True)
def first_result_of_product(floor):
    return measure_first("x * y", "x * x"), None, 50_000


@row("O5", "operator sin(x) * cos(y), likewise", "us", "50 ms", gpu=True)
def first_result_of_sines(floor):
    return measure_first("sin(x) * cos(y)", "x.sin() * x.cos()"), None, 50_000


def measure_first(expression, expected):
    import_torch()
    import tempfile

    times = []
    for _ in range(1 if SMALL else 5):
        with tempfile.TemporaryDirectory() as folder:
            code = FIRST.format(expression, expected)
            times.append(float(process(code, NUMBALITE_CACHE_DIR=folder)[1]) * 1e6)
    NOTES.extend(f"{time:.0f}" for time in times)
    return statistics.median(times)
