"""A program with the types that type checkers must infer. test_checkers.py passes it to mypy and
pyright, and runs it: at runtime `assert_type` checks that each value has the type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import numbalite
from numbalite import cuda, float32, float64, guvectorize, int64, njit, vectorize, void
from numbalite._core import Launcher
from numbalite.cpu.jit import HostDispatcher
from numbalite.cuda import DeviceNDArray
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.dispatcher import Dispatcher
from numbalite.ufuncs.cudagufunc import CudaGUfunc
from numbalite.ufuncs.cudaufunc import CudaUfunc
from numbalite.ufuncs.fuse import Fused
from numbalite.ufuncs.reduction import Reduce

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import assert_type
else:
    from instances import assert_type

Floats = NDArray[np.float32]
host = np.arange(6, dtype=np.float32)
d = cuda.to_device(host)
matrix = d.reshape(2, 3)

# --- kernels ---------------------------------------------------------------------------------------------


@cuda.jit
def store_scalar(a: float, x: Floats) -> None:
    "x[0] = a;"


@cuda.jit("void(float32, float32[:])")
def with_text(a: float, x: Floats) -> None:
    "x[0] = a;"


@cuda.jit(void(float32, float32[:]))
def with_types(a: float, x: Floats) -> None:
    "x[0] = a;"


@cuda.jit([void(float32, float32[:]), "void(float64, float64[:])"], fastmath=True)
def with_list(a: float, x: Floats) -> None:
    "x[0] = a;"


@cuda.jit(max_registers=32, launch_bounds=(128, 2))
def with_options(a: float, x: Floats) -> None:
    x[0] = a


@cuda.jit
def lazily_typed_kernel(x):  # type: ignore[no-untyped-def]
    "x[0] = 1;"


for kernel in (store_scalar, with_text, with_types, with_list, with_options):
    assert_type(kernel[1, 32], Launcher)
    assert_type(kernel[(1, 1), 32, cuda.stream(), 0](1.0, d), None)
    assert_type(kernel.forall(6)(1.0, host), None)
functions: list[Callable[[float, Floats], Any]] = [
    store_scalar.py_func, with_text.py_func, with_types.py_func, with_list.py_func, with_options.py_func
]  # fmt: skip
assert_type(lazily_typed_kernel[1, 32](d), None)
assert_type(lazily_typed_kernel.specialized, bool)

SOURCE = "__global__ void add(float *x, float a) { x[threadIdx.x] += a; }"
assert_type(cuda.jit(SOURCE)[1, 6](d, 1.0), None)
assert_type(cuda.jit(source=SOURCE), Dispatcher)
module = cuda.module(SOURCE)
assert_type(module.add, Dispatcher)
assert_type(module["add"][1, 6], Launcher)


# --- device functions ------------------------------------------------------------------------------------


@cuda.jit(device=True)
def square(x: float) -> float:
    return x * x


@cuda.jit("float64(float64)", device=True)
def cube(x: float) -> float:
    return x * x * x


@cuda.jit(device=True)
def double_in_text(x):  # type: ignore[no-untyped-def]
    "return 2 * x;"


assert_type(cuda.jit(source="__device__ int one() { return 1; }", device=True), DeviceFunction)
of_one: list[Callable[[float], float]] = [square.py_func, cube.py_func]


@cuda.jit
def store_cubes(x: Floats) -> None:
    i = cuda.grid(1)
    if i < x.size:
        x[i] = square(cube(2.0)) + double_in_text(1.0)


store_cubes[1, 32](host)

# --- functions on the CPU --------------------------------------------------------------------------------


@njit
def half(x: float) -> float:
    return x / 2


@njit(fastmath=True)
def quarter(x: float) -> float:
    return x / 4


@njit("float64(float64)")
def eighth(x: float) -> float:
    return x / 8


@njit([int64(float64)], nogil=True)
def truncate_to_int(x: float) -> int:
    return int(x)


@njit
def mean(x):  # type: ignore[no-untyped-def]
    """
    double sum = 0;
    for (int64 i = 0; i < x.size(); ++i) sum += x[i];
    return sum / x.size();
    """


assert_type(half(3.0), float)
assert_type(quarter(3.0), float)
assert_type(eighth(x=3.0), float)
assert_type(truncate_to_int(3.0), int)
assert_type(mean(host), Any)
assert_type(half.signatures, list[Any])
on_host: list[Callable[[float], float]] = [half, half.py_func, quarter, eighth]
assert_type(njit(source="double two() { return 2; }"), HostDispatcher[..., Any])
assert_type(njit("double twice(double x) { return 2 * x; }")(3), Any)


@cuda.jit
def with_host_function(x: Floats) -> None:
    x[0] = half(3.0)


with_host_function[1, 1](host)

# --- ufuncs ----------------------------------------------------------------------------------------------


@vectorize
def add_one(x: float) -> float:
    return x + 1


@vectorize(["float64(float64)"], target="parallel")
def add_one_float64(x: float) -> float:
    return x + 1


@vectorize("float64(float64)")
def add_one_with_text_signature(x: float) -> float:
    return x + 1


@vectorize([float64(float64, float64)], target="cuda")
def add(x: float, y: float) -> float:
    return x + y


@vectorize(["float64(float64)"], "cuda")
def add_one_with_positional_target(x: float) -> float:
    return x + 1


@cuda.vectorize
def add_one_on_device(x: float) -> float:
    return x + 1


@cuda.vectorize("float64(float64)")
def text_body_on_device(x):  # type: ignore[no-untyped-def]
    "return x + 1;"


@guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def first_element(x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    out[0] = x[0]


@cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->()", block=64)
def last_element(x, out):  # type: ignore[no-untyped-def]
    "if (threadIdx.x == 0) out[0] = x[x.size() - 1];"


assert_type(add_one, np.ufunc)
assert_type(add_one_float64, np.ufunc)
assert_type(add_one_with_text_signature, np.ufunc)
assert_type(first_element, np.ufunc)
assert_type(add, CudaUfunc)
assert_type(add_one_with_positional_target, CudaUfunc)
assert_type(add_one_on_device, CudaUfunc)
assert_type(text_body_on_device, CudaUfunc)
assert_type(last_element, CudaGUfunc)
assert_type(vectorize(source="x * y", args="x, y"), np.ufunc)
assert_type(vectorize(source="x * y", args="x, y", target="cuda"), CudaUfunc)
assert_type(add.reduce(d), DeviceNDArray)
assert_type(add.accumulate(d), DeviceNDArray)
assert_type(add.nin, int)


@numbalite.fuse
def distance(x, y):  # type: ignore[no-untyped-def]
    return np.sqrt(x * x + y * y)


assert_type(distance, Fused)

# --- reductions, scans, sorts ----------------------------------------------------------------------------

total = cuda.reduce("a + b")


@cuda.reduce
def maximum(a: float, b: float) -> float:
    return max(a, b)


@cuda.reduce(fastmath=True)
def minimum(a: float, b: float) -> float:
    return min(a, b)


@cuda.scan
def running_maximum(a: float, b: float) -> float:
    return max(a, b)


for reduction in (total, maximum, minimum):
    assert_type(reduction, Reduce)
    assert_type(reduction(matrix, axis=0), DeviceNDArray)
assert_type(running_maximum(d), DeviceNDArray)
assert_type(cuda.scan("a + b")(host), NDArray[Any])
assert_type(cuda.sort(key="-x")(d), DeviceNDArray)
assert_type(cuda.sort(descending=True)(host), NDArray[Any])
assert_type(cuda.sort(less="a < b").argsort(d), DeviceNDArray)
assert_type(cuda.sort(d), DeviceNDArray)
assert_type(cuda.sort(host), DeviceNDArray)
assert_type(cuda.topk(d, 2), tuple[DeviceNDArray, DeviceNDArray])
assert_type(cuda.topk(host, 2), tuple[NDArray[Any], NDArray[Any]])
assert_type(cuda.select("x > 1")(d), DeviceNDArray)
assert_type(cuda.select("x > 1")(host), NDArray[Any])
assert_type(cuda.select([d > 1], [d]), DeviceNDArray)
assert_type(cuda.partition("x > 1")(d), tuple[DeviceNDArray, DeviceNDArray])
assert_type(cuda.partition("x > 1")(host), tuple[NDArray[Any], NDArray[Any]])
assert_type(cuda.partition(d, 2), DeviceNDArray)
assert_type(cuda.histogram("int(x)", bins=3)(d), DeviceNDArray)
assert_type(cuda.histogram("int(x)", bins=3)(host), NDArray[Any])
assert_type(cuda.histogram(host, 3), tuple[DeviceNDArray, DeviceNDArray])
assert_type(cuda.reduce_by_key("a + b")(d, d), tuple[DeviceNDArray, DeviceNDArray])

# --- arrays ----------------------------------------------------------------------------------------------

for result in (
    d + 1, 1 + d, d - d, np.float32(2) * d, d / 2.0, 2 // d, d % 3, d**2, -d, abs(d), d @ d, matrix @ matrix.T,
    d > 1, d <= host, d == d, d != 2, (d > 1) & (d < 5), ~(d > 1), d + host, d * [1, 2, 3, 4, 5, 6],
):  # fmt: skip
    assert_type(result, DeviceNDArray)
assert_type(divmod(d, 2), tuple[DeviceNDArray, DeviceNDArray])
for result in (
    cuda.sqrt(d), cuda.abs(d), cuda.add(d, 1), cuda.maximum(2, d), cuda.hypot(d, host), cuda.less(host, d),
    cuda.exp(d, where=d > 1), cuda.sin(host, out=d), cuda.add(1, 2, d), cuda.sqrt(host, out=(d,)),
):  # fmt: skip
    assert_type(result, DeviceNDArray)
assert_type(cuda.modf(d), tuple[DeviceNDArray, DeviceNDArray])
assert_type(cuda.divmod(7, d), tuple[DeviceNDArray, DeviceNDArray])
assert_type(cuda.sqrt(host), Any)
assert_type(cuda.sqrt.nin, int)
d += 1
assert_type(d, DeviceNDArray)
for part in (
    d[1:3], d[...], d[None], d[d > 2], d[[0, 2]], d[host > 2], matrix[0, :], matrix[:, 1], matrix[..., 0],
    matrix[1:, :2], matrix.T, matrix.reshape(3, 2), matrix.ravel(), matrix.astype("f8"), matrix.copy(),
    matrix.transpose(), matrix.view("i4"), matrix.real, matrix.swapaxes(0, 1), matrix.squeeze(),
):  # fmt: skip
    assert_type(part, DeviceNDArray)
for number in (
    d.sum(), d.mean(), d.max(), d.min(), d.prod(), d.std(), d.var(), d.any(), d.all(), d.argmax(), d.argmin(),
    matrix.sum(axis=0), matrix.cumsum(), matrix.cumprod(axis=1), d.argsort(), d.clip(0, 1), d.round(2), d.take([0]),
    d.repeat(2), d.dot(d), matrix.trace(), d.ptp(), d.searchsorted(2), d.compress([True, False]), d.conj(),
):  # fmt: skip
    assert_type(number, DeviceNDArray)
sums: Floats = np.zeros(3, np.float32)
assert_type(matrix.sum(axis=0, out=sums), NDArray[np.float32])
assert_type(matrix.nonzero(), tuple[DeviceNDArray, ...])
assert_type(d[0], Any)
assert_type(d.copy_to_host(), np.ndarray[Any, Any])
assert_type(d.shape, tuple[int, ...])
assert_type(d.sum().item(), Any)
for made in (
    cuda.device_array(3), cuda.device_array_like(host), cuda.zeros(3), cuda.ones((2, 2)), cuda.arange(3), cuda.full(3, 1),
    cuda.empty(3), cuda.eye(2), cuda.linspace(0, 1, 3), cuda.as_cuda_array(d), cuda.from_dlpack(d),
):  # fmt: skip
    assert_type(made, DeviceNDArray)
with cuda.gpus[0] as device:
    assert_type(device.id, Any)
assert_type(len(cuda.gpus), int)
