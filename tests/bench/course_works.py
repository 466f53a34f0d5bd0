"""Defines input data of course_rows.py and NumPy's results for it, shared by numbalite and its
peers."""

import os

import numpy as np

SMALL = bool(os.environ.get("NUMBALITE_BENCH_SMALL"))  # run.py --small
POINTS = 1000 if SMALL else 1_000_000
LAYER = 1000 if SMALL else 100_000_000
SIZES = (50, 70, 60) if SMALL else (10_000, 5_000, 7_000)
"""The rows and columns of the first matrix, the columns of the second."""

REDUCED = r"""
extern "C" __global__ void matmul_reduce(const float* a, const float* b, float* out, int n, int k, int m) {
    __shared__ float sa[16][16], sb[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float total = 0;
    for (int i = 0; i < k; i += 16) {
        sa[ty][tx] = y < n && i + tx < k ? a[(long long)y * k + i + tx] : 0;
        sb[ty][tx] = x < m && i + ty < k ? b[(long long)(i + ty) * m + x] : 0;
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
    if (ty == 0 && x < m) atomicAdd(&out[x], sa[0][tx]);
}"""


def random_uniform(count=None, size=POINTS):
    """Returns random numbers from 0 to 1: an array, or a list of `count` arrays."""
    rng = np.random.default_rng(11)
    return rng.random(size if count is None else (count, size), np.float32)


def expected_gaussian_pdf(x):
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


def expected_polar_distance(rho1, theta1, rho2, theta2):
    x1, y1 = rho1 * np.cos(theta1), rho1 * np.sin(theta1)
    x2, y2 = rho2 * np.cos(theta2), rho2 * np.sin(theta2)
    return np.sqrt((x1 - x2) ** 2 + (y1 - y2) ** 2)


def expected_layer(greys, weights):
    return np.tanh(greys / 255 * weights)


def random_matrices():
    n, k, m = SIZES
    rng = np.random.default_rng(12)
    return rng.random((n, k), np.float32), rng.random((k, m), np.float32)


def expected_row_sums(a, b):
    """Returns the sum of the rows of a @ b."""
    return a.sum(0, dtype=np.float64) @ b
