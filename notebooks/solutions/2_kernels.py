"""Solutions of section 2: each is the text of the cell with the preceding id."""

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


# The tasks of the lessons.


# %% mirror-exercise
@cuda.jit
def mirror(x, out):
    """
    int i = grid<1>();
    if (i < x.size()) out[i] = x[x.size() - 1 - i];
    """


# %% times_table-exercise
@cuda.jit
def times_table(out):
    """
    auto [column, row] = grid<2>();
    if (row < out.shape[0] && column < out.shape[1]) out(row, column) = (row + 1) * (column + 1);
    """


# %% differences-exercise
@cuda.jit
def differences(x, out):
    """
    int i = grid<1>();
    if (i < out.size()) out[i] = x[i + 1] - x[i];
    """


# %% squares-exercise
@cuda.jit
def squares(x):
    """
    for (int i = grid<1>(); i < x.size(); i += gridsize<1>()) x[i] *= x[i];
    """


# %% how_many-exercise
@cuda.jit
def how_many(values, limit, count):
    """
    int i = grid<1>();
    if (i < values.size() && values[i] > limit) atomicAdd(&count[0], 1);
    """


# %% smooth_apart-exercise
@cuda.jit
def smooth_apart(x, out):
    """
    int i = grid<1>();
    if (i >= x.size()) return;
    bool inside = i > 0 && i < x.size() - 1;
    out[i] = inside ? (x[i - 1] + x[i] + x[i + 1]) / 3 : x[i];
    """


# %% shift_mended-exercise
@cuda.jit
def shift_mended(x, out):
    """
    __shared__ float tile[64];
    int i = grid<1>();
    tile[threadIdx.x] = i < x.size() ? x[i] : 0;
    __syncthreads();
    if (i < out.size()) out[i] = tile[(threadIdx.x + 1) % 64];
    """


# %% slope_mended-exercise
@cuda.jit
def slope_mended(height, out):
    """
    auto [column, row] = grid<2>();
    if (row >= out.shape[0] || column >= out.shape[1]) return;
    int left = column > 0 ? column - 1 : column;
    int right = column < out.shape[1] - 1 ? column + 1 : column;
    out(row, column) = (height(row, right) - height(row, left)) / (right - left);
    """


# %% dice-exercise
@cuda.jit
def dice(states, out):
    """
    int i = grid<1>();
    if (i < out.size()) out[i] = 1 + int(6 * xoroshiro128p_uniform_float32(states, i));
    """


# %% under_the_curve-exercise
@cuda.jit
def under_the_curve(states, throws, means):
    """
    int i = grid<1>();
    if (i >= means.size()) return;
    float sum = 0;
    for (int k = 0; k < throws; ++k) {
        float x = xoroshiro128p_uniform_float32(states, i);
        sum += x * x;
    }
    means[i] = sum / throws;
    """


# %% stopwatch-exercise
def stopwatch(launch, stream):
    before, after = cuda.event(), cuda.event()
    before.record(stream)
    launch(stream)
    after.record(stream)
    after.synchronize()
    return before.elapsed_time(after)


# %% relay-exercise
@cuda.jit("void(float32[::1])")
def twice(x):
    """
    int i = grid<1>();
    if (i < x.size()) x[i] *= 2;
    """


def relay(x):
    copies, kernels = cuda.stream(), cuda.stream()
    there, done = cuda.event(), cuda.event()
    d_x = cuda.to_device(x, stream=copies)
    there.record(copies)
    there.wait(kernels)
    twice[-(-x.size // 256), 256, kernels](d_x)
    done.record(kernels)
    done.wait(copies)
    result = d_x.copy_to_host(stream=copies)
    copies.synchronize()
    return result


# The tasks of the last lessons.


# %% largest_of_all-exercise
def largest_of_all(parts):
    found = []
    for part in parts:
        with cuda.gpus[part.device]:
            found.append(part.max())
    return max(one.item() for one in found)


# %% ring-exercise
def exchange_ring(parts):
    for left, right in zip(parts, parts[1:] + parts[:1]):
        right[:1] = left[-2:-1]
        left[-1:] = right[1:2]
