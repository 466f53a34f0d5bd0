"""Runs the classic first kernels and compares their results with NumPy: `python -m numbalite demo`.

Read this file as a first lesson. Each kernel is a Python function whose body is one string of CUDA C++: the
Python function defines the name and the parameters, the signature defines the types, and the string is the
code of one thread. Below each kernel, a function of the same name prepares the data and NumPy's result, and
launches the kernel. Ufuncs, a reduction and a library follow, which need no launch. On a GPU, the sizes are
those of the courses that contain these programs; on the simulator, the sizes are small.
"""

import sys
import time
from typing import NamedTuple

import numpy as np

from numbalite import cuda, guvectorize, vectorize
from numbalite.cuda.libs import cufft
from numbalite.errors import CudaSupportError


class DemoWork(NamedTuple):
    """One row of the table."""

    title: str
    size: str
    launch: object  # runs the kernels and returns without waiting
    result: object  # the result, as a host array
    expected: object  # returns NumPy's result; may be called several times
    rtol: float = 1e-5
    steps: int = 1  # launches per call of `launch` (times are per step)
    numpy_steps: int = 1


def block_count(n, threads):
    """Returns the number of blocks of `threads` threads for n elements."""
    return -(-n // threads)


# ---- one thread for one element ----------------------------------------------------------------------
@cuda.jit("void(const float32[:], const float32[:], float32[:])")
def vadd(a, b, out):
    """
    int i = grid<1>();                          // this thread's index in the grid
    if (i < out.size()) out[i] = a[i] + b[i];   // the last block may reach beyond the end
    """


def vadd_work(big):
    n, threads = 100, 32
    a, b = np.arange(n, dtype=np.float32), np.full(n, 2, np.float32)
    d_a, d_b, d_out = cuda.to_device(a), cuda.to_device(b), cuda.device_array(n, np.float32)
    return DemoWork(
        "vadd",
        f"{n} float32",
        launch=lambda: vadd[block_count(n, threads), threads](d_a, d_b, d_out),
        result=d_out.copy_to_host,
        expected=lambda: a + b,
    )


# ---- a device function, called by a kernel -----------------------------------------------------------
@cuda.jit(device=True)
def axpy(a, x, y):
    "return a * x + y;"  # without a signature, the types are those of each call


@cuda.jit("void(float32, const float32[:], const float32[:], float32[:])")
def saxpy(a, x, y, out):
    """
    // This kernel uses a grid-stride loop: any number of blocks covers any number of elements.
    for (int i = grid<1>(); i < out.size(); i += gridsize<1>())
        out[i] = axpy(a, x[i], y[i]);
    """


def saxpy_work(big):
    n = 10_000_000 if big else 1_000_000
    rng = np.random.default_rng(1)
    x, y = rng.random(n, np.float32), rng.random(n, np.float32)
    d_x, d_y, d_out = cuda.to_device(x), cuda.to_device(y), cuda.device_array(n, np.float32)
    return DemoWork(
        "saxpy",
        f"{n:,} float32",
        launch=lambda: saxpy[1024, 256](2.0, d_x, d_y, d_out),
        result=d_out.copy_to_host,
        expected=lambda: np.float32(2) * x + y,
    )


# ---- two dimensions; without a signature, the types are those of the first call
# -------------------------------
@cuda.jit
def increment_2d(a):
    """
    auto [x, y] = grid<2>();
    if (x < a.shape[0] && y < a.shape[1]) a(x, y) += 1;
    """


def increment_2d_work(big):
    shape = (4000, 3001) if big else (500, 301)
    a = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    d_a = cuda.to_device(a)
    grid = tuple(block_count(n, 16) for n in shape)
    return DemoWork(
        "increment_2d",
        f"{shape[0]} x {shape[1]} int32",
        launch=lambda: increment_2d[grid, (16, 16)](d_a),
        result=d_a.copy_to_host,
        expected=lambda: a + 1,
    )


# ---- matrix product: first the simple version, then with shared memory -------------------------------
TILE = 32  # a Python number whose name is used in the source is a constant of the kernel


@cuda.jit("void(const float32[:, ::1], const float32[:, ::1], float32[:, ::1])")
def matmul_naive(a, b, c):
    """
    auto [column, row] = grid<2>();   // x runs along a row, so that neighbours read neighbours
    if (row >= c.shape[0] || column >= c.shape[1]) return;
    float sum = 0;
    for (int k = 0; k < a.shape[1]; ++k) sum += a(row, k) * b(k, column);
    c(row, column) = sum;
    """


@cuda.jit("void(const float32[:, ::1], const float32[:, ::1], float32[:, ::1])")
def matmul_tiled(a, b, c):
    """
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    auto [column, row] = grid<2>();
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0;
    for (int start = 0; start < a.shape[1]; start += TILE) {
        bool a_inside = row < a.shape[0] && start + x < a.shape[1];
        bool b_inside = start + y < b.shape[0] && column < b.shape[1];
        a_tile[y][x] = a_inside ? a(row, start + x) : 0;
        b_tile[y][x] = b_inside ? b(start + y, column) : 0;
        __syncthreads();                                    // the tiles are complete
        for (int k = 0; k < TILE; ++k) sum += a_tile[y][k] * b_tile[k][x];
        __syncthreads();                                    // and no longer needed
    }
    if (row < c.shape[0] && column < c.shape[1]) c(row, column) = sum;
    """


def matmul_work(big, kernel, title):
    n = 150 * TILE if big else 3 * TILE
    rng = np.random.default_rng(2)
    a, b = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    d_a, d_b, d_c = cuda.to_device(a), cuda.to_device(b), cuda.device_array((n, n), np.float32)
    grid = (block_count(n, TILE), block_count(n, TILE))
    return DemoWork(
        title,
        f"{n} x {n} float32",
        launch=lambda: kernel[grid, (TILE, TILE)](d_a, d_b, d_c),
        result=d_c.copy_to_host,
        expected=lambda: a @ b,
        rtol=1e-4,
    )


def matmul_naive_work(big):
    return matmul_work(big, matmul_naive, "matmul, naive")


def matmul_tiled_work(big):
    return matmul_work(big, matmul_tiled, "matmul, tiled")


# ---- matrix product whose rows are summed in the same kernel
# ----------------------------------------------
SIDE = 16


@cuda.jit("void(const float32[:, ::1], const float32[:, ::1], float32[::1])")
def matmul_reduce(a, b, out):
    """
    __shared__ float a_tile[SIDE][SIDE], b_tile[SIDE][SIDE], c_tile[SIDE][SIDE];
    auto [column, row] = grid<2>();
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0;
    for (int start = 0; start < a.shape[1]; start += SIDE) {
        bool a_inside = row < a.shape[0] && start + x < a.shape[1];
        bool b_inside = start + y < b.shape[0] && column < b.shape[1];
        a_tile[y][x] = a_inside ? a(row, start + x) : 0;
        b_tile[y][x] = b_inside ? b(start + y, column) : 0;
        __syncthreads();
        for (int k = 0; k < SIDE; ++k) sum += a_tile[y][k] * b_tile[k][x];
        __syncthreads();
    }
    c_tile[y][x] = sum;
    for (int half = SIDE / 2; half > 0; half /= 2) {        // rows y and y + half
        __syncthreads();
        if (y < half) c_tile[y][x] += c_tile[y + half][x];
    }
    if (y == 0 && column < out.size()) atomicAdd(&out[column], c_tile[0][x]);
    """


def matmul_reduce_work(big):
    m, k, n = (10_000, 5_000, 7_000) if big else (50, 70, 90)
    rng = np.random.default_rng(3)
    a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
    d_a, d_b, d_out = cuda.to_device(a), cuda.to_device(b), cuda.device_array(n, np.float32)
    grid = (block_count(n, SIDE), block_count(m, SIDE))

    def launch():
        d_out.fill(0)
        matmul_reduce[grid, (SIDE, SIDE)](d_a, d_b, d_out)

    return DemoWork(
        "matmul_reduce",
        f"{m} x {k} by {k} x {n} float32",
        launch=launch,
        result=d_out.copy_to_host,
        expected=lambda: (a @ b).sum(axis=0),
        rtol=1e-3,
    )


# ---- a complete translation unit: templates, structs, several kernels, as in a .cu file ----------------
histogram = cuda.jit(
    source=r"""
template <int BINS>
__global__ void histogram(const float* values, int n, float low, float high, unsigned* counts) {
    __shared__ unsigned mine[BINS];                         // a histogram of this block's own
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = grid<1>(); i < n; i += gridsize<1>()) {
        int bin = int((values[i] - low) / (high - low) * BINS);
        if (bin >= 0 && bin < BINS) atomicAdd(&mine[bin], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) atomicAdd(&counts[b], mine[b]);
}""",
    name="histogram<64>",
)


def histogram_work(big):
    n = 100_000_000 if big else 200_000
    values = np.random.default_rng(4).random(n, np.float32)
    d_values, d_counts = cuda.to_device(values), cuda.device_array(64, np.uint32)

    def launch():
        d_counts.fill(0)
        histogram[1056 if big else 16, 256](d_values, n, 0.0, 1.0, d_counts)

    return DemoWork(
        "histogram",
        f"{n:,} float32, 64 bins",
        launch=launch,
        result=d_counts.copy_to_host,
        expected=lambda: np.histogram(values, bins=64, range=(0, 1))[0],
        rtol=0,
    )


# ---- a stencil: each thread needs its neighbours ----------------------------------------------------
TPB = 8  # threads per block, in x and in y
COEFFICIENT = 0.25


@cuda.jit("void(const float32[:, :], float32[:, :], float32[:, :])")
def diffusion(field, laplacian, updated):
    """
    __shared__ float tile[TPB + 2][TPB + 2];                // this block's cells and a rim of one
    auto [x, y] = grid<2>();
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int nx = field.shape[0], ny = field.shape[1];
    auto at = [&](int i, int j) { return 0 <= i && i < nx && 0 <= j && j < ny ? field(i, j) : 0.0f; };

    tile[tx][ty] = at(x, y);
    if (tx == 1)   tile[0][ty]       = at(x - 1, y);
    if (tx == TPB) tile[TPB + 1][ty] = at(x + 1, y);
    if (ty == 1)   tile[tx][0]       = at(x, y - 1);
    if (ty == TPB) tile[tx][TPB + 1] = at(x, y + 1);
    __syncthreads();

    if (x >= nx || y >= ny) return;
    float value = 4 * tile[tx][ty] - tile[tx - 1][ty] - tile[tx + 1][ty] - tile[tx][ty - 1] - tile[tx][ty + 1];
    laplacian(x, y) = value;
    // Into another array: a neighbouring block may still have to read this cell's old value.
    updated(x, y) = tile[tx][ty] - float(COEFFICIENT) * value;
    """


def diffusion_work(big):
    n, steps, compared = (2000, 10_000, 20) if big else (96, 20, 20)
    start = np.random.default_rng(5).random((n, n), np.float32)
    d_laplacian = cuda.device_array((n, n), np.float32)
    step = diffusion[(block_count(n, TPB), block_count(n, TPB)), (TPB, TPB)]

    def run_demo(count):
        old, new = cuda.to_device(start), cuda.device_array((n, n), np.float32)
        for _ in range(count):
            step(old, d_laplacian, new)
            old, new = new, old
        return old

    def reference():
        field = start
        for _ in range(compared):
            p = np.pad(field, 1)
            laplacian = 4 * field - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]
            field = field - np.float32(COEFFICIENT) * laplacian
        return field

    return DemoWork(
        "diffusion",
        f"{n} x {n} float32, a step",
        launch=lambda: run_demo(steps),
        result=lambda: run_demo(compared).copy_to_host(),
        expected=reference,
        rtol=1e-4,
        steps=steps,
        numpy_steps=compared,
    )


