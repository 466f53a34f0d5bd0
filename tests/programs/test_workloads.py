"""Runs the kernels of the courses at sizes for which the simulator needs little time, and compares
the results with NumPy's.

Each kernel is written in a learner's style; the same file runs on the simulator and on a GPU.
"""

import math
import re

import numpy as np
import pytest
from kit.lines import line_numbers_of

import numbalite
from numbalite import cuda, float32, int32, void

TPB = 8
TILE = 16
COEFFICIENT = 0.25


# These tests pass host arrays for convenience; other tests check the warning.


@pytest.fixture
def seeded_rng():
    return np.random.default_rng(2026)


def blocks_for(n, threads):
    return -(-n // threads)


# ---- vadd --------------------------------------------------------------------------------------------
@cuda.jit("void(float32[:], float32[:], float32[:])")
def vadd(a, b, out):
    """
    int i = grid<1>();
    if (i < out.size()) out[i] = a[i] + b[i];
    """


def test_vadd_on_host_arrays_matches_numpy():
    """Adds 100 numbers with 4 blocks of one warp; the result is read from the host array afterwards."""
    n = 100
    threads = cuda.get_current_device().WARP_SIZE
    a, b, out = np.arange(n, dtype="f4"), np.linspace(0, 1, n, dtype="f4"), np.zeros(n, "f4")
    vadd[math.ceil(n / threads), threads](a, b, out)
    np.testing.assert_array_equal(out, a + b)


def test_vadd_on_device_arrays_touches_no_host_array(seeded_rng):
    a, b = seeded_rng.random(100, "f4"), seeded_rng.random(100, "f4")
    d_a, d_b, d_out = cuda.to_device(a), cuda.to_device(b), cuda.device_array(100, np.float32)
    vadd[4, 32](d_a, d_b, d_out)
    np.testing.assert_array_equal(d_out.copy_to_host(), a + b)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 1000])
def test_vadd_of_each_length_matches_numpy(n, seeded_rng):
    a, b, out = seeded_rng.random(n, "f4"), seeded_rng.random(n, "f4"), np.full(n, -1, "f4")
    vadd[max(1, blocks_for(n, 64)), 64](a, b, out)
    np.testing.assert_array_equal(out, a + b)


def test_vadd_on_strided_views_matches_numpy(seeded_rng):
    """float32[:] accepts any stride, also a negative one."""
    a, b = seeded_rng.random((50, 3)).astype("f4"), seeded_rng.random(100, "f4")
    out = np.zeros((50, 2), "f4")
    vadd[2, 32](a[:, 1], b[::-2], out[:, 0])
    np.testing.assert_array_equal(out[:, 0], a[:, 1] + b[::-2])
    assert not out[:, 1].any()


def test_forall_vadd_matches_numpy(seeded_rng):
    a, b, out = seeded_rng.random(777, "f4"), seeded_rng.random(777, "f4"), np.zeros(777, "f4")
    vadd.forall(777)(a, b, out)
    np.testing.assert_array_equal(out, a + b)
    vadd.forall(0)(a, b, out)  # an empty grid is not an error
    with pytest.raises(ValueError, match="negative"):
        vadd.forall(-1)


def test_vadd_accepts_keyword_arguments(seeded_rng):
    a, b, out = seeded_rng.random(10, "f4"), seeded_rng.random(10, "f4"), np.zeros(10, "f4")
    vadd[1, 32](b=b, out=out, a=a)
    np.testing.assert_array_equal(out, a + b)


# ---- two dimensions ----------------------------------------------------------------------------------
@cuda.jit
def increment_2d(a):
    """
    auto [x, y] = grid<2>();
    if (x < a.shape[0] && y < a.shape[1]) a(x, y) += 1;
    """


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "u1", "i8"])
@pytest.mark.parametrize("shape", [(32, 32), (33, 17), (1, 40)])
def test_increment_2d_of_each_shape_and_dtype_matches_numpy(shape, dtype):
    a = np.arange(shape[0] * shape[1]).astype(dtype).reshape(shape)
    expected = a + 1
    increment_2d[(blocks_for(shape[0], 16), blocks_for(shape[1], 16)), (16, 16)](a)
    np.testing.assert_array_equal(a, expected)


def test_increment_2d_of_fortran_arrays_and_windows_matches_numpy():
    a = np.asfortranarray(np.arange(35, dtype="f4").reshape(5, 7))
    expected = a + 1
    increment_2d[(1, 1), (16, 16)](a)
    np.testing.assert_array_equal(a, expected)
    whole = np.zeros((40, 40), "i4")
    increment_2d[(1, 1), (16, 16)](whole[10:20, 5:25:2])
    assert whole.sum() == 100 and whole[10:20, 5:25:2].all()


