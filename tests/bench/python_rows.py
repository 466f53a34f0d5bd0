"""Measures the rows of kernels with Python bodies (python_kernels.py): their time on the device, compared with that of
the same kernel in CUDA C++, written by hand, and with that of numba's kernel."""

import functools

import python_kernels
from measure import SMALL, device_calls, median_in_turn, register_row

# The kernels of python_kernels.py in CUDA C++, one string for each.
MATMUL = """
    __shared__ float sa[16][16], sb[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float total = 0;
    for (int i = 0; i < gridDim.x; ++i) {
        sa[ty][tx] = 0;
        sb[ty][tx] = 0;
        if (y < a.shape[0] && tx + i * 16 < a.shape[1]) sa[ty][tx] = a(y, tx + i * 16);
        if (x < b.shape[1] && ty + i * 16 < b.shape[0]) sb[ty][tx] = b(ty + i * 16, x);
        __syncthreads();
        for (int j = 0; j < 16; ++j) total += sa[ty][j] * sb[j][tx];
        __syncthreads();
    }
    if (y < c.shape[0] && x < c.shape[1]) c(y, x) = total;
"""
HEAT = """
    auto [i, j] = grid<2>();
    if (0 < i && i < u.shape[0] - 1 && 0 < j && j < u.shape[1] - 1)
        v(i, j) = u(i, j) + 0.1f * (u(i + 1, j) + u(i - 1, j) + u(i, j + 1) + u(i, j - 1) - 4 * u(i, j));
"""
HISTOGRAM = """
    float width = (highest - lowest) / counts.size();
    for (int64 i = grid<1>(); i < x.size(); i += gridsize<1>()) {
        int b = (x[i] - lowest) / width;
        if (b >= 0 && b < counts.size()) atomicAdd(&counts[b], 1);
    }
"""
BLOCK_SUMS = """
    __shared__ float s[256];
    int t = threadIdx.x;
    float total = 0;
    for (int64 i = grid<1>(); i < x.size(); i += gridsize<1>()) total += x[i];
    s[t] = total;
    __syncthreads();
    for (int w = blockDim.x / 2; w > 0; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = s[0];
"""
MANDELBROT = """
    int64 height = image.shape[0], width = image.shape[1];
    double size_x = (right - left) / width, size_y = (top - bottom) / height;
    auto [first_x, first_y] = grid<2>();
    for (int x = first_x; x < width; x += gridDim.x * blockDim.x)
        for (int y = first_y; y < height; y += gridDim.y * blockDim.y) {
            complex128 c(left + x * size_x, bottom + y * size_y), z(0, 0);
            int i = 0;
            for (; i < most; ++i) {
                z = z * z + c;
                if (z.real() * z.real() + z.imag() * z.imag() >= 4) break;
            }
            image(y, x) = i;
        }
"""
ATTRACT = """
    int i = grid<1>();
    if (i >= x.size()) return;
    float fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < x.size(); ++j) {
        float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
        float d = dx * dx + dy * dy + dz * dz + 1e-3f, f = m[j] / (d * sqrtf(d));
        fx += f * dx;
        fy += f * dy;
        fz += f * dz;
    }
    ax[i] = fx, ay[i] = fy, az[i] = fz;
"""
ESTIMATE = """
    int i = grid<1>(), inside = 0;
    for (int k = 0; k < tries; ++k) {
        float x = xoroshiro128p_uniform_float32(states, i), y = xoroshiro128p_uniform_float32(states, i);
        inside += x * x + y * y <= 1;
    }
    out[i] = 4.0 * inside / tries;
"""
SAXPY = "for (int64 i = grid<1>(); i < x.size(); i += gridsize<1>()) out[i] = a * x[i] + y[i];"
VADD = "int i = grid<1>(); if (i < c.size()) c[i] = a[i] + b[i];"
STRINGS = {
    "Y1": ("vadd", "array<const float> a, array<const float> b, array<float> c", VADD),
    "Y2": ("saxpy", "float a, array<const float> x, array<const float> y, array<float> out", SAXPY),
    "Y3": ("matmul", "array<const float, 2> a, array<const float, 2> b, array<float, 2> c", MATMUL),
    "Y4": ("heat", "array<const float, 2> u, array<float, 2> v", HEAT),
    "Y5": (
        "histogram",
        "array<const float> x, float lowest, float highest, array<int> counts",
        HISTOGRAM,
    ),
    "Y6": ("block_sums", "array<const float> x, array<float> sums", BLOCK_SUMS),
    "Y7": (
        "mandelbrot",
        "double left, double right, double bottom, double top, array<int, 2> image, int most",
        MANDELBROT,
    ),
    "Y8": (
        "attract",
        ", ".join(f"array<const float> {n}" for n in "xyzm")
        + ", "
        + ", ".join(f"array<float> a{n}" for n in "xyz"),
        ATTRACT,
    ),
    "Y9": ("estimate", "array<xoroshiro128p_state> states, int tries, array<float> out", ESTIMATE),
}


@functools.cache
def works_on_gpu():
    from numbalite import cuda, float32
    from numbalite.cuda import random

    return python_kernels.works_of_kernels(
        cuda, float32, random.xoroshiro128p_uniform_float32, random.create_xoroshiro128p_states, SMALL
    )  # fmt: skip


def string_kernel(key):
    from numbalite import cuda

    name, parameters, body = STRINGS[key]
    return cuda.jit(f"__global__ void {name}({parameters}) {{\n{body}\n}}")


def measure_launches(kernel, work):
    """Returns a measure of the kernel's time on the device, after checking the kernel's result."""
    from numbalite import cuda

    given = python_kernels.arguments_on_device(cuda, work.arguments)
    bound = kernel[work.grid, work.block]
    bound(*given)
    python_kernels.verify_launch(work, given)
    return device_calls(lambda: bound(*given))


def add_row(key, what):
    @register_row(key, f"Python kernel: {what}", "us", "1.02 x C++", gpu=True)
    def measure_python_kernel(floor):
        work = works_on_gpu()[key]
        ours, least = (
            measure_launches(work.kernel, work),
            measure_launches(string_kernel(key), work),
        )
        ours, least = median_in_turn(ours, least, count=5, rounds=9, warm=0.1)
        return ours, least, 1.02 * least


for key, what in {
    "Y1": "vadd f32, 2^26",
    "Y2": "saxpy f32, 2^26, grid stride",
    "Y3": "matmul f32, 2048^2, shared tiles of 16^2",
    "Y4": "heat equation, 2048^2, a step",
    "Y5": "histogram of 2^26 f32, 256 bins, atomics",
    "Y6": "sums of blocks f32, 2^26, shared memory",
    "Y7": "Mandelbrot f64 2048^2, 200 steps",
    "Y8": "forces of 16384 bodies f32",
    "Y9": "Monte Carlo pi, 2^18 threads x 1000",
}.items():
    add_row(key, what)
