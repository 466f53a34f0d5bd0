"""Measures the cost of checked kernels: python tests/bench/checked.py

Four kernels, plain, with boundscheck=True and with debug=True, in a Markdown table: the median time
of a launch with its Python call, and its ratio to the plain kernel's time. The last row is an empty
kernel: it shows the cost of waiting for a checked launch.
"""

import functools
import statistics
import sys
import time

import numpy as np

from numbalite import cuda


def add(x, y, out):
    """
    int i = grid<1>();
    if (i < out.size()) out[i] = x[i] + y[i];
    """


def matmul(a, b, c):
    """
    __shared__ float left[16][16], right[16][16];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int step = 0; step < a.shape[1]; step += 16) {
        left[threadIdx.y][threadIdx.x] = a(i, step + threadIdx.x);
        right[threadIdx.y][threadIdx.x] = b(step + threadIdx.y, j);
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c(i, j) = sum;
    """


def diffusion(u, out, rate):
    """
    auto [i, j] = grid<2>();
    if (i == 0 || j == 0 || i >= u.shape[0] - 1 || j >= u.shape[1] - 1) return;
    out(i, j) = u(i, j) + rate * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j));
    """


def histogram(x, bins):
    """
    for (int i = grid<1>(); i < x.size(); i += gridsize<1>()) atomic_add(bins, x[i], 1);
    """


def empty_kernel(x):
    ""


def benchmark_cases(size):
    r = np.random.default_rng(1)
    floats = [cuda.to_device(r.random(size * size, dtype="f4")) for _ in range(3)]
    squares = [x.reshape(size, size) for x in floats]
    numbers = cuda.to_device(r.integers(0, 256, size * size).astype("i4"))
    bins = cuda.to_device(np.zeros(256, "i4"))
    blocks = size // 16
    flat = (-(-size * size // 256), 256)
    yield "vadd", add, flat, floats
    yield "matmul, 16 x 16 tiles", matmul, ((blocks, blocks), (16, 16)), squares
    yield "diffusion", diffusion, ((blocks, blocks), (16, 16)), [*squares[:2], np.float32(0.1)]
    yield "histogram", histogram, (min(flat[0], 1024), 256), [numbers, bins]
    yield "empty", empty_kernel, (1, 32), [floats[0]]


def launch_seconds(launch, repeats):
    launch()
    cuda.synchronize()
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(repeats):
            launch()
        cuda.synchronize()
        times.append((time.perf_counter() - start) / repeats)
    return statistics.median(times)


def main(size):
    print(f"| {size} x {size} | plain | boundscheck=True | debug=True |\n|---|---|---|---|")
    for name, function, (grid, block), args in benchmark_cases(size):
        row = []
        for options in ({}, {"boundscheck": True}, {"debug": True}):
            kernel = cuda.jit(**options)(function)[grid, block]
            repeats = 1 if cuda.is_simulated() else 20
            row.append(launch_seconds(functools.partial(kernel, *args), repeats))
        shown = [f"{row[0] * 1e6:.1f} µs"]
        shown += [f"{t * 1e6:.1f} µs ({t / row[0]:.1f}x)" for t in row[1:]]
        print(f"| {name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else (256 if cuda.is_simulated() else 4096))
