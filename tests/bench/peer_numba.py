"""Measures benchmark rows with numba: numba-cuda on the GPU, numba on the CPU, and numba's own
simulator."""

import math
import time

import numpy as np
import peer_course
import python_kernels
from peer_measure import (
    LARGE,
    SMALL,
    angle_ramp,
    arguments_of_powers,
    assert_result,
    event_times,
    expected_powers,
    expected_sincos,
    import_time,
    large_copies,
    median,
    process_time,
    run_row,
    small_matrices,
    time_row,
)
from rows import diffuse_once

np.row_stack = np.vstack  # attributes of NumPy that some releases still use


def sincos(x, y):
    return math.sin(x) * math.cos(y)


def root_of_powers(p, q, r, s):
    return math.sqrt(p * p + q * q * q + r * r * r * r + s * s * s * s * s)


def diffusion(cuda):
    """Measures row K1 with numba's threads."""
    from numba import float32

    @cuda.jit
    def diffusion_step(u, l):
        s = cuda.shared.array((10, 10), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        if tx == 0 and x > 0:
            s[0, ty + 1] = u[x - 1, y]
        if ty == 0 and y > 0:
            s[tx + 1, 0] = u[x, y - 1]
        if tx == 7 and x < u.shape[0] - 1:
            s[9, ty + 1] = u[x + 1, y]
        if ty == 7 and y < u.shape[1] - 1:
            s[tx + 1, 9] = u[x, y + 1]
        s[tx + 1, ty + 1] = u[x, y]
        v = float32(4) * s[tx + 1, ty + 1]
        cuda.syncthreads()
        if x > 0:
            v -= s[tx, ty + 1]
        if y > 0:
            v -= s[tx + 1, ty]
        if x < u.shape[0] - 1:
            v -= s[tx + 2, ty + 1]
        if y < u.shape[1] - 1:
            v -= s[tx + 1, ty + 2]
        if x < u.shape[0] and y < u.shape[1]:
            l[x, y] = v
            u[x, y] -= v * float32(0.25)

    n = 2000
    host = np.random.default_rng(0).random((n, n), np.float32)
    u = cuda.to_device(host)
    l, stream = cuda.device_array_like(u), cuda.stream()
    bound = diffusion_step[(n // 8, n // 8), (8, 8), stream]
    bound(u, l)
    stream.synchronize()
    stepped, laplacian, inside = diffuse_once(host)
    assert_result(u.copy_to_host()[inside], stepped[inside], 1e-4)
    np.testing.assert_allclose(l.copy_to_host()[inside], laplacian[inside], rtol=1e-4, atol=1e-5)

    def run_200_steps():
        for _ in range(200):
            bound(u, l)
        stream.synchronize()

    return median(run_200_steps, rounds=3) / 200


def measure_python_kernels(cuda, float32, random, without=()):
    """Measures the Y rows."""

    def time_kernel(work):
        given = python_kernels.arguments_on_device(cuda, work.arguments)
        bound = work.kernel[work.grid, work.block]
        bound(*given)
        python_kernels.verify_launch(work, given)

        def record_event():
            event = cuda.event()
            event.record()
            return event

        return event_times(
            lambda: bound(*given), record_event, cuda.synchronize, cuda.event_elapsed_time
        )

    works = python_kernels.works_of_kernels(
        cuda, float32, random.xoroshiro128p_uniform_float32, random.create_xoroshiro128p_states, SMALL
    )  # fmt: skip
    for key, work in works.items():
        if key not in without:
            run_row(key)(lambda work=work: time_kernel(work))


def measure_ufunc_rows(cuda):
    from numba import guvectorize, vectorize

    two = ["float32(float32, float32)", "float64(float64, float64)"]
    sync, back = cuda.synchronize, lambda d: d.copy_to_host()

    @vectorize(two, target="cuda")
    def add(x, y):
        return x + y

    one = np.ones(1, np.float32)
    a, b, c = cuda.to_device(one), cuda.to_device(one), cuda.to_device(one)
    time_row("U1", lambda: add(a, b, out=c), [2], 200, sync, read=lambda _: c.copy_to_host())
    time_row("U2", lambda: add(one, one), [2], 50)
    x = angle_ramp()
    on_gpu = vectorize(two, target="cuda")(sincos)
    time_row("U4", lambda: on_gpu(x, x), lambda: expected_sincos(x, x), 5)
    f4 = ["float32(float32, float32, float32, float32)"]
    powers_gpu, values = vectorize(f4, target="cuda")(root_of_powers), arguments_of_powers()
    time_row("U5", lambda: powers_gpu(*values), lambda: expected_powers(*values), 3)

    @run_row("U3")
    def time_large_add():
        host = np.arange(LARGE, dtype=np.float32)
        big, other, out = (cuda.to_device(host) for _ in range(3))
        call = lambda: (add(big, other, out=out), sync())
        call()
        assert_result(out[-99:].copy_to_host(), 2 * host[-99:])
        return median(call, 3)

    total = cuda.reduce(lambda p, q: p + q)

    @run_row("U7")
    def time_small_reduce():
        host = np.arange(1000, dtype=np.float32)
        few, res = cuda.to_device(host), cuda.device_array(1, np.float32)
        total(few, res=res)
        assert_result(res.copy_to_host(), [host.sum()])
        return median(lambda: total(few, res=res), 50, sync)

    @run_row("U6")
    def time_large_reduce():
        big = cuda.to_device(np.ones(LARGE, np.float32))
        res = cuda.device_array(1, np.float32)
        call = lambda: (total(big, res=res), sync())
        call()
        assert_result(res.copy_to_host(), [LARGE])
        return median(call, 2, rounds=3)

    @guvectorize(
        ["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda"
    )
    def product(a, b, c):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                t = 0.0
                for k in range(a.shape[1]):
                    t += a[i, k] * b[k, j]
                c[i, j] = t

    m = small_matrices()
    c, d, e = cuda.to_device(m), cuda.to_device(m), cuda.to_device(m)
    call, want = lambda: (product(c, d, out=e), sync()), lambda: m @ m
    time_row("G1", call, want, 5, read=lambda _: back(e))
    time_row("G2", lambda: product(m, m), want, 2, rounds=3)

    @guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->()", target="cuda")
    def dot(a, b, c):
        t = np.float32(0)
        for i in range(a.shape[0]):
            t += a[i] * b[i]
        c[0] = t

    @guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
    def running_sum(x, y):
        t = np.float32(0)
        for i in range(x.shape[0]):
            t += x[i]
            y[i] = t

    rows = 1000 if SMALL else 1_000_000

    def measure_gufunc_by_rows(name, shape, call, want):
        host = np.random.default_rng(5).integers(0, 3, shape).astype(np.float32)
        x, y = cuda.to_device(host), cuda.to_device(host)
        time_row(name, lambda: (call(x, y), sync())[0], lambda: want(host), 5, rounds=3, read=back)

    measure_gufunc_by_rows("A13", (rows // 10, 1000), dot, lambda x: (x * x).sum(1))
    measure_gufunc_by_rows("A14", (rows, 64), lambda x, _: running_sum(x), lambda x: x.cumsum(1))
    measure_gufunc_by_rows("A15", (rows // 5, 8, 8), product, lambda x: x @ x)


def measure_numba_cuda_mlir():
    """Measures the kernels with Python bodies (rows Y1 to Y9 of the benchmark) with numba-cuda-mlir, the
    successor of numba-cuda."""
    from numba_cuda_mlir import cuda, types
    from numba_cuda_mlir.cuda import random

    measure_python_kernels(cuda, types.float32, random, without={"Y9"})  # its states take minutes


def measure_rows_on_gpu():
    from numba import cuda, float32
    from numba.cuda import random

    @cuda.jit
    def add(a, b, c, n):
        i = cuda.grid(1)
        if i < n:
            c[i] = a[i] + b[i]

    x = np.arange(1000, dtype=np.float32)
    a, b, c = cuda.to_device(x), cuda.to_device(x), cuda.to_device(x)
    bound = add[4, 256]
    sync = cuda.synchronize
    result = lambda _: c.copy_to_host()
    time_row("L1", lambda: bound(a, b, c, 1000), 2 * x, 1000, sync, read=result)
    time_row("L3", lambda: add[4, 256](a, b, c, 1000), 2 * x, 1000, sync, read=result)

    @run_row("L2")
    def time_launch_on_cupy_arrays():
        import cupy

        p, q = cupy.asarray(x), cupy.zeros(1000, np.float32)
        call = lambda: bound(p, p, q, 1000)
        call()
        assert_result(q.get(), 2 * x)
        return median(call, 300, sync)

    new = lambda: cuda.device_array(1 << 18, np.float32)
    time_row("M1", new, [1 << 18], 200, read=lambda d: d.shape)
    time_row("M2", lambda: a[10:100], x[10:100], 500, read=lambda d: d.copy_to_host())
    to_device = lambda y: (cuda.to_device(y), sync())[0]
    time_row("T3a", lambda: to_device(x), x, 50, read=lambda d: d.copy_to_host())
    time_row("T3b", lambda: a.copy_to_host(), x, 50)
    large_copies(to_device, lambda d: d.copy_to_host())

    @run_row("K1")
    def time_diffusion():
        return diffusion(cuda)

    @run_row("C1")
    def time_compilation():
        times = []
        for number in range(3):
            names = {"cuda": cuda}
            exec(
                f"def k(a, b, c):\n i = cuda.grid(1)\n if i < c.size: c[i] = a[i] * {number + 3} + b[i]",
                names,
            )
            start = time.perf_counter()
            cuda.jit(names["k"])[4, 256](a, b, c)
            sync()
            times.append((time.perf_counter() - start) * 1e6)
            assert_result(c.copy_to_host(), (number + 4) * x)
        return min(times)

    measure_python_kernels(cuda, float32, random)
    measure_ufunc_rows(cuda)
    peer_course.measure_numba_rows(cuda, float32)
    program = (
        "import numpy as np; np.row_stack = np.vstack\nfrom numba import cuda\n"
        "import numba\n@cuda.jit\ndef k(a):\n i = cuda.grid(1)\n if i < a.size: a[i] += 1\n"
        "x = np.zeros(32, np.float32); k[1, 32](x); assert x[5] == 1"
    )
    run_row("C3")(lambda: process_time(program))


def measure_rows_on_cpu():
    """Measures the rows that need no GPU."""
    from numba import vectorize

    x = angle_ramp()
    for key, target in (("P1a", "cpu"), ("P1b", "parallel")):
        function = vectorize(["float64(float64, float64)"], target=target)(sincos)
        time_row(key, lambda f=function: f(x, x), lambda: expected_sincos(x, x), 5)
    run_row("C4")(lambda: import_time("import numba.cuda"))
    peer_course.numba_cpu()


def time_numba_simulator():
    """Measures nanoseconds per thread on numba's own simulator."""
    # numba's simulator replaces the global name cuda of the kernel's module during a launch.
    global cuda
    from numba import cuda, float32

    @cuda.jit
    def vadd(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    @cuda.jit
    def reverse(x, y):
        s = cuda.shared.array(128, float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        s[t] = x[i]
        cuda.syncthreads()
        y[i] = s[127 - t]

    x = np.arange(128, dtype=np.float32)
    a, b = cuda.to_device(x), cuda.to_device(x)

    def per_thread(call, want):
        call()
        assert_result(b.copy_to_host(), want)
        return median(call, 1, rounds=3) * 1000 / 128

    run_row("S1a")(lambda: per_thread(lambda: vadd[1, 128](a, a, b), 2 * x))
    run_row("S1b")(lambda: per_thread(lambda: reverse[1, 128](a, b), x[::-1]))
