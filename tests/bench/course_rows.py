"""Measures benchmark rows of programs from published courses on GPU programming: ufuncs of host arrays, a chain of
ufuncs on the device, a matrix product with a sum over its rows, and a call with two numbers. Peers compute the same
results (course_works.py)."""

import functools
import math

import numpy as np
from course_works import (
    LAYER,
    REDUCED,
    SIZES,
    expected_gaussian_pdf,
    expected_layer,
    expected_polar_distance,
    expected_row_sums,
    random_matrices,
    random_uniform,
)
from measure import close, device_calls, make_call_measure, median, median_in_turn, register_row

SQRT_2PI = np.float32((2 * math.pi) ** 0.5)


@functools.cache
def make_ufuncs():
    """Returns the ufuncs under test by name; creates them once."""
    from numbalite import cuda, vectorize

    @vectorize(["float32(float32, float32, float32)"], target="cuda")
    def gaussian_pdf(x, mean, sigma):
        "float z = (x - mean) / sigma; return exp(-0.5f * z * z) / (sigma * SQRT_2PI);"

    @cuda.jit(device=True)
    def to_cartesian(rho, theta):
        "return make_tuple(rho * cos(theta), rho * sin(theta));"

    @vectorize(["float32(float32, float32, float32, float32)"], target="cuda")
    def polar_distance(rho1, theta1, rho2, theta2):
        """
        auto [x1, y1] = to_cartesian(rho1, theta1);
        auto [x2, y2] = to_cartesian(rho2, theta2);
        return sqrt((x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2));
        """

    one, two = ["float32(float32)"], ["float32(float32, float32)"]

    @vectorize(one, target="cuda")
    def normalize(grey):
        "grey / 255"

    @vectorize(two, target="cuda")
    def weigh(x, w):
        "x * w"

    @vectorize(one, target="cuda")
    def activate(x):
        "return (exp(x) - exp(-x)) / (exp(x) + exp(-x));"

    return {
        "gaussian_pdf": gaussian_pdf,
        "polar_distance": polar_distance,
        "normalize": normalize,
        "weigh": weigh,
        "activate": activate,
    }


@register_row("W1", "gaussian_pdf f32, 1e6, host arrays", "us", "the bus", gpu=True)
def gaussian(floor):
    pdf, x = make_ufuncs()["gaussian_pdf"], random_uniform()
    close(pdf(x, 0.0, 1.0), expected_gaussian_pdf(x), 1e-4)
    least = floor.copy_time(x.nbytes, x.nbytes)
    return median(lambda: pdf(x, 0.0, 1.0), 10), least, None


@register_row("W2", "polar_distance f32 x4, 1e6, host arrays", "us", "the bus", gpu=True)
def time_polar_distance(floor):
    distance, given = make_ufuncs()["polar_distance"], random_uniform(4)
    np.testing.assert_allclose(
        distance(*given), expected_polar_distance(*given), rtol=1e-4, atol=1e-5
    )
    least = floor.copy_time(4 * given[0].nbytes, given[0].nbytes)
    return median(lambda: distance(*given), 10), least, None


@register_row("W3", f"hidden layer of {LAYER:,} neurons, host arrays", "us", "the bus", gpu=True)
def hidden_layer(floor):
    from numbalite import cuda

    made, (greys, weights) = make_ufuncs(), random_uniform(2, LAYER)

    def run_layer():
        x = made["normalize"](cuda.to_device(greys))
        return made["activate"](made["weigh"](x, cuda.to_device(weights))).copy_to_host()

    np.testing.assert_allclose(run_layer(), expected_layer(greys, weights), rtol=1e-4, atol=1e-6)
    least = floor.copy_time(2 * greys.nbytes, greys.nbytes)
    return median(run_layer, 1, rounds=5), least, None


@register_row(
    "W4",
    "product of (10000, 5000) and (5000, 7000) by tiles, rows added",
    "us",
    "1.05 x floor",
    gpu=True,
)
def matmul_reduce(floor):
    from numbalite import cuda

    @cuda.jit("void(const float32[:, :], const float32[:, :], float32[:])")
    def matmul_kernel(a, b, out):
        """
        __shared__ float sa[16][16], sb[16][16];
        int tx = threadIdx.x, ty = threadIdx.y;
        auto [x, y] = grid<2>();
        float total = 0;
        for (int i = 0; i < a.shape[1]; i += 16) {
            sa[ty][tx] = y < a.shape[0] && i + tx < a.shape[1] ? a(y, i + tx) : 0;
            sb[ty][tx] = x < b.shape[1] && i + ty < b.shape[0] ? b(i + ty, x) : 0;
            __syncthreads();
            for (int j = 0; j < 16; ++j) total += sa[ty][j] * sb[j][tx];
            __syncthreads();
        }
        sa[ty][tx] = total;
        __syncthreads();
        for (int w = 8; w > 0; w /= 2) {
            if (ty < w) sa[ty][tx] += sa[ty + w][tx];
            __syncthreads();
        }
        if (ty == 0 && x < b.shape[1]) atomicAdd(&out[x], sa[0][tx]);
        """

    n, k, m = SIZES
    hosts = random_matrices()
    a, b = map(cuda.to_device, hosts)
    out = cuda.device_array(m, np.float32)
    blocks = -(-m // 16), -(-n // 16)
    by_hand = cuda.module(REDUCED).matmul_reduce[blocks, (16, 16)]
    for call in (
        lambda: by_hand(a, b, out, n, k, m),
        lambda: matmul_kernel[blocks, (16, 16)](a, b, out),
    ):
        out.fill(0)
        call()
        close(out.copy_to_host(), expected_row_sums(*hosts), 1e-3)
    ours = device_calls(lambda: matmul_kernel[blocks, (16, 16)](a, b, out))
    least = device_calls(lambda: by_hand(a, b, out, n, k, m))
    ours, least = median_in_turn(ours, least, count=1, rounds=5, warm=0)
    return ours, least, 1.05 * least


@register_row("W5", "ufunc of two numbers, target cpu", "us", "1.5 x floor")
def ufunc_of_two_numbers(floor):
    """The floor is a ufunc of NumPy itself; the peer is a Python function of `math`."""
    from numbalite import vectorize

    signatures = ["float64(float64, float64)"]
    sincos = vectorize(signatures, source="sin(x) * cos(y)", args="x, y", name="sincos")
    close(sincos(0.5, 1.0), math.sin(0.5) * math.cos(1.0), 1e-12)
    ours, least = (
        make_call_measure(lambda: sincos(0.5, 1.0)),
        make_call_measure(lambda: np.arctan2(0.5, 1.0)),
    )
    ours, least = median_in_turn(ours, least, count=2000, rounds=9)
    return ours, least, 1.5 * least