# ---- matrix product ----------------------------------------------------------------------------------
@cuda.jit("void(float32[:,:], float32[:,:], float32[:,:])")
def matmul(a, b, c):
    """
    auto [row, column] = grid<2>();
    if (row < c.shape[0] && column < c.shape[1]) {
        float t = 0;
        for (int k = 0; k < a.shape[1]; ++k) t += a[row][k] * b[k][column];
        c[row][column] = t;
    }
    """


@cuda.jit(void(float32[:, ::1], float32[:, ::1], float32[:, ::1]))
def matmul_tiled(a, b, c):
    """
    __shared__ float s_a[TILE][TILE], s_b[TILE][TILE];
    auto [x, y] = grid<2>();
    int tx = threadIdx.x, ty = threadIdx.y;
    float t = 0;
    for (int i = 0; i < gridDim.x; ++i) {
        s_a[tx][ty] = x < a.shape[0] && ty + i * TILE < a.shape[1] ? a(x, ty + i * TILE) : 0;
        s_b[tx][ty] = y < b.shape[1] && tx + i * TILE < b.shape[0] ? b(tx + i * TILE, y) : 0;
        __syncthreads();
        for (int j = 0; j < TILE; ++j) t += s_a[tx][j] * s_b[j][ty];
        __syncthreads();
    }
    if (x < c.shape[0] && y < c.shape[1]) c(x, y) = t;
    """