# ---- ufuncs: the string computes one element; numbalite handles arrays, broadcasting and copies
# -----
@vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def sincos(x, y):
    "return sin(x) * cos(y);"


def sincos_work(big):
    x = np.linspace(0, np.pi, 1_000_000 if big else 100_000)
    return DemoWork(
        "sincos",
        f"{x.size:,} float64, host arrays",
        launch=lambda: sincos(x, x),
        result=lambda: sincos(x, x),
        expected=lambda: np.sin(x) * np.cos(x),
    )


@vectorize(["float32(float32, float32, float32, float32)"], target="cuda")
def powers(p, q, r, s):
    "sqrt(p * p + q * q * q + r * r * r * r + s * s * s * s * s)"


def powers_work(big):
    n = 5_000_000 if big else 200_000
    p, q, r, s = np.random.default_rng(6).random((4, n), np.float32)
    return DemoWork(
        "powers",
        f"4 x {n:,} float32, host arrays",
        launch=lambda: powers(p, q, r, s),
        result=lambda: powers(p, q, r, s),
        expected=lambda: np.sqrt(p**2 + q**3 + r**4 + s**5),
    )


# ---- a generalized ufunc: the string computes one small array --------------------------
@guvectorize(
    ["void(float32[:, :], float32[:, :], float32[:, :])"], "(m,n),(n,p)->(m,p)", target="cuda"
)
def batch_matmul(a, b, c):
    """
    for (int i = 0; i < c.shape[0]; ++i)
        for (int j = 0; j < c.shape[1]; ++j) {
            float t = 0;
            for (int k = 0; k < a.shape[1]; ++k) t += a(i, k) * b(k, j);
            c(i, j) = t;
        }
    """


