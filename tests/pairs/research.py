"""Defines pairs with mistakes in kernels of students and researchers: images, particles,
statistics, and random numbers."""

import numpy as np
from pairs.form import (
    random_floats,
    random_ints,
    register_pair,
    uninitialized_array,
    zero_counts,
    zeros_of_shape,
)

N = 64
TILE = 8
R = 2
BINS = 16
WALKERS = 32
CURAND = np.dtype("V48")  # curandState

# --- images ----------------------------------------------------------------------------------------------


def expected_blur(image, r=1):
    padded = np.pad(image, r, "edge")
    h, w = image.shape
    size = 2 * r + 1
    return sum(padded[i : i + h, j : j + w] for i in range(size) for j in range(size)) / size**2


@register_pair(
    "memory",
    array="image",
    grid=(2, 2),
    block=(TILE, TILE),
    expect=lambda image: expected_blur(image),
)
def blur_reads_past_edges(image: random_floats(16, 16), out: zeros_of_shape(16, 16)):
    """
    __global__ void blur(const float* image, float* out) {
        int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
        float sum = 0;
        for (int i = -1; i <= 1; ++i)
            for (int j = -1; j <= 1; ++j) {
                int v = y + i, u = x + j;             //-
                int v = min(max(y + i, 0), 15), u = min(max(x + j, 0), 15);  //+
                sum += image[v * 16 + u];             //!
            }
        out[y * 16 + x] = sum / 9;
    }
    """


@register_pair(
    "unwritten",
    array="tile",
    grid=(2, 2),
    block=(TILE, TILE),
    expect=lambda image: expected_blur(image, R),
)
def tile_halo_too_narrow(image: random_floats(16, 16), out: zeros_of_shape(16, 16)):
    """
    __global__ void blur(const float* image, float* out) {
        __shared__ float tile[TILE + 2 * R][TILE + 2 * R];
        int x0 = blockIdx.x * TILE - R, y0 = blockIdx.y * TILE - R, t = threadIdx.y * TILE + threadIdx.x;
        int side = TILE + R;                          //-
        int side = TILE + 2 * R;                      //+
        for (int k = t; k < side * side; k += TILE * TILE) {
            int v = min(max(y0 + k / side, 0), 15), u = min(max(x0 + k % side, 0), 15);
            tile[k / side][k % side] = image[v * 16 + u];
        }
        __syncthreads();
        float sum = 0;
        for (int i = 0; i <= 2 * R; ++i)
            for (int j = 0; j <= 2 * R; ++j) sum += tile[threadIdx.y + i][threadIdx.x + j];  //!
        int n = 2 * R + 1;
        out[(y0 + R + threadIdx.y) * 16 + x0 + R + threadIdx.x] = sum / (n * n);
    }
    """


@register_pair(
    "race",
    array="tile",
    grid=(2, 2),
    block=(TILE, TILE),
    expect=lambda image: expected_blur(image, R),
)
def halo_loaded_by_other_threads_without_barrier(
    image: random_floats(16, 16), out: zeros_of_shape(16, 16)
):
    """
    __global__ void blur(const float* image, float* out) {
        __shared__ float tile[TILE + 2 * R][TILE + 2 * R];
        int x0 = blockIdx.x * TILE - R, y0 = blockIdx.y * TILE - R;
        for (int i = threadIdx.y; i < TILE + 2 * R; i += TILE)
            for (int j = threadIdx.x; j < TILE + 2 * R; j += TILE)
                tile[i][j] = image[min(max(y0 + i, 0), 15) * 16 + min(max(x0 + j, 0), 15)];  //!
        __syncthreads();                              //+
        float sum = 0;
        for (int i = 0; i <= 2 * R; ++i)
            for (int j = 0; j <= 2 * R; ++j) sum += tile[threadIdx.y + i][threadIdx.x + j];  //!
        int n = 2 * R + 1;
        out[(y0 + R + threadIdx.y) * 16 + x0 + R + threadIdx.x] = sum / (n * n);
    }
    """


@register_pair("memory", array="rgb", grid=1, block=N, expect=lambda rgb: rgb[:, ::-1])
def channel_index_past_pixel(
    rgb: random_ints(N, 3, below=256, dtype=np.uint8), bgr: zeros_of_shape(N, 3, dtype=np.uint8)
):
    """
    __global__ void swap(const unsigned char* rgb, unsigned char* bgr) {
        int i = threadIdx.x;
        for (int c = 0; c < 3; ++c) {
            bgr[3 * i + c] = rgb[3 * i + (3 - c)];    //-!
            bgr[3 * i + c] = rgb[3 * i + (2 - c)];    //+
        }
    }
    """


@register_pair(
    "race", array="bins", grid=2, block=N, expect=lambda x: {"bins": np.bincount(x, minlength=256)}
)
def grey_level_histogram_without_atomics(
    x: random_ints(2 * N, below=256, dtype=np.uint8), bins: zero_counts(256)
):
    """
    bins[x[grid<1>()]]++;                             //-!
    atomicAdd(&bins[x[grid<1>()]], 1);                //+
    """