@pytest.mark.parametrize("kernel", [matmul, matmul_tiled], ids=["naive", "tiled"])
@pytest.mark.parametrize("n", [16, 48, 50])
def test_naive_and_tiled_matmul_match_numpy(kernel, n, seeded_rng):
    a, b, c = (
        seeded_rng.random((n, n), "f4"),
        seeded_rng.random((n, n), "f4"),
        np.zeros((n, n), "f4"),
    )
    kernel[(blocks_for(n, TILE), blocks_for(n, TILE)), (TILE, TILE)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_wrong_dimensions_error_is_readable():
    """For an array that is declared 1-D and indexed in 2-D, the message shows the learner's line
    and no generated code."""
    with pytest.raises(numbalite.errors.CompileError) as caught:

        @cuda.jit("void(float32[:], float32[:], float32[:])")
        def add_with_wrong_dimensions(a, b, c):
            """
            auto [i, j] = grid<2>();
            c(i, j) = a(i, j) + b(i, j);
            """

        add_with_wrong_dimensions[1, (8, 8)](*np.zeros((3, 64), "f4"))
    text = str(caught.value)
    assert "test_workloads.py" in text and "error" in text
    line = int(re.search(r"test_workloads\.py[:(](\d+)", text)[1])
    assert line in line_numbers_of("c(i, j) = a(i, j) + b(i, j);", __file__)
    assert len(text.splitlines()) < 60, "a screenful at most"


@cuda.jit
def matmul_reduce(a, b, out):
    """
    __shared__ float s_a[TILE][TILE], s_b[TILE][TILE], s_c[TILE][TILE];
    auto [column, row] = grid<2>();
    int x = threadIdx.x, y = threadIdx.y;
    float t = 0;
    for (int start = 0; start < a.shape[1]; start += TILE) {
        s_a[y][x] = row < a.shape[0] && start + x < a.shape[1] ? a(row, start + x) : 0;
        s_b[y][x] = start + y < b.shape[0] && column < b.shape[1] ? b(start + y, column) : 0;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) t += s_a[y][k] * s_b[k][x];
        __syncthreads();
    }
    s_c[y][x] = t;
    __syncthreads();
    for (int half = TILE / 2; half > 0; half /= 2) {
        if (y < half) s_c[y][x] += s_c[y + half][x];
        __syncthreads();
    }
    if (y == 0 && column < out.size()) atomicAdd(&out[column], s_c[0][x]);
    """


@pytest.mark.parametrize("m, k, n", [(32, 32, 32), (40, 20, 28)])
def test_matmul_with_column_sums_matches_numpy(m, k, n, seeded_rng):
    a, b, out = seeded_rng.random((m, k), "f4"), seeded_rng.random((k, n), "f4"), np.zeros(n, "f4")
    matmul_reduce[(blocks_for(n, TILE), blocks_for(m, TILE)), (TILE, TILE)](a, b, out)
    np.testing.assert_allclose(out, (a @ b).sum(0), rtol=1e-4)


# ---- diffusion ---------------------------------------------------------------------------------------
@cuda.jit
def diffusion(field, laplacian):
    """
    auto [x, y] = grid<2>();
    __shared__ float s[TPB + 2][TPB + 2];
    int tx = threadIdx.x, ty = threadIdx.y;
    if (tx == 0 && x > 0) s[0][ty + 1] = field(x - 1, y);
    if (ty == 0 && y > 0) s[tx + 1][0] = field(x, y - 1);
    if (tx == TPB - 1 && x < field.shape[0] - 1) s[TPB + 1][ty + 1] = field(x + 1, y);
    if (ty == TPB - 1 && y < field.shape[1] - 1) s[tx + 1][TPB + 1] = field(x, y + 1);
    s[tx + 1][ty + 1] = field(x, y);
    float v = 4 * s[tx + 1][ty + 1];
    __syncthreads();
    if (x > 0) v -= s[tx][ty + 1];
    if (y > 0) v -= s[tx + 1][ty];
    if (x < field.shape[0] - 1) v -= s[tx + 2][ty + 1];
    if (y < field.shape[1] - 1) v -= s[tx + 1][ty + 2];
    laplacian(x, y) = v;
    """


@cuda.jit
def subtract_laplacian(field, laplacian):
    """
    auto [x, y] = grid<2>();
    field(x, y) -= laplacian(x, y) * float(COEFFICIENT);
    """


def test_diffusion_steps_match_numpy(seeded_rng):
    n = 32
    start = seeded_rng.random((n, n), "f4")
    field, laplacian = cuda.to_device(start), cuda.device_array((n, n), "f4")
    expected = start
    for _ in range(10):
        diffusion[(n // TPB, n // TPB), (TPB, TPB)](field, laplacian)
        subtract_laplacian[(n // TPB, n // TPB), (TPB, TPB)](field, laplacian)
        p = np.pad(expected, 1)
        lap = 4 * expected - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]
        expected = expected - np.float32(COEFFICIENT) * lap
    np.testing.assert_allclose(laplacian.copy_to_host(), lap, atol=1e-5)
    np.testing.assert_allclose(field.copy_to_host(), expected, atol=1e-5)


# ---- atomics -----------------------------------------------------------------------------------------
@cuda.jit
def histogram(values, low, width, counts):
    """
    for (int i = grid<1>(); i < values.size(); i += gridsize<1>()) {
        int bin = int((values[i] - low) / width);
        if (bin >= 0 && bin < counts.size()) atomicAdd(&counts[bin], 1);
    }
    """


def test_histogram_kernel_matches_bincount(seeded_rng):
    values = seeded_rng.random(5000, "f4")
    counts = np.zeros(10, "i4")
    histogram[4, 64](values, np.float32(0.0), np.float32(0.125), counts)
    expected = np.bincount((values / np.float32(0.125)).astype(int), minlength=10)
    np.testing.assert_array_equal(counts, expected)


# Documented uses of atomic.add, .max, .min and .compare_and_swap on array elements.
ATOMICS = {
    "add": ("atomicAdd(&out[0], x[i]);", lambda x: x.sum()),
    "max": ("atomicMax(&out[0], x[i]);", lambda x: max(0, x.max())),
    "min": ("atomicMin(&out[0], x[i]);", lambda x: min(0, x.min())),
    "sub": ("atomicSub(&out[0], x[i]);", lambda x: -x.sum()),
    "xor": ("atomicXor(&out[0], x[i]);", np.bitwise_xor.reduce),
    "cas": (
        """
        int seen = out[0], before;                      // a maximum, made by hand
        do { before = seen; seen = atomicCAS(&out[0], before, max(before, x[i])); } while (seen != before);
        """,
        lambda x: max(0, x.max()),
    ),
}


@pytest.mark.parametrize("which", ATOMICS)
def test_atomics_on_elements_match_numpy(which, seeded_rng):
    statement, oracle = ATOMICS[which]
    kernel = cuda.jit(
        "__global__ void k(array<const int> x, array<int> out) {"
        f" int i = grid<1>(); if (i < x.size()) {{ {statement} }} }}"
    )
    x = seeded_rng.integers(-1000, 1000, 500, dtype="i4")
    out = np.zeros(1, "i4")
    kernel[5, 128](x, out)
    assert out[0] == oracle(x)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_atomic_max_and_min_of_floats_match_numpy(dtype, seeded_rng):
    """Functions that CUDA lacks: maximum and minimum of floating-point numbers, from namespace
    numbalite."""

    @cuda.jit
    def atomic_extremes(x, out):
        """
        int i = grid<1>();
        if (i < x.size()) { atomic_max(&out[0], x[i]); atomic_min(&out[1], x[i]); }
        """

    x = seeded_rng.standard_normal(300).astype(dtype)
    out = np.zeros(2, dtype)
    atomic_extremes[3, 128](x, out)
    assert out.tolist() == [x.max(), x.min()]


# ---- grid-stride loops -------------------------------------------------------------------------------
@pytest.mark.parametrize("grid, block", [(1, 1), (1, 32), (3, 17), (64, 64)])
def test_grid_stride_loop_covers_the_array(grid, block):
    @cuda.jit("void(int32[:])")
    def square(x):
        """
        int start = grid<1>(), step = gridsize<1>();
        for (int i = start; i < x.size(); i += step) x[i] *= x[i];
        """

    x = np.arange(500, dtype="i4")
    square[grid, block](x)
    np.testing.assert_array_equal(x, np.arange(500) ** 2)


# ---- random numbers ----------------------------------------------------------------------------------
@cuda.jit
def count_inside(states, samples, inside):
    """
    int thread = grid<1>();
    int hits = 0;
    for (int i = 0; i < samples; ++i) {
        float x = xoroshiro128p_uniform_float32(states, thread);
        float y = xoroshiro128p_uniform_float32(states, thread);
        hits += x * x + y * y <= 1.0f;
    }
    inside[thread] = hits;
    """


def test_monte_carlo_estimates_pi():
    from numbalite.cuda.random import create_xoroshiro128p_states

    threads, each = 256, 400
    states = create_xoroshiro128p_states(threads, seed=1)
    inside = cuda.device_array(threads, np.int32)
    count_inside[4, 64](states, each, inside)
    pi = 4 * inside.copy_to_host().sum() / (threads * each)
    assert abs(pi - math.pi) < 0.03
    # The states have advanced, so a second run draws other numbers.
    first = inside.copy_to_host()
    count_inside[4, 64](states, each, inside)
    assert (inside.copy_to_host() != first).any()


# ---- where the source stands --------------------------------------------------------------------------
def test_kernels_capture_constants_and_device_functions():
    scale, offset = 3, np.float32(0.5)
    table = np.array([10, 20, 30], dtype=np.int32)

    @cuda.jit(device=True)
    def scale_and_shift(x):
        "return x * scale + offset;"

    @cuda.jit
    def map_table(out):
        "int i = grid<1>(); if (i < out.size()) out[i] = scale_and_shift(table[i]);"

    out = np.zeros(3, "f4")
    map_table[1, 32](out)
    np.testing.assert_array_equal(out, table * 3 + 0.5)
    scale = 100  # a compiled kernel keeps the values that it was compiled with
    map_table[1, 32](out)
    np.testing.assert_array_equal(out, table * 3 + 0.5)


def test_saxpy_source_with_a_template_matches_numpy():
    saxpy = cuda.jit(
        source=r"""
        template <typename T> __global__ void saxpy(T a, const T* x, T* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = a * x[i] + y[i];
        }""",
        name="saxpy<float>",
    )
    x, y = np.arange(100, dtype="f4"), np.ones(100, "f4")
    saxpy[4, 32](2.0, x, y, 100)
    np.testing.assert_array_equal(y, 2 * x + 1)


def test_module_kernel_uses_its_constant_memory():
    module = cuda.module(
        r"""
        __constant__ float weights[3];
        extern "C" __global__ void smooth(const float* x, float* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i > 0 && i < n - 1)
                y[i] = weights[0] * x[i - 1] + weights[1] * x[i] + weights[2] * x[i + 1];
        }"""
    )
    weights = np.array([0.25, 0.5, 0.25], "f4")
    module.get_global("weights")[:] = weights
    x, y = np.arange(64, dtype="f4") ** 2, np.zeros(64, "f4")
    module.smooth[1, 64](x, y, 64)
    np.testing.assert_allclose(y[1:-1], np.convolve(x, weights[::-1], "valid"))


def test_signature_objects_equal_signature_text():
    first = cuda.jit("void(int32[:], float32)")(lambda_like)
    second = cuda.jit(void(int32[:], float32))(lambda_like)
    out = np.zeros(4, "i4")
    first[1, 4](out, 1.5)
    second[1, 4](out, 2.5)
    assert out.tolist() == [3] * 4


def lambda_like(out, x):
    "out[grid<1>()] += int(x);"


# ---- streams and memory --------------------------------------------------------------------------------
def test_stream_operations_run_in_order(seeded_rng):
    a = seeded_rng.random(1000, "f4")
    stream = cuda.stream()
    d_a = cuda.to_device(a, stream=stream)
    d_out = cuda.device_array_like(d_a, stream=stream)
    for _ in range(5):
        vadd[8, 128, stream](d_a, d_a, d_out)
        d_a, d_out = d_out, d_a
    result = d_a.copy_to_host(stream=stream)
    stream.synchronize()
    np.testing.assert_allclose(result, a * 32, rtol=1e-6)


def test_device_has_name_and_capability():
    device = cuda.get_current_device()
    assert device.name
    major, minor = device.compute_capability
    assert major >= 5 and minor >= 0
    assert device.MULTIPROCESSOR_COUNT >= 1
    assert device.WARP_SIZE == 32


def test_int32_is_usable_as_a_type():
    assert int32[:].ndim == 1