def batch_matmul_work(big):
    n = 4_000_000 if big else 50_000
    a, b = np.random.default_rng(7).random((2, n, 2, 2), np.float32)
    d_a, d_b, d_c = cuda.to_device(a), cuda.to_device(b), cuda.device_array(a.shape, a.dtype)
    return DemoWork(
        "batch_matmul",
        f"{n:,} x 2 x 2 float32",
        launch=lambda: batch_matmul(d_a, d_b, out=d_c),
        result=d_c.copy_to_host,
        expected=lambda: a @ b,
    )


# ---- a reduction: any associative expression -------------------------------------------------------
total = cuda.reduce("a + b")


def total_work(big):
    n = 100_000_000 if big else 1_000_000
    x = np.random.default_rng(8).random(n, np.float32)
    d_x, d_sum = cuda.to_device(x), cuda.device_array(1, np.float32)
    return DemoWork(
        "sum",
        f"{n:,} float32",
        launch=lambda: total(d_x, res=d_sum),
        result=d_sum.copy_to_host,
        expected=lambda: x.sum(keepdims=True),
    )


# ---- a library: convolution by cuFFT, in place ------------------------------------------------------
@vectorize(["complex64(complex64, complex64)"], target="cuda")
def product(x, y):
    "return x * y;"


def convolution_work(big):
    image_shape, filter_shape = ((768, 1024) if big else (96, 128)), (5, 5)
    rng = np.random.default_rng(9)
    image = rng.random(image_shape, np.float32).astype(np.complex64)
    weights = rng.random(filter_shape, np.float32) / 25
    padded = np.zeros(image_shape, np.complex64)  # the filter's centre is moved to the origin
    padded[:5, :5] = weights
    padded = np.roll(padded, (-2, -2), (0, 1))
    d_image, d_filter = cuda.to_device(image), cuda.to_device(padded)
    d_result = cuda.device_array_like(d_image)
    cufft.fft_inplace(d_filter)

    def launch():
        d_result.copy_to_device(d_image)
        cufft.fft_inplace(d_result)
        product(d_result, d_filter, out=d_result)
        cufft.ifft_inplace(d_result)  # not scaled

    def expected():
        near = [np.roll(image, (y - 2, x - 2), (0, 1)) for y in range(5) for x in range(5)]
        return sum(part * weight for part, weight in zip(near, weights.ravel(), strict=True))

    return DemoWork(
        "convolution",
        f"{image_shape[0]} x {image_shape[1]} complex64, 5 x 5",
        launch=launch,
        result=lambda: d_result.copy_to_host() / image.size,
        expected=expected,
        rtol=1e-4,
    )


