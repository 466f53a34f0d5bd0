"""Measures benchmark rows of launches, iterations, compilation, start-up and the simulator."""

import itertools
import json
import statistics
import time

import numpy as np
from measure import (
    DIFFUSION_BODY,
    NOTES,
    SMALL,
    RowSkipped,
    gpu_architecture,
    make_call_measure,
    make_loop_measure,
    median_in_turn,
    median_times,
    nvrtc_alone,
    nvrtc_version,
    register_row,
    time_process,
)

FRESH = itertools.count(time.time_ns() % 1_000_000_007)  # makes each compiled source a new one


# ---- launches ------------------------------------------------------------------------------------------
def launch_setup():
    from numbalite import cuda

    kernel = cuda.jit("void(float32[:], float32[:], float32[:], int32)")(add3)
    host = np.arange(1000, dtype=np.float32)
    arrays = [cuda.to_device(x) for x in (host, host, np.zeros_like(host))]
    kernel[4, 256](*arrays, 1000)
    np.testing.assert_array_equal(arrays[2].copy_to_host(), 2 * host)
    return kernel, arrays, cuda.synchronize


def add3(a, b, c, n):
    "int i = grid<1>(); if (i < n) c[i] = a[i] + b[i];"


@register_row("L1", "launch, 3 device arrays + int, prebound", "us", "1.15 x floor", gpu=True)
def launch_prebound(floor):
    kernel, (a, b, c), sync = launch_setup()
    bound = kernel[4, 256]
    ours = make_call_measure(lambda: bound(a, b, c, 1000), sync)
    # This row is measured first. CPU and GPU were idle, so one second of warm-up lets their clocks rise.
    ours, least = median_in_turn(ours, floor.driver_call("launch"), count=1000, warm=1.0)
    return ours, least, 1.15 * least


@register_row("L2", "the same with CuPy arrays", "us", "2 x floor", gpu=True)
def launch_cupy(floor):
    try:
        import cupy
    except ImportError:
        raise RowSkipped("CuPy is not installed") from None
    kernel, _, sync = launch_setup()
    bound = kernel[4, 256]
    x = cupy.ones(1000, dtype=cupy.float32)
    bound(x, x, x, 1000)
    sync()
    assert (x.get() == 2).all()
    ours = make_call_measure(lambda: bound(x, x, x, 1000), sync)
    ours, least = median_in_turn(ours, floor.driver_call("launch"), count=1000)
    return ours, least, 2 * least


@register_row("L3", "the same, k[g, b](...) configured each call", "us", "1.25 x floor", gpu=True)
def launch_configured(floor):
    kernel, (a, b, c), sync = launch_setup()
    ours = make_call_measure(lambda: kernel[4, 256](a, b, c, 1000), sync)
    ours, least = median_in_turn(ours, floor.driver_call("launch"), count=1000)
    return ours, least, 1.25 * least


# ---- iterating ---------------------------------------------------------------------------------------
def diffuse_once(u):
    """Returns (expected u and l after one step, mask of the elements whose neighbours are in the
    same block). Other elements depend on the order of the blocks."""
    l = 4 * u
    l[1:] -= u[:-1]
    l[:, 1:] -= u[:, :-1]
    l[:-1] -= u[1:]
    l[:, :-1] -= u[:, 1:]
    inside = np.isin(np.arange(len(u)) % 8, range(1, 7))
    return u - np.float32(0.25) * l, l, np.ix_(inside, inside)