@register_pair(
    "race", array="local", grid=2, block=N, expect=lambda x: np.bincount(x, minlength=BINS)
)
def block_histogram_read_without_barrier(x: random_ints(2 * N, below=BINS), out: zero_counts(BINS)):
    """
    __shared__ int local[BINS];
    int t = threadIdx.x;
    for (int b = t; b < BINS; b += blockDim.x) local[b] = 0;
    __syncthreads();
    atomicAdd(&local[x[grid<1>()]], 1);               //!
    __syncthreads();                                  //+
    for (int b = t; b < BINS; b += blockDim.x) atomicAdd(&out[b], local[b]);  //!
    """


# --- particles -------------------------------------------------------------------------------------------


@register_pair(
    "memory", array="state", grid=1, block=N, expect=lambda state: state[:3] + 0.5 * state[3:]
)
def array_pointer_of_struct_past_end(state: random_floats(6, N), out: zeros_of_shape(3, N)):
    """
    __global__ void drift(const float* state, float* out) {
        const float *at[3], *v[3];
        for (int k = 0; k < 3; ++k) {
            at[k] = state + k * N;
            v[k] = state + (4 + k) * N;               //-
            v[k] = state + (3 + k) * N;               //+
        }
        int i = threadIdx.x;
        for (int k = 0; k < 3; ++k) out[k * N + i] = at[k][i] + 0.5f * v[k][i];  //!
    }
    """


@register_pair(
    "race", array="x", grid=1, block=N, expect=lambda x: {"x": x + (np.roll(x, 1) - x) / 2}
)
def positions_updated_while_forces_read_them(x: random_floats(N)):
    """
    int i = threadIdx.x;
    float force = x[(i + N - 1) % N] - x[i];          //!
    __syncthreads();                                  //+
    x[i] += force / 2;                                //!
    """


@register_pair(
    "race", array="cells", grid=2, block=N, key=np.sort, expect=lambda x: np.arange(2 * N)
)
def cell_index_counted_without_atomic(
    x: random_ints(2 * N, below=1), cells: zero_counts(1), out: zero_counts(2 * N)
):
    """
    int i = grid<1>(), place;
    place = cells[x[i]]++;                            //-!
    place = atomicAdd(&cells[x[i]], 1);               //+
    out[place] = i;
    """


@register_pair(
    "unwritten", array="next", grid=1, block=N, expect=lambda key: np.bincount(key, minlength=4)
)
def list_ends_uninitialized(
    key: random_ints(N, below=4), next: uninitialized_array(N, dtype=np.int32), out: zero_counts(4)
):
    """
    __shared__ int head[4];
    int i = threadIdx.x, count = 0;
    if (i < 4) head[i] = -1;
    __syncthreads();
    int old = atomicExch(&head[key[i]], i);
    if (old >= 0) next[i] = old;                      //-
    next[i] = old;                                    //+
    __syncthreads();
    if (i < 4) {
        for (int k = head[i]; k >= 0; k = next[k]) ++count;  //!
        out[i] = count;
    }
    """


# --- sums, scans, and other collective algorithms
# --------------------------------------------------------------


@register_pair("race", array="warps", grid=1, block=128, expect=lambda x: x.sum())
def warp_sums_read_without_barrier(x: random_ints(128, below=9), out: zero_counts(1)):
    """
    __shared__ int warps[4];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) warps[warp] = sum;                 //!
    __syncthreads();                                  //+
    if (threadIdx.x < 4) {
        sum = warps[threadIdx.x];                     //!
        for (int d = 2; d > 0; d /= 2) sum += __shfl_down_sync(0xf, sum, d);
        if (threadIdx.x == 0) out[0] = sum;
    }
    """


@register_pair("race", array="total", grid=1, block=N, expect=lambda x: x.cumsum())
def warp_scan_totals_without_second_barrier(x: random_ints(N, below=9), out: zero_counts(N)):
    """
    __shared__ int total[2];
    int t = threadIdx.x, lane = t % 32, sum = x[t];
    for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(0xffffffff, sum, d);
        if (lane >= d) sum += below;
    }
    if (lane == 31) total[t / 32] = sum;              //!
    __syncthreads();                                  //+
    out[t] = sum + (t >= 32 ? total[0] : 0);          //!
    """


@register_pair("memory", array="s", grid=1, block=N, expect=lambda x: x.cumsum() - x)
def exclusive_scan_reads_before_first_element(x: random_ints(N, below=9), out: zero_counts(N)):
    """
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < N; d *= 2) {
        int left = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += left;
        __syncthreads();
    }
    out[t] = s[t - 1];                                //-!
    out[t] = t ? s[t - 1] : 0;                        //+
    """