WORKS = [
    vadd_work,
    saxpy_work,
    increment_2d_work,
    matmul_naive_work,
    matmul_tiled_work,
    matmul_reduce_work,
    histogram_work,
    diffusion_work,
    sincos_work,
    powers_work,
    batch_matmul_work,
    total_work,
    convolution_work,
]


# ---- the table ---------------------------------------------------------------------------------------
def shortest_time(function, repeat=3):
    """Returns the shortest time of a few runs, each measured until the device is done."""
    best = float("inf")
    for _ in range(repeat):
        cuda.synchronize()
        start = time.perf_counter()
        function()
        cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def shortest_host_time(function, repeat=30, enough=0.5):
    """Returns the result of a host function, and the shortest time of up to 30 runs within half a second. The
    first runs also allocate memory and start the threads of NumPy's libraries. A single run is enough if it
    takes long."""
    best, spent = float("inf"), 0.0
    while repeat and spent < enough:
        start = time.perf_counter()
        result = function()
        took = time.perf_counter() - start
        best, spent, repeat = min(best, took), spent + took, repeat - 1
    return result, best


def largest_error(got, want):
    """Returns the largest difference as a fraction of the largest value."""
    got, want = np.asarray(got, np.complex128), np.asarray(want, np.complex128)
    return float(np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-30))


