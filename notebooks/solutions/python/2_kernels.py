"""Solutions of section 2 with Python bodies."""

import numpy as np

from numbalite import cuda, int32
from numbalite.cuda.random import xoroshiro128p_uniform_float32


# %% vadd-exercise
@cuda.jit
def vadd(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


# %% saxpy-exercise
@cuda.jit
def saxpy(alpha, x, y):
    for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        y[i] += alpha * x[i]


# %% increment_2d-exercise
@cuda.jit
def increment_2d(image):
    column, row = cuda.grid(2)  # x runs along a row: neighbours in a warp are neighbours in memory
    if row < image.shape[0] and column < image.shape[1]:
        image[row, column] += 1


# %% histogram-exercise
@cuda.jit
def histogram(values, counts):
    i = cuda.grid(1)
    if i < values.size:
        value = values[i]
        if 0 <= value < counts.size:
            cuda.atomic.add(counts, value, 1)


# %% block_sums-exercise
@cuda.jit
def block_sums(values, sums):
    part = cuda.shared.array(128, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()  # all 128 values are there
    half = 64
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()  # outside of the if: every thread must reach the barrier
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


# %% monte_carlo_pi-exercise
@cuda.jit
def monte_carlo_pi(states, trials, hits):
    i = cuda.grid(1)
    if i >= hits.size:
        return
    inside = 0
    for _ in range(trials):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x * x + y * y < 1:
            inside += 1
    hits[i] = inside


# %% spectrum-exercise
@cuda.jit
def count(heights, width, counts):
    mine = cuda.shared.array(1000, int32)
    t = cuda.threadIdx.x
    bins = counts.size
    for b in range(t, bins, cuda.blockDim.x):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), heights.size, cuda.gridsize(1)):
        channel = int(heights[i] / width)
        if channel < bins:
            cuda.atomic.add(mine, channel, 1)
    cuda.syncthreads()
    for b in range(t, bins, cuda.blockDim.x):
        cuda.atomic.add(counts, b, mine[b])


def spectrum(heights, width, bins):
    counts = cuda.device_array(bins, np.int32)
    counts.fill(0)
    blocks = min(1024, -(-heights.size // 256))
    count[blocks, 256](heights, width, counts)
    return counts
