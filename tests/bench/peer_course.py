"""Measures the rows of course_rows.py with numba, CuPy, SciPy and Python's math."""

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
from peer_measure import assert_result, event_times, median, run_row, time_row

SQRT_2PI = np.float32((2 * math.pi) ** 0.5)


def grid_size():
    n, _, m = SIZES
    return -(-m // 16), -(-n // 16)


def measure_numba_rows(cuda, float32):
    from numba import vectorize

    @vectorize(["float32(float32, float32, float32)"], target="cuda")
    def gaussian_pdf(x, mean, sigma):
        return math.exp(float32(-0.5) * ((x - mean) / sigma) ** 2) / (sigma * SQRT_2PI)

    @cuda.jit(device=True)
    def to_cartesian(rho, theta):
        return rho * math.cos(theta), rho * math.sin(theta)

    @vectorize(["float32(float32, float32, float32, float32)"], target="cuda")
    def polar_distance(rho1, theta1, rho2, theta2):
        x1, y1 = to_cartesian(rho1, theta1)
        x2, y2 = to_cartesian(rho2, theta2)
        return math.sqrt((x1 - x2) ** 2 + (y1 - y2) ** 2)

    @vectorize(["float32(float32)"], target="cuda")
    def normalize(grey):
        return grey / float32(255)

    @vectorize(["float32(float32, float32)"], target="cuda")
    def weigh(x, w):
        return x * w

    @vectorize(["float32(float32)"], target="cuda")
    def activate(x):
        return (math.exp(x) - math.exp(-x)) / (math.exp(x) + math.exp(-x))

    x, four = random_uniform(), random_uniform(4)
    time_row("W1", lambda: gaussian_pdf(x, 0.0, 1.0), lambda: expected_gaussian_pdf(x), 5)

    @run_row("W2")
    def time_polar_distance():
        np.testing.assert_allclose(
            polar_distance(*four), expected_polar_distance(*four), rtol=1e-4, atol=1e-5
        )
        return median(lambda: polar_distance(*four), 5)

    @run_row("W3")
    def time_hidden_layer():
        greys, weights = random_uniform(2, LAYER)

        def run_layer():
            x = normalize(cuda.to_device(greys))
            return activate(weigh(x, cuda.to_device(weights))).copy_to_host()

        assert_result(run_layer(), expected_layer(greys, weights), 1e-4)
        return median(run_layer, 1, rounds=3)

    @cuda.jit
    def matmul_kernel(a, b, out):
        sa = cuda.shared.array((16, 16), float32)
        sb = cuda.shared.array((16, 16), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.grid(2)
        total = float32(0)
        for i in range(0, a.shape[1], 16):
            sa[ty, tx] = a[y, i + tx] if y < a.shape[0] and i + tx < a.shape[1] else float32(0)
            sb[ty, tx] = b[i + ty, x] if x < b.shape[1] and i + ty < b.shape[0] else float32(0)
            cuda.syncthreads()
            for j in range(16):
                total += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        sa[ty, tx] = total
        cuda.syncthreads()
        w = 8
        while w > 0:
            if ty < w:
                sa[ty, tx] += sa[ty + w, tx]
            cuda.syncthreads()
            w //= 2
        if ty == 0 and x < b.shape[1]:
            cuda.atomic.add(out, x, sa[0, tx])

    @run_row("W4")
    def time_matmul():
        hosts = random_matrices()
        a, b = map(cuda.to_device, hosts)
        out = cuda.to_device(np.zeros(SIZES[2], np.float32))
        call = lambda: matmul_kernel[grid_size(), (16, 16)](a, b, out)
        call()
        assert_result(out.copy_to_host(), expected_row_sums(*hosts), 1e-3)

        def record_event():
            event = cuda.event()
            event.record()
            return event

        return event_times(call, record_event, cuda.synchronize, cuda.event_elapsed_time, 1)


def numba_cpu():
    from numba import vectorize

    @vectorize(["float64(float64, float64)"])
    def sincos(x, y):
        return math.sin(x) * math.cos(y)

    time_row("W5", lambda: sincos(0.5, 1.0), math.sin(0.5) * math.cos(1.0), 2000)


def measure_cupy_rows(cupy, sync):
    gaussian = cupy.ElementwiseKernel(
        "float32 x, float32 mean, float32 sigma",
        "float32 y",
        "float z = (x - mean) / sigma; y = exp(-0.5f * z * z) / (sigma * 2.5066282746f)",
    )
    polar = cupy.ElementwiseKernel(
        "float32 rho1, float32 theta1, float32 rho2, float32 theta2",
        "float32 d",
        "float x = rho1 * cos(theta1) - rho2 * cos(theta2), y = rho1 * sin(theta1) - rho2 * sin(theta2);"
        "d = sqrt(x * x + y * y)",
    )
    activate = cupy.ElementwiseKernel(
        "float32 x", "float32 y", "y = (exp(x) - exp(-x)) / (exp(x) + exp(-x))"
    )
    x, four = random_uniform(), random_uniform(4)
    mean, sigma = np.float32(0), np.float32(1)
    time_row(
        "W1",
        lambda: gaussian(cupy.asarray(x), mean, sigma).get(),
        lambda: expected_gaussian_pdf(x),
        10,
    )

    @run_row("W2")
    def time_polar_distance():
        call = lambda: polar(*map(cupy.asarray, four)).get()
        np.testing.assert_allclose(call(), expected_polar_distance(*four), rtol=1e-4, atol=1e-5)
        return median(call, 10)

    @run_row("W3")
    def time_hidden_layer():
        greys, weights = random_uniform(2, LAYER)
        call = lambda: activate(cupy.asarray(greys) / 255 * cupy.asarray(weights)).get()
        assert_result(call(), expected_layer(greys, weights), 1e-4)
        return median(call, 1, rounds=3)

    @run_row("W4")
    def time_matmul():
        hosts = random_matrices()
        a, b = map(cupy.asarray, hosts)
        out = cupy.zeros(SIZES[2], np.float32)
        kernel = cupy.RawKernel(REDUCED, "matmul_reduce")
        given = (a, b, out, *map(np.int32, SIZES))
        call = lambda: kernel(grid_size(), (16, 16), given)
        call()
        assert_result(out.get(), expected_row_sums(*hosts), 1e-3)

        def record_event():
            event = cupy.cuda.Event()
            event.record()
            return event

        return event_times(call, record_event, sync, cupy.cuda.get_elapsed_time, 1)


def measure_scipy_rows():
    from scipy.stats import norm

    x = random_uniform()
    time_row("W1", lambda: norm.pdf(x), lambda: expected_gaussian_pdf(x), 2, rounds=3)


def measure_python_rows():
    sincos = lambda x, y: math.sin(x) * math.cos(y)
    time_row("W5", lambda: sincos(0.5, 1.0), math.sin(0.5) * math.cos(1.0), 2000)
