"""Measures benchmark rows of ufuncs, generalized ufuncs, reductions and the cpu targets.

The floor of a kernel is a hand-written kernel for exactly this case, timed by events in the same
run;
the floors of calls with host arrays are the bus: the copy time of the bytes from and to page-locked
memory.
"""

import functools

import numpy as np
from measure import (
    SMALL,
    close,
    device_calls,
    device_median,
    make_call_measure,
    median,
    median_in_turn,
    register_row,
)

LARGE = 1 << 21 if SMALL else 1 << 28
HAND = r"""
__global__ void add4(const float4* a, const float4* b, float4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
__global__ void product2(const float4* a, const float4* b, float4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x * y.x + x.y * y.z, x.x * y.y + x.y * y.w,
                       x.z * y.x + x.w * y.z, x.z * y.y + x.w * y.w);
}"""


@functools.cache
def make_ufuncs():
    """Returns the ufuncs under test by name; creates them once."""
    from numbalite import cuda, guvectorize, vectorize

    signatures = ["float32(float32, float32)", "float64(float64, float64)"]

    @vectorize(signatures, target="cuda")
    def add(x, y):
        "x + y"

    @vectorize(signatures, target="cuda")
    def sincos(x, y):
        "sin(x) * cos(y)"

    @vectorize(["float32(float32, float32, float32, float32)"], target="cuda")
    def root_of_powers(p, q, r, s):
        "return sqrt(p * p + q * q * q + r * r * r * r + s * s * s * s * s);"

    @guvectorize(
        ["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda"
    )
    def product(a, b, c):
        """
        for (int i = 0; i < c.shape[0]; ++i)
            for (int j = 0; j < c.shape[1]; ++j) {
                float t = 0;
                for (int k = 0; k < a.shape[1]; ++k) t += a(i, k) * b(k, j);
                c(i, j) = t;
            }
        """

    return {
        "add": add,
        "sincos": sincos,
        "powers": root_of_powers,
        "product": product,
        "sum": cuda.reduce("a + b"),
    }


def random_array(shape, dtype=np.float32):
    return np.random.default_rng(7).random(shape, dtype)


@register_row("U1", "ufunc on device arrays, n = 1, out=", "us", "1.5 x floor", gpu=True)
def small_device(floor):
    from numbalite import cuda

    add = make_ufuncs()["add"]
    x, out = cuda.to_device(np.ones(1, np.float32)), cuda.device_array(1, np.float32)
    close(add(x, x, out=out).copy_to_host(), 2)
    ours = make_call_measure(lambda: add(x, x, out=out), cuda.synchronize)
    ours, least = median_in_turn(ours, floor.driver_call("launch"), count=1000)
    return ours, least, 1.5 * least


@register_row("U2", "ufunc on host arrays, n = 1", "us", "2 x floor", gpu=True)
def small_host(floor):
    add = make_ufuncs()["add"]
    x = np.ones(1, np.float32)
    close(add(x, x), 2)
    ours = make_call_measure(lambda: add(x, x))
    ours, least = median_in_turn(ours, floor.driver_call("launch_and_wait"), count=500, rounds=15)
    return ours, least, 2 * least


@register_row(
    "U3", "add f32, 2^28 device elements", "us", "floor / 0.98", gpu=True, moved=12 * LARGE
)
def large_device(floor):
    from numbalite import cuda

    add, hand = make_ufuncs()["add"], cuda.module(HAND).add4
    host = random_array(1 << 20)
    x, y, out = (cuda.device_array(LARGE, np.float32) for _ in range(3))
    x.fill(1)
    y.fill(2)
    x[: host.size] = host
    add(x, y, out=out)
    close(out[: host.size].copy_to_host(), host + 2)
    quads = [a.view("f4,f4,f4,f4") for a in (x, y, out)]
    bound = hand[LARGE // 4 // 256, 256]
    ours = device_calls(lambda: add(x, y, out=out))
    hand = device_calls(lambda: bound(*quads, LARGE // 4))
    ours, least = median_in_turn(ours, hand, count=5, rounds=9, warm=0)
    return ours, least, least / 0.98


@register_row("U4", "sincos f64, 1e6, host arrays", "us", "700", gpu=True)
def sincos_host(floor):
    sincos = make_ufuncs()["sincos"]
    x, y = np.linspace(0, np.pi, 1_000_000), np.linspace(0, np.pi, 1_000_000)
    close(sincos(x, y), np.sin(x) * np.cos(x), 1e-9)
    return median(lambda: sincos(x, y), 10), floor.copy_time(2 * x.nbytes, x.nbytes), 700


@register_row("U5", "powers f32 x4, 5e6, host arrays", "us", "2600", gpu=True)
def powers_host(floor):
    powers = make_ufuncs()["powers"]
    p, q, r, s = random_array((4, 5_000_000))
    close(powers(p, q, r, s), np.sqrt(p**2 + q**3 + r**4 + s**5), 1e-4)
    return median(lambda: powers(p, q, r, s), 5), floor.copy_time(4 * p.nbytes, p.nbytes), 2600


@register_row(
    "U6", "sum f32, 2^28, user-written a + b", "us", "a copy's speed", gpu=True, moved=4 * LARGE
)
def large_sum(floor):
    from numbalite import cuda

    total = make_ufuncs()["sum"]
    x, result = cuda.device_array(LARGE, np.float32), cuda.device_array(1, np.float32)
    x.fill(1)
    total(x, res=result)
    close(result.copy_to_host(), LARGE)
    least = floor.memory_time(4 * LARGE)
    return device_median(lambda: total(x, res=result), 5), least, least


@register_row("U7", "sum of 1000 f32 on the device, out=", "us", "2 x floor", gpu=True)
def small_sum(floor):
    from numbalite import cuda

    add, host = make_ufuncs()["add"], np.arange(1000, dtype=np.float32)
    x, out = cuda.to_device(host), cuda.device_array((), np.float32)
    close(add.reduce(x, out=out).copy_to_host(), host.sum())
    ours = make_call_measure(lambda: add.reduce(x, out=out), cuda.synchronize)
    ours, least = median_in_turn(ours, floor.driver_call("launch"), count=500)
    return ours, least, 2 * least


@register_row(
    "G1",
    "gufunc 2 x 2 products, 4e6, device, out=",
    "us",
    "52 (1.15 x floor)",
    gpu=True,
    moved=192_000_000,
)
def measure_products_of_device_arrays(floor):
    from numbalite import cuda

    product, hand = make_ufuncs()["product"], cuda.module(HAND).product2
    n = 4_000_000
    host = random_array((n, 2, 2))
    x, y = cuda.to_device(host), cuda.to_device(host)
    out = cuda.device_array((n, 2, 2), np.float32)
    product(x, y, out=out)
    close(out[:1000].copy_to_host(), host[:1000] @ host[:1000])
    quads = [a.reshape(n * 4).view("f4,f4,f4,f4") for a in (x, y, out)]
    bound = hand[-(-n // 256), 256]
    ours = device_calls(lambda: product(x, y, out=out))
    hand = device_calls(lambda: bound(*quads, n))
    ours, least = median_in_turn(ours, hand, count=20, rounds=9, warm=0)
    return ours, least, 1.15 * least


@register_row("G2", "the same with host arrays", "us", "5500", gpu=True)
def products_host(floor):
    product = make_ufuncs()["product"]
    x, y = random_array((2, 4_000_000, 2, 2))
    close(product(x, y)[:1000], x[:1000] @ y[:1000])
    return median(lambda: product(x, y), 3), floor.copy_time(2 * x.nbytes, x.nbytes), 5500


def make_sincos_ufunc(target):
    from numbalite import vectorize

    @vectorize(["float64(float64, float64)"], target=target)
    def sincos(x, y):
        "sin(x) * cos(y)"

    x = np.linspace(0, np.pi, 1_000_000)
    close(sincos(x, x), np.sin(x) * np.cos(x), 1e-9)
    return median(lambda: sincos(x, x), 5)


def half_of_numba(floor, key):
    theirs = floor.peer_time("numba", key)
    return theirs and theirs / 2


@register_row("P1a", "sincos f64, 1e6, target cpu", "us", "half of numba's")
def sincos_cpu(floor):
    return make_sincos_ufunc("cpu"), None, half_of_numba(floor, "P1a")


@register_row("P1b", "sincos f64, 1e6, target parallel", "us", "half of numba's")
def sincos_parallel(floor):
    return make_sincos_ufunc("parallel"), None, half_of_numba(floor, "P1b")