@register_pair("unwritten", array="s", grid=1, block=N, expect=lambda x: x.sum())
def strided_sums_uninitialized_for_excess_threads(x: random_ints(50, below=9), out: zero_counts(1)):
    """
    __shared__ int s[N];
    int t = threadIdx.x;
    for (int i = t; i < x.size(); i += blockDim.x) s[t] = x[i];  //-
    s[t] = 0;                                         //+
    for (int i = t; i < x.size(); i += blockDim.x) s[t] += x[i];  //+
    __syncthreads();
    for (int w = N / 2; w > 0; w /= 2) {
        if (t < w) s[t] += s[t + w];                  //!
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
    """


@register_pair("race", array="best", grid=1, block=N, expect=lambda x: x.max())
def shared_maximum_without_atomic(x: random_ints(N, below=999), out: zero_counts(1)):
    """
    __shared__ int best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    if (x[threadIdx.x] > best) best = x[threadIdx.x];  //-!
    atomicMax(&best, x[threadIdx.x]);                 //+
    __syncthreads();
    if (threadIdx.x == 0) out[0] = best;
    """


@register_pair("hang", grid=1, block=N, expect=lambda n: [collatz(int(i)) for i in n])
def collatz_iteration_of_zero_never_ends(n: random_ints(N, below=20, low=0), out: zero_counts(N)):
    """
    int i = threadIdx.x, k = n[i], steps = 0;
    for (;;) {                                        //!
        if (k == 1) break;                            //-!
        if (k <= 1) break;                            //+
        k = k % 2 ? 3 * k + 1 : k / 2;                //!
        ++steps;                                      //!
    }
    out[i] = steps;
    """


def collatz(k):
    steps = 0
    while k > 1:
        k = 3 * k + 1 if k % 2 else k // 2
        steps += 1
    return steps


# --- random numbers --------------------------------------------------------------------------------------


@register_pair(
    "race", array="seed", grid=1, block=WALKERS, key=lambda a: a > 0, expect=lambda: True
)
def random_seed_shared_by_threads(seed: zero_counts(WALKERS) + 7, out: zero_counts(WALKERS)):
    """
    int i = threadIdx.x;
    int mine = 0;                                     //-
    int mine = i;                                     //+
    for (int k = 0; k < 4; ++k)
        seed[mine] = (seed[mine] * 1103515245 + 12345) & 0x7fffffff;  //!
    out[i] = 1 + seed[mine] % 6;                      //!
    """


def is_uniform(a):
    """Returns whether numbers are in (0, 1], the range of curand_uniform."""
    return (a > 0) & (a <= 1)


@register_pair(
    "unwritten", array="states", grid=1, block=WALKERS, key=is_uniform, expect=lambda: True
)
def random_states_uninitialized(
    states: uninitialized_array(WALKERS, dtype=CURAND), out: zeros_of_shape(WALKERS)
):
    """
    #include <curand_kernel.h>
    __global__ void draw(curandState* states, float* out) {
        int i = threadIdx.x;
        curand_init(7, i, 0, &states[i]);             //+
        out[i] = curand_uniform(&states[i]);          //!
    }
    """


@register_pair(
    "unwritten", array="states", grid=1, block=WALKERS, key=is_uniform, expect=lambda: True
)
def random_states_not_stored(
    states: uninitialized_array(WALKERS, dtype=CURAND), out: zeros_of_shape(WALKERS)
):
    """
    #include <curand_kernel.h>
    __global__ void start_and_draw(curandState* states, float* out) {
        int i = threadIdx.x;
        curandState mine;
        curand_init(7, i, 0, &mine);
        states[i] = mine;                             //+
        for (int k = 0; k < 10; ++k)
            out[i] = curand_uniform(&states[i]);      //!
    }
    """


@register_pair("memory", array="states", grid=2, block=20, key=is_uniform, expect=lambda: True)
def random_state_index_past_end(
    states: uninitialized_array(WALKERS, dtype=CURAND), out: zeros_of_shape(WALKERS)
):
    """
    #include <curand_kernel.h>
    __global__ void draw(curandState* states, float* out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < WALKERS) {                            //+
        curand_init(7, i, 0, &states[i]);             //!
        out[i] = curand_uniform(&states[i]);          //!
        }                                             //+
    }
    """


@register_pair("race", array="states", grid=1, block=WALKERS, key=is_uniform, expect=lambda: True)
def curand_state_shared_by_threads(
    states: uninitialized_array(WALKERS, dtype=CURAND), out: zeros_of_shape(WALKERS)
):
    """
    #include <curand_kernel.h>
    __global__ void draw(curandState* states, float* out) {
        int i = threadIdx.x;
        curandState* mine = &states[0];               //-
        curandState* mine = &states[i];               //+
        if (mine == &states[i]) curand_init(7, i, 0, mine);
        __syncthreads();
        out[i] = curand_uniform(mine);                //!
    }
    """
