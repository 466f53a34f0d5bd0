"""Measures the cost of counting: NUMBALITE_NUM_THREADS=1 python tests/bench/profiled.py

Prints a Markdown table of kernels on the simulator: the processor time of an unchecked launch and of
one under cuda.profile, each the minimum of several launches, and their ratio.
"""

import os
import time

os.environ["NUMBALITE_DRIVER"] = "sim"

import numpy as np

from numbalite import cuda

N = 1 << 20
SIDE = 256
UNCHECKED, PROFILED = 12, 6
"""Launches of which the minimum counts."""


@cuda.jit
def saxpy(a, x, y, out):
    """
    int i = grid<1>();
    if (i < x.size()) out[i] = a * x[i] + y[i];
    """


@cuda.jit
def python_saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = a * x[i] + y[i]


@cuda.jit
def stencil(x, out):
    """
    int i = grid<1>(), n = x.size();
    if (i > 0 && i < n - 1) out[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
    """


@cuda.jit
def row_sums(starts, values, sums):
    """
    int row = grid<1>();
    float sum = 0;
    for (int j = starts[row]; j < starts[row + 1]; ++j) sum += values[j];
    sums[row] = sum;
    """


@cuda.jit
def histogram(x, bins):
    """
    int i = grid<1>();
    if (i < x.size()) atomicAdd(&bins[x[i]], 1);
    """


@cuda.jit
def transpose(a, out):
    """
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = a(y + j, x);
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out(y + j, x) = tile[threadIdx.x][threadIdx.y + j];
    """


@cuda.jit
def product(a, b, c):
    """
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
    float sum = 0;
    for (int step = 0; step < a.shape[1]; step += 16) {
        left[y][x] = a(i, step + x);
        right[y][x] = b(step + y, j);
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    c(i, j) = sum;
    """


def cases():
    """Yields (name, kernel, grid, block, arguments)."""
    rng = np.random.default_rng(0)

    def floats(*shape):
        return cuda.to_device(rng.random(shape, np.float32))

    def matrices(count, side):
        return [floats(side, side) for _ in range(count)]

    blocks = N // 256
    bytes_ = cuda.to_device(rng.integers(0, 256, N, np.uint8))
    bins = cuda.to_device(np.zeros(256, np.int32))
    starts = np.append(0, np.cumsum(rng.integers(0, 32, N // 16))).astype(np.int32)
    rows = cuda.to_device(starts), floats(starts[-1]), floats(N // 16)
    vectors = floats(N), floats(N), floats(N)
    yield "saxpy", saxpy, blocks, 256, (np.float32(2), *vectors)
    yield "saxpy in Python", python_saxpy, blocks, 256, (np.float32(2), *vectors)
    yield "stencil of 3 elements", stencil, blocks, 256, vectors[:2]
    yield "sums of rows of 0 to 31 elements", row_sums, blocks // 16, 256, rows
    yield "histogram, atomic", histogram, blocks, 256, (bytes_, bins)
    yield "transpose, shared memory", transpose, (32, 32), (32, 8), matrices(2, 1024)
    yield "product, tiled", product, (SIDE // 16,) * 2, (16, 16), matrices(3, SIDE)


def milliseconds(launch, count):
    """Returns the minimum of `count` launches, after one that compiles."""
    launch()
    cuda.synchronize()
    times = []
    for _ in range(count):
        start = time.process_time()
        launch()
        cuda.synchronize()
        times.append(time.process_time() - start)
    return min(times) * 1e3


def main():
    print("| kernel | unchecked, ms | profiled, ms | ratio |\n|---|---|---|---|")
    for name, kernel, grid, block, arguments in cases():

        def launch(kernel=kernel, grid=grid, block=block, arguments=arguments):
            kernel[grid, block](*arguments)

        unchecked = milliseconds(launch, UNCHECKED)
        with cuda.profile(as_written=True):
            profiled = milliseconds(launch, PROFILED)
        print(f"| {name} | {unchecked:.2f} | {profiled:.1f} | {profiled / unchecked:.0f} |")


if __name__ == "__main__":
    main()
