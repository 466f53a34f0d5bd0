"""Solutions of section 2: each is the text of the cell whose id stands before it."""

import numpy as np

from numbalite import cuda


# %% vadd-exercise
@cuda.jit
def vadd(a, b, out):
    """
    int i = grid<1>();
    if (i < out.size()) out[i] = a[i] + b[i];
    """


# %% saxpy-exercise
@cuda.jit
def saxpy(alpha, x, y):
    """
    for (int i = grid<1>(); i < y.size(); i += gridsize<1>()) y[i] += alpha * x[i];
    """


# %% increment_2d-exercise
@cuda.jit
def increment_2d(image):
    """
    auto [column, row] = grid<2>();  // x runs along a row: neighbours in a warp are neighbours in memory
    if (row < image.shape[0] && column < image.shape[1]) image(row, column) += 1;
    """


# %% histogram-exercise
@cuda.jit
def histogram(values, counts):
    """
    int i = grid<1>();
    if (i >= values.size()) return;
    int value = values[i];
    if (0 <= value && value < counts.size()) atomicAdd(&counts[value], 1);
    """


# %% block_sums-exercise
@cuda.jit
def block_sums(values, sums):
    """
    __shared__ float part[128];
    int t = threadIdx.x;
    part[t] = values[grid<1>()];
    __syncthreads();  // all 128 values are there
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();  // outside of the if: every thread has to come here
    }
    if (t == 0) sums[blockIdx.x] = part[0];
    """


# %% monte_carlo_pi-exercise
@cuda.jit
def monte_carlo_pi(states, trials, hits):
    """
    int i = grid<1>();
    if (i >= hits.size()) return;
    int inside = 0;
    for (int k = 0; k < trials; ++k) {
        float x = xoroshiro128p_uniform_float32(states, i);
        float y = xoroshiro128p_uniform_float32(states, i);
        if (x * x + y * y < 1) ++inside;
    }
    hits[i] = inside;
    """


# %% spectrum-exercise
@cuda.jit
def count(heights, width, counts):
    """
    __shared__ int mine[1000];
    int t = threadIdx.x, bins = counts.size();
    for (int b = t; b < bins; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = grid<1>(); i < heights.size(); i += gridsize<1>()) {
        int channel = heights[i] / width;
        if (channel < bins) atomicAdd(&mine[channel], 1);
    }
    __syncthreads();
    for (int b = t; b < bins; b += blockDim.x) atomicAdd(&counts[b], mine[b]);
    """


def spectrum(heights, width, bins):
    counts = cuda.device_array(bins, np.int32)
    counts.fill(0)
    blocks = min(1024, -(-heights.size // 256))
    count[blocks, 256](heights, width, counts)
    return counts
