"""Kernels of the documentation with Python bodies that numba and numbalite both accept, and their arguments
and expected results. The rows Y1 ... run these kernels; python_rows.py contains the same kernels in
CUDA C++."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class KernelLaunch(NamedTuple):
    """A kernel with its launch."""

    kernel: Any
    grid: Any
    block: Any
    arguments: tuple
    """NumPy arrays, and numbers; a callable makes its own of the module ``cuda``."""
    wrong: Callable
    """wrong(arrays after a launch) raises AssertionError where they are not what they should be."""


def argument_is_near(rtol, at, make):
    """The argument with number ``at`` is the array that make(*arguments) returns."""

    def assert_argument_near(before, after):
        np.testing.assert_allclose(after[at], make(*before), rtol=rtol, atol=rtol)

    return assert_argument_near


@functools.cache
def random_floats(n, seed=3):
    return np.random.default_rng(seed).random(n, dtype=np.float32)


def works_of_kernels(cuda, float32, uniform, make_states, small):
    """{row: KernelLaunch} of the kernels that ``cuda``, numba's or numbalite's, compiles."""

    @cuda.jit
    def vadd(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    @cuda.jit
    def saxpy(a, x, y, out):
        start = cuda.grid(1)
        stride = cuda.gridsize(1)
        for i in range(start, x.shape[0], stride):
            out[i] = a * x[i] + y[i]

    @cuda.jit
    def matmul(a, b, c):
        sa = cuda.shared.array((16, 16), float32)
        sb = cuda.shared.array((16, 16), float32)
        x, y = cuda.grid(2)
        tx = cuda.threadIdx.x
        ty = cuda.threadIdx.y
        total = float32(0.0)
        for i in range(cuda.gridDim.x):
            sa[ty, tx] = 0
            sb[ty, tx] = 0
            if y < a.shape[0] and tx + i * 16 < a.shape[1]:
                sa[ty, tx] = a[y, tx + i * 16]
            if x < b.shape[1] and ty + i * 16 < b.shape[0]:
                sb[ty, tx] = b[ty + i * 16, x]
            cuda.syncthreads()
            for j in range(16):
                total += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total

    @cuda.jit
    def heat_step(u, v):
        i, j = cuda.grid(2)
        if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
            v[i, j] = u[i, j] + float32(0.1) * (
                u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - float32(4) * u[i, j]
            )

    @cuda.jit
    def histogram(x, lowest, highest, counts):
        bins = counts.shape[0]
        width = (highest - lowest) / bins
        start = cuda.grid(1)
        stride = cuda.gridsize(1)
        for i in range(start, x.shape[0], stride):
            b = int((x[i] - lowest) / width)
            if b >= 0 and b < bins:
                cuda.atomic.add(counts, b, 1)

    @cuda.jit
    def block_sums(x, sums):
        s = cuda.shared.array(256, float32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        total = float32(0)
        while i < x.size:
            total += x[i]
            i += cuda.gridsize(1)
        s[t] = total
        cuda.syncthreads()
        w = cuda.blockDim.x // 2
        while w > 0:
            if t < w:
                s[t] += s[t + w]
            cuda.syncthreads()
            w //= 2
        if t == 0:
            sums[cuda.blockIdx.x] = s[0]

    @cuda.jit(device=True)
    def escape_time(x, y, most):
        c = complex(x, y)
        z = 0.0j
        for i in range(most):
            z = z * z + c
            if (z.real * z.real + z.imag * z.imag) >= 4:
                return i
        return most

    @cuda.jit
    def mandelbrot(left, right, bottom, top, image, most):
        height = image.shape[0]
        width = image.shape[1]
        size_x = (right - left) / width
        size_y = (top - bottom) / height
        first_x, first_y = cuda.grid(2)
        step_x = cuda.gridDim.x * cuda.blockDim.x
        step_y = cuda.gridDim.y * cuda.blockDim.y
        for x in range(first_x, width, step_x):
            real = left + x * size_x
            for y in range(first_y, height, step_y):
                image[y, x] = escape_time(real, bottom + y * size_y, most)

    @cuda.jit
    def gravity_kernel(x, y, z, m, ax, ay, az):
        i = cuda.grid(1)
        if i >= x.size:
            return
        fx = float32(0)
        fy = float32(0)
        fz = float32(0)
        for j in range(x.size):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            d = dx * dx + dy * dy + dz * dz + float32(1e-3)
            f = m[j] / (d * math.sqrt(d))
            fx += f * dx
            fy += f * dy
            fz += f * dz
        ax[i] = fx
        ay[i] = fy
        az[i] = fz

    @cuda.jit
    def estimate_pi(states, tries, out):
        i = cuda.grid(1)
        inside = 0
        for _ in range(tries):
            x = uniform(states, i)
            y = uniform(states, i)
            if x**2 + y**2 <= 1.0:
                inside += 1
        out[i] = 4.0 * inside / tries

    n = 1 << (12 if small else 26)
    side = 64 if small else 2048
    many = 1 << (8 if small else 14)
    tries = 10 if small else 1000
    x, y = random_floats(n), random_floats(n, 4)
    bodies = tuple(random_floats(many, seed) for seed in range(4))
    a, b = random_floats((side, side)), random_floats((side, side), 4)
    zeros = np.zeros_like

    states = functools.partial(make_states, 256 * (1 if small else 1024), seed=1)
    blocks = n // 256
    return {
        "Y1": KernelLaunch(vadd, blocks, 256, (x, y, zeros(x)), argument_is_near(1e-6, 2, lambda a, b, c: a + b)),
        "Y2": KernelLaunch(
            saxpy, min(blocks, 2048), 256, (np.float32(2), x, y, zeros(x)),
            argument_is_near(1e-5, 3, lambda a, x, y, out: a * x + y),
        ),
        "Y3": KernelLaunch(
            matmul, (side // 16, side // 16), (16, 16), (a, b, zeros(a)),
            argument_is_near(1e-3, 2, lambda a, b, c: a @ b),
        ),
        "Y4": KernelLaunch(heat_step, (side // 16, side // 16), (16, 16), (a, zeros(a)), argument_is_near(1e-5, 1, expected_heat)),
        "Y5": KernelLaunch(
            histogram, min(blocks, 1024), 256,
            (x, np.float32(0), np.float32(1), np.zeros(256, np.int32)), check_histogram,
        ),
        "Y6": KernelLaunch(
            block_sums, min(blocks, 1024), 256, (x, np.zeros(min(blocks, 1024), np.float32)), assert_sum
        ),
        "Y7": KernelLaunch(
            mandelbrot, (side // 32, side // 8), (32, 8),
            (-2.0, 1.0, -1.0, 1.0, np.zeros((side, side), np.int32), 20 if small else 200),
            assert_escape_times,
        ),
        "Y8": KernelLaunch(gravity_kernel, many // 128, 128, (*bodies, *map(zeros, bodies[:3])), assert_forces),
        "Y9": KernelLaunch(
            estimate_pi, 1 if small else 1024, 256,
            (states, tries, np.zeros(256 * (1 if small else 1024), np.float32)), near_pi,
        ),
    }  # fmt: skip


def expected_heat(u, v):
    v = np.zeros_like(u)
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    v[1:-1, 1:-1] = u[1:-1, 1:-1] + np.float32(0.1) * (around - 4 * u[1:-1, 1:-1])
    return v


def check_histogram(before, after):
    """Every launch adds to the same counts, so the counts are a multiple of the histogram of one
    launch."""
    x, _, _, counts = before
    want = np.bincount((x * 256).astype(int), minlength=256)
    launches = after[3].sum() / want.sum()
    assert launches == int(launches) > 0
    np.testing.assert_array_equal(after[3], launches * want)


def assert_sum(before, after):
    np.testing.assert_allclose(after[1].sum(dtype=float), before[0].sum(dtype=float), rtol=1e-5)


def assert_escape_times(before, after):
    """Compares every 16th point; a few points at the edge may differ by rounding."""
    left, right, bottom, top, image, most = before
    height, width = image.shape
    real = left + np.arange(0, width, 16) * ((right - left) / width)
    imaginary = bottom + np.arange(0, height, 16) * ((top - bottom) / height)
    c = real + 1j * imaginary[:, None]
    z, found = np.zeros_like(c), np.full(c.shape, most)
    inside = np.ones(c.shape, bool)
    for i in range(most):
        z[inside] = z[inside] * z[inside] + c[inside]
        gone = inside & (z.real * z.real + z.imag * z.imag >= 4)
        found[gone] = i
        inside &= ~gone
    assert (found != after[4][::16, ::16]).mean() < 0.002


def assert_forces(before, after):
    """Compares the first component for some of the bodies."""
    x, y, z, m = (v.astype(np.float64) for v in before[:4])
    for i in range(0, len(x), 64):
        dx, dy, dz = x - x[i], y - y[i], z - z[i]
        d = dx * dx + dy * dy + dz * dz + 1e-3
        want = m / (d * np.sqrt(d)) * dx
        np.testing.assert_allclose(after[4][i], want.sum(), atol=1e-5 * abs(want).sum())


def near_pi(before, after):
    assert abs(after[-1].mean() - np.pi) < 2 / np.sqrt(after[-1].size * before[1])


def arguments_on_device(cuda, arguments):
    """Returns the arguments of a launch, with arrays copied to the device."""
    made = (a() if callable(a) else a for a in arguments)
    return tuple(cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in made)


def verify_launch(work, given):
    """Raises AssertionError if the launch wrote a wrong result."""
    arrays = (isinstance(a, np.ndarray) for a in work.arguments)
    after = [g.copy_to_host() if is_array else g for g, is_array in zip(given, arrays, strict=True)]
    work.wrong(work.arguments, after)