def duration(value):
    for unit, scale in (("s ", 1), ("ms", 1e3)):
        if value * scale >= 1:
            return f"{value * scale:8.2f} {unit}"
    return f"{value * 1e6:8.2f} us"


def run_demo(make, big):
    """Runs, checks and times one kernel; returns its table row and whether its result was correct."""
    work = make(big)
    if work.numpy_steps == 1:
        work.launch()  # the first launch loads the kernel; diffusion's result() is a separate run
    want, numpy_time = shortest_host_time(work.expected)
    error = largest_error(work.result(), want)
    right = error <= work.rtol
    device_time = shortest_time(work.launch) / work.steps
    verdict = "ok" if right else f"WRONG: off by {error:.2g}, allowed {work.rtol:.2g}"
    row = f"{work.title:<15} {work.size:<38} {duration(device_time)} {duration(numpy_time / work.numpy_steps)}  {verdict}"
    return row, right


def main(argv=()):
    """Prints the table. Returns 0 if every kernel agreed with NumPy, otherwise 1."""
    if argv:
        print("usage: numbalite demo", file=sys.stderr)
        return 2
    device = cuda.get_current_device()
    simulated = cuda.is_simulated()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    where = "simulated on the CPU, small sizes" if simulated else "a GPU, full sizes"
    print(f"Running on {name} ({where}); NumPy {np.__version__} for comparison.\n")
    print(f"{'kernel':<15} {'size':<38} {'numbalite':>11} {'NumPy':>11}")
    wrong = missing = 0
    for make in WORKS:
        try:
            row, right = run_demo(make, not simulated)
        except CudaSupportError as error:  # a missing CUDA library
            row, right = f"{make.__name__[:-5]:<15} left out: {error}", True
            missing += 1
        except Exception as error:  # one failed kernel must not stop the table
            row, right = f"{make.__name__[:-5]:<15} FAILED: {type(error).__name__}: {error}", False
        print(row, flush=True)
        wrong += not right
    print(f"\n{len(WORKS) - wrong - missing} of {len(WORKS)} agree with NumPy.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
