"""Measures the cost of stoppable=True on a GPU: the time and the registers of kernels with and
without the test of the stop flag.

    python tests/bench/stopping.py [--write docs/stopping.md]

Each kernel is launched alternately without and with the tests, 30 times each; a time is the minimum
of the 30. The compile times are those of the first call, without the disk cache.
"""

import argparse
import pathlib
import re
import time

import numpy as np

from numbalite import cuda
from numbalite.compilers import stoppable

BEGIN, END = "<!-- table of tests/bench/stopping.py -->", "<!-- end of the table -->"
N = 2048

SOURCE = """
__global__ void saxpy(float a, const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] += a * x[i];
}
__global__ void stencil(const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n - 4; i += blockDim.x * gridDim.x) {
        float s = 0;
        for (int k = 0; k < 5; k++) s += x[i + k];
        y[i] = s / 5;
    }
}
__global__ void sums(const float *x, float *out, int n) {
    __shared__ float s[256];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += x[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
__global__ void histogram(const float *x, int *bins, int n) {
    __shared__ int s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&s[int(x[i] * 255) & 255], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
__global__ void rows(const float *x, float *out, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++) s += x[k * n + row];
    out[row] = s;
}
__global__ void tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float s[16][16], t[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float v = 0;
    for (int k = 0; k < n; k += 16) {
        s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int j = 0; j < 16; j++) v += s[threadIdx.y][j] * t[j][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = v;
}
__global__ void naive(const float *a, const float *b, float *c, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float v = 0;
    for (int k = 0; k < n; k++) v += a[y * n + k] * b[k * n + x];
    c[y * n + x] = v;
}
__global__ void bodies(const float4 *p, float4 *f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = p[i], s = {0, 0, 0, 0};
    for (int k = 0; k < n; k++) {
        float x = p[k].x - me.x, y = p[k].y - me.y, z = p[k].z - me.z;
        float r = rsqrtf(x * x + y * y + z * z + 1e-6f), w = p[k].w * r * r * r;
        s.x += x * w, s.y += y * w, s.z += z * w;
    }
    f[i] = s;
}
__global__ void mandelbrot(int *out, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, k = 0;
    float a = -2 + 3.f * x / n, b = -1.5f + 3.f * y / n, u = 0, v = 0;
    while (k < 1000 && u * u + v * v < 4) {
        float t = u * u - v * v + a;
        v = 2 * u * v + b;
        u = t;
        k++;
    }
    out[y * n + x] = k;
}
__global__ void roots(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = i + 1, x = a, y = 1;
    while (fabsf(x - y) > 1e-3f * x) {
        x = (x + y) / 2;
        y = a / x;
    }
    out[i] = x;
}
__global__ void gcds(int *out, int n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, a = 1024 + i % 4096, b = 999983;
    while (a != b) {
        if (a > b) a -= b;
        else b -= a;
        if (a == 0 || b == 0) break;
    }
    out[i] = a + b;
}
__global__ void sparse(const int *begins, const float *x, float *out, int n) {
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < n; row += blockDim.x * gridDim.x) {
        float s = 0;
        for (int k = begins[row]; k < begins[row + 1]; k++) s += x[k];
        out[row] = s;
    }
}
__global__ void collatz(int *out, int n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i + 1;
    int k = 0;
    while (x != 1 && k < 1000) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        k++;
    }
    out[i] = k;
}
"""

BOUND = {
    "saxpy": "memory", "stencil": "memory", "sums": "memory", "histogram": "memory", "rows": "memory",
    "tiled": "shared memory", "naive": "L1 cache", "bodies": "arithmetic", "mandelbrot": "arithmetic",
    "collatz": "arithmetic", "roots": "arithmetic", "gcds": "arithmetic", "sparse": "memory",
}  # fmt: skip


def make_launches(module):
    """Returns a dict from names to functions that launch a kernel."""
    size = 1 << 24
    x, y = (cuda.to_device(np.random.default_rng(1).random(size, np.float32)) for _ in range(2))
    a, b, c = (cuda.to_device(np.ones(N * N, np.float32)) for _ in range(3))
    whole = cuda.to_device(np.zeros(N * N, np.int32))
    begins = cuda.to_device(np.arange(0, size + 1, 8, dtype=np.int32))
    tiles = ((N // 16, N // 16), (16, 16))
    points = cuda.to_device(np.random.default_rng(2).random((16384, 4), np.float32))
    forces = cuda.device_array((16384, 4), np.float32)
    return {
        "saxpy": lambda: module.saxpy[1056, 256](2.0, x, y, size),
        "stencil": lambda: module.stencil[1056, 256](x, y, size),
        "sums": lambda: module.sums[1056, 256](x, y, size),
        "histogram": lambda: module.histogram[1056, 256](x, whole, size),
        "rows": lambda: module.rows[N // 128, 128](a, c, N),
        "tiled": lambda: module.tiled[tiles](a, b, c, N),
        "naive": lambda: module.naive[tiles](a, b, c, N),
        "bodies": lambda: module.function_bodies[128, 128](points, forces, 16384),
        "mandelbrot": lambda: module.mandelbrot[tiles](whole, N),
        "roots": lambda: module.roots[N * N // 256, 256](c, N * N),
        "gcds": lambda: module.gcds[N, 256](whole, N * 256),
        "sparse": lambda: module.sparse[1056, 256](begins, x, y, size // 8),
        "collatz": lambda: module.collatz[N * N // 256, 256](whole, N * N),
    }


def time_launch(launch):
    begin, end = cuda.event(), cuda.event()
    begin.record()
    launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def register_count(module, name):
    found = getattr(module, name).get_regs_per_thread()
    return max(found.values()) if isinstance(found, dict) else found


def compile_seconds(option):
    begin = time.perf_counter()
    module = cuda.module(SOURCE + f"// {begin}\n", stoppable=option)
    module.saxpy[1, 32](
        1.0, cuda.to_device(np.ones(32, np.float32)), cuda.to_device(np.ones(32, np.float32)), 32
    )
    return time.perf_counter() - begin, module


def format_table():
    compile_seconds(False), compile_seconds(True)
    plain_time, plain = min((compile_seconds(False) for _ in range(3)), key=lambda pair: pair[0])
    tested_time, tested = min((compile_seconds(True) for _ in range(3)), key=lambda pair: pair[0])
    modules = [make_launches(plain), make_launches(tested)]
    rows = [
        "| kernel | bound by | time | stoppable | ratio | registers |",
        "|---|---|---|---|---|---|",
    ]
    for name, bound in BOUND.items():
        best = [float("inf")] * 2
        for i in range(60):
            best[i % 2] = min(best[i % 2], time_launch(modules[i % 2][name]))
        counts = f"{register_count(plain, name)}, {register_count(tested, name)}"
        rows.append(
            f"| `{name}` | {bound} | {best[0]:.3f} ms | {best[1]:.3f} ms | {best[1] / best[0]:.2f} | {counts} |"
        )
    print(f"compiled in {plain_time * 1e3:.0f} ms, stoppable in {tested_time * 1e3:.0f} ms")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=pathlib.Path, help="replace the table in this page")
    given = parser.parse_args()
    text = format_table()
    print(cuda.get_current_device().name, f"budget {stoppable.BUDGET}")
    print(text)
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        page = re.sub(f"{BEGIN}.*?{END}", f"{BEGIN}\n\n{text}\n\n{END}", page, flags=re.DOTALL)
        given.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