def diffusion_setup(n=32):
    from numbalite import cuda

    kernel = cuda.jit(
        f"__global__ void diffusion(array<float, 2> u, array<float, 2> l) {{{DIFFUSION_BODY}}}"
    )
    host = np.random.default_rng(0).random((n, n), dtype=np.float32)
    u = cuda.to_device(host)
    laplacian = cuda.device_array_like(u)
    stream = cuda.stream()
    bound = kernel[(n // 8, n // 8), (8, 8), stream]
    bound(u, laplacian)
    cuda.synchronize()
    stepped, l, inside = diffuse_once(host)
    np.testing.assert_allclose(u.copy_to_host()[inside], stepped[inside], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(laplacian.copy_to_host()[inside], l[inside], rtol=1e-4, atol=1e-5)
    return bound, u, laplacian, stream


@register_row("K1", "diffusion 2000 x 2000, an iteration", "us", "1.02 x C++", gpu=True)
def diffusion_large(floor):
    n = 64 if SMALL else 2000
    bound, u, laplacian, stream = diffusion_setup(n)
    ours = make_loop_measure("bound(u, laplacian)", locals(), stream.synchronize)
    ours, least = median_in_turn(ours, floor.diffusion_launches("diffuse", n), count=300, rounds=7)
    return ours, least, 1.02 * least


@register_row(
    "K2a", "diffusion 32 x 32, an iteration of 10000, loop", "us", "1.1 x C loop", gpu=True
)
def diffusion_loop(floor):
    bound, u, laplacian, stream = diffusion_setup()
    ours = make_loop_measure("bound(u, laplacian)", locals(), stream.synchronize)
    ours, least = median_in_turn(ours, floor.diffusion_launches("diffuse"), count=10_000, rounds=15)
    return ours, least, 1.1 * least


@register_row("K2b", "the same, by a graph of 1000", "us", "1.1 x C graph", gpu=True)
def diffusion_graph(floor):
    bound, u, laplacian, stream = diffusion_setup()
    with stream.capture() as graph:
        for _ in range(1000):
            bound(u, laplacian)
    ours = make_loop_measure("graph.launch(stream)", locals(), stream.synchronize)
    ours, least = median_in_turn(
        ours, floor.diffusion_launches("diffuse_thousand"), count=10, rounds=15
    )
    return ours / 1000, least / 1000, 1.1 * least / 1000


# ---- compiling and starting ------------------------------------------------------------------------------
PLAIN = r"""
struct view { float* data; long long shape, stride; };
extern "C" __global__ void k(view a, view b, view c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c.data[i] = a.data[i] * NUMBER + b.data[i];
}"""


@register_row("C1", "compile a new small kernel, warm process", "us", "NVRTC alone + 3400")
def compile_new(floor):
    """With a GPU: from the source to the finished first launch. Without a GPU, the row measures the time
    from the source to the cubin.

    The floor is NVRTC's time for the same kernel in plain CUDA C++, without any header, alternately
    with numbalite in this process: in a separate process, in C, the same call takes longer.
    """
    from numbalite import compilers, cuda
    from numbalite.compilers.source import Source

    def fresh_source():
        number = next(FRESH)
        return (
            "__global__ void k(array<const float> a, array<const float> b, array<float> c, int n)"
            f" {{ int i = grid<1>(); if (i < n) c[i] = a[i] * {number} + b[i]; }}"
        )

    if cuda.is_simulated():
        nvrtc_version()
        prefix = '#include "numbalite.cuh"\nusing namespace numbalite;\n'

        def compile_unit():
            unit = Source(
                text=prefix + fresh_source(), name="bench.cu", kernels=("k",), describe=True
            )
            return compilers.compile_source(unit, ("cuda", 9, 0))

        assert compile_unit().data[:4] == b"\x7fELF"
    else:
        a, c = (cuda.to_device(np.ones(32, np.float32)) for _ in range(2))

        def compile_and_launch():
            cuda.jit(fresh_source())[1, 32](a, a, c, 32)
            cuda.synchronize()

        compile_and_launch()
        factor = next(FRESH) - 1
        np.testing.assert_array_equal(c.copy_to_host(), np.float32(factor) + 1)

    def compile_with_nvrtc_alone():
        nvrtc_alone(
            PLAIN.replace("NUMBER", str(next(FRESH))), "--device-as-default-execution-space"
        )

    ours, least = median_times(compile_and_launch, compile_with_nvrtc_alone)
    return ours, least, least + 3400


@register_row(
    "C5", "a kernel that includes cooperative_groups.h, from the second on", "us", "1/4 of without"
)
def compile_heavy(floor):
    """Measures the time from the source to the cubin, after an earlier kernel of the process has
    precompiled the headers."""
    from numbalite import compilers
    from numbalite.compilers import precompiled
    from numbalite.compilers.source import Source

    if nvrtc_version() < precompiled.SINCE:
        raise RowSkipped("this NVRTC cannot precompile headers")
    target = ("cuda", *divmod(int(gpu_architecture()[3:]), 10))

    def compile_with_headers(number):
        source = (
            '#include "numbalite.cuh"\nusing namespace numbalite;\n#include <cooperative_groups.h>\n'
            "__global__ void k(float* x) { auto block = cooperative_groups::this_thread_block();"
            f" x[block.thread_rank()] *= {number}; }}"
        )
        return compilers.compile_source(
            Source(text=source, name="heavy.cu", kernels=("k",)), target, again=True
        )

    def compile_without_preamble(number):
        since, precompiled.SINCE = precompiled.SINCE, (1000, 0)
        try:
            return compile_with_headers(number)
        finally:
            precompiled.SINCE = since

    number = next(FRESH)
    start = time.perf_counter()
    image = compile_with_headers(number)
    first = (time.perf_counter() - start) * 1e6
    assert image == compile_with_headers(number) == compile_without_preamble(number)
    ours, before = median_times(
        lambda: compile_with_headers(next(FRESH)),
        lambda: compile_without_preamble(next(FRESH)),
        rounds=3,
    )
    NOTES.append(f"without: {before / 1e3:.0f} ms; the first: {first / 1e3:.0f} ms")
    return ours, None, before / 4


CACHED = """
import sys, time
import numpy as np
from numbalite import cuda
def make(number):
    return cuda.jit("__global__ void k(float* x) { int i = grid<1>(); x[i] = x[i] * %d + 1; }" % number)
x = cuda.to_device(np.ones(32, np.float32))
make(1)[1, 32](x)
cuda.synchronize()
start = time.perf_counter()
make(2)[1, 32](x)
cuda.synchronize()
print(time.perf_counter() - start)
assert (x.copy_to_host() == 5).all()
"""


@register_row("C2", "the same from the disk cache, new process: extra", "us", "1000")
def compile_cached(floor):
    """Returns the time of a second kernel that is in the disk cache, from the source to the
    finished launch, minus the time of loading and launching it in C."""
    from numbalite import cuda

    quiet = "import warnings; warnings.simplefilter('ignore')\n"
    time_process(quiet + CACHED)
    times = [float(time_process(quiet + CACHED)[1]) * 1e6 for _ in range(5)]
    least = 0.0
    if not cuda.is_simulated():
        load, launch = floor.driver_call("load_module"), floor.driver_call("launch_and_wait")
        least = median_in_turn(load, rounds=5, warm=0)[0] + median_in_turn(launch, count=500)[0]
    return statistics.median(times) - least, None, 1000


FIRST = """
import warnings; warnings.simplefilter("ignore")
import numpy as np
from numbalite import cuda
k = cuda.jit("__global__ void k(array<const float> a, array<float> b) { int i = grid<1>(); if (i < b.size()) b[i] = a[i] + 1; }")
a = np.arange(100, dtype=np.float32)
b = np.empty_like(a)
k[4, 32](a, b)
assert b[5] == 6
"""


@register_row(
    "C3", "fresh process to first kernel result, cached", "us", "C floor + import numpy + 40 ms"
)
def time_first_result(floor):
    from numbalite import cuda

    time_process(FIRST)
    times, imports, firsts = [], [], []
    for _ in range(5):
        times.append(time_process(FIRST)[0])
        imports.append(time_process("import numpy")[0])
        if not cuda.is_simulated():
            start = time.perf_counter()
            floor.run_program("first", floor.compile_cubin())
            firsts.append((time.perf_counter() - start) * 1e6)
    least = min(firsts, default=0) + min(imports)
    return min(times), least, least + 40_000


@register_row("C4", "import numbalite and numbalite.cuda, beyond numpy", "us", "15 ms")
def import_time(floor):
    code = (
        "import time, numpy\nt = time.perf_counter()\nimport numbalite\nfrom numbalite import cuda\n"
        "print(time.perf_counter() - t)"
    )
    return min(float(time_process(code)[1]) for _ in range(7)) * 1e6, None, 15_000


# ---- the simulator ---------------------------------------------------------------------------------------
SIMULATOR = """
import json, statistics, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from numbalite import cuda
vadd = cuda.jit("__global__ void vadd(const float* a, const float* b, float* c, int n)"
                " { int i = grid<1>(); if (i < n) c[i] = a[i] + b[i]; }")
reverse = cuda.jit("__global__ void reverse(float* x) { __shared__ float s[128]; int i = grid<1>(), t = threadIdx.x;"
                   " s[t] = x[i]; __syncthreads(); x[i] = s[127 - t]; }")
n = 1 << 15                                     # stays in the processor's cache: threads are measured, not memory
x = np.arange(n, dtype=np.float32)
a, b, c = (cuda.to_device(x) for _ in range(3))
vadd[n // 128, 128](a, b, c, n)
assert (c.copy_to_host() == 2 * x).all()
reverse[n // 128, 128](c)
assert (c.copy_to_host() == 2 * x.reshape(-1, 128)[:, ::-1].ravel()).all()
def per_thread(run, times):
    run(); cuda.synchronize()
    best = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(times): run()
        cuda.synchronize()
        best.append((time.perf_counter() - start) / times / n * 1e9)
    return statistics.median(best)
print(json.dumps([per_thread(lambda: vadd[n // 128, 128](a, b, c, n), 40), per_thread(lambda: reverse[n // 128, 128](a), 5)]))
"""
_SIMULATED = []


def simulated_times():
    """Nanoseconds per thread on one core: [vadd, block reversal with one barrier], medians of five processes:
    the core of a virtual machine may be half as fast for a second, while another virtual machine uses its
    neighbour."""
    if not _SIMULATED:
        environment = {"NUMBALITE_DRIVER": "sim", "NUMBALITE_NUM_THREADS": "1"}
        times = [
            json.loads(time_process(SIMULATOR, **environment)[1]) for _ in range(1 if SMALL else 5)
        ]
        _SIMULATED.extend(map(statistics.median, zip(*times, strict=True)))
    return _SIMULATED


@register_row("S1a", "simulator, vadd, a thread on one core", "ns", "2 ns")
def simulator_vadd(floor):
    return simulated_times()[0], floor.cpu_times("inlined_loop"), 2


@register_row("S1b", "simulator, block reversal, one barrier", "ns", "40 ns")
def simulator_barrier(floor):
    return simulated_times()[1], floor.cpu_times("fiber_switch"), 40
