"""The rows of launching, compiling, starting, the simulator and small memory operations."""

import itertools
import json
import statistics
import time

import numpy as np
from measure import DIFFUSION_BODY, LeftOut, arch, median, nvrtc_library, process, row

FRESH = itertools.count(time.time_ns() % 1_000_000_007)  # makes each compiled source a new one


# ---- launches ------------------------------------------------------------------------------------------
def launch_setup():
    from numbalite import cuda

    kernel = cuda.jit("void(float32[:], float32[:], float32[:], int32)")(add3)
    arrays = [cuda.to_device(np.arange(1000, dtype=np.float32)) for _ in range(3)]
    kernel[4, 256](*arrays, 1000)
    cuda.synchronize()
    return kernel, arrays, cuda.synchronize


def add3(a, b, c, n):
    "int i = grid<1>(); if (i < n) c[i] = a[i] + b[i];"


@row("L1", "launch, 3 device arrays + int, prebound", "us", "1.15 x floor", gpu=True)
def launch_prebound(floor):
    kernel, (a, b, c), sync = launch_setup()
    bound = kernel[4, 256]
    ours = median(lambda: bound(a, b, c, 1000), 2000, sync)
    least = floor.driver("launch_default_stream")
    return ours, least, 1.15 * least


@row("L2", "the same with CuPy arrays", "us", "2 x floor", gpu=True)
def launch_cupy(floor):
    try:
        import cupy
    except ImportError:
        raise LeftOut("CuPy is not installed") from None
    kernel, _, sync = launch_setup()
    bound = kernel[4, 256]
    x = cupy.arange(1000, dtype=cupy.float32)
    ours = median(lambda: bound(x, x, x, 1000), 2000, sync)
    least = floor.driver("launch_default_stream")
    return ours, least, 2 * least


@row("L3", "the same, k[g, b](...) configured each call", "us", "1.25 x floor", gpu=True)
def launch_configured(floor):
    kernel, (a, b, c), sync = launch_setup()
    ours = median(lambda: kernel[4, 256](a, b, c, 1000), 2000, sync)
    least = floor.driver("launch_default_stream")
    return ours, least, 1.25 * least


# ---- iterating ---------------------------------------------------------------------------------------
def diffusion_setup(n=32):
    from numbalite import cuda

    kernel = cuda.jit(
        f"__global__ void diffusion(array<float, 2> u, array<float, 2> l) {{{DIFFUSION_BODY}}}"
    )
    u = cuda.to_device(np.random.default_rng(0).random((n, n), dtype=np.float32))
    laplacian = cuda.device_array_like(u)
    stream = cuda.stream()
    bound = kernel[(n // 8, n // 8), (8, 8), stream]
    bound(u, laplacian)
    cuda.synchronize()
    return bound, u, laplacian, stream


@row("K2a", "diffusion 32 x 32, an iteration of 10000, loop", "us", "1.1 x C loop", gpu=True)
def diffusion_loop(floor):
    bound, u, laplacian, stream = diffusion_setup()

    def run():
        for _ in range(10_000):
            bound(u, laplacian)
        stream.synchronize()

    least = floor.diffusion("diffusion_loop")
    return median(run, rounds=5) / 10_000, least, 1.1 * least


@row("K2b", "the same, by a graph of 1000", "us", "1.1 x C graph", gpu=True)
def diffusion_graph(floor):
    bound, u, laplacian, stream = diffusion_setup()
    with stream.capture() as graph:
        for _ in range(1000):
            bound(u, laplacian)
    graph.launch(stream)

    def run():
        for _ in range(10):
            graph.launch(stream)
        stream.synchronize()

    least = floor.diffusion("diffusion_graph")
    return median(run, rounds=5) / 10_000, least, 1.1 * least


# ---- compiling and starting ------------------------------------------------------------------------------
@row("C1", "compile a new small kernel, warm process", "us", "NVRTC alone + 3400")
def compile_new(floor):
    """With a GPU: from the source to the finished first launch. Without: from the source to the cubin."""
    from numbalite import compilers, cuda
    from numbalite.compilers.unit import Unit

    def fresh_source():
        number = next(FRESH)
        return (
            "__global__ void k(array<const float> a, array<const float> b, array<float> c, int n)"
            f" {{ int i = grid<1>(); if (i < n) c[i] = a[i] * {number} + b[i]; }}"
        )

    if cuda.is_simulated():
        nvrtc_library()
        prefix = '#include "numbalite.cuh"\nusing namespace numbalite;\n'

        def run():
            unit = Unit(
                source=prefix + fresh_source(), name="bench.cu", kernels=("k",), describe=True
            )
            compilers.compile_unit(unit, ("cuda", 9, 0))
    else:
        a = cuda.to_device(np.ones(32, np.float32))

        def run():
            cuda.jit(fresh_source())[1, 32](a, a, a, 32)
            cuda.synchronize()

    least = floor.nvrtc(arch())
    return median(run, rounds=7), least, least + 3400


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
"""


@row("C2", "the same from the disk cache, new process: extra", "us", "1000")
def compile_cached(floor):
    """A second kernel that the disk cache holds, from the source to the finished launch, less what loading
    and launching it takes in C."""
    from numbalite import cuda

    quiet = "import warnings; warnings.simplefilter('ignore')\n"
    process(quiet + CACHED, 1)
    times = [float(process(quiet + CACHED, 1)[1]) * 1e6 for _ in range(5)]
    least = 0.0
    if not cuda.is_simulated():
        least = floor.driver("module_load") + floor.driver("launch_sync")
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


@row("C3", "fresh process to first kernel result, cached", "us", "C floor + import numpy + 40 ms")
def first_result(floor):
    from numbalite import cuda

    process(FIRST, 1)
    ours, _ = process(FIRST)
    numpy_time, _ = process("import numpy")
    if cuda.is_simulated():
        return ours, numpy_time, numpy_time + 40_000
    times = []
    for _ in range(5):
        start = time.perf_counter()
        floor.run("first", floor.cubin())
        times.append((time.perf_counter() - start) * 1e6)
    least = min(times) + numpy_time
    return ours, least, least + 40_000


@row("C4", "import numbalite and numbalite.cuda, beyond numpy", "us", "15 ms")
def import_time(floor):
    code = (
        "import time, numpy\nt = time.perf_counter()\nimport numbalite\nfrom numbalite import cuda\n"
        "print(time.perf_counter() - t)"
    )
    return min(float(process(code, 1)[1]) for _ in range(7)) * 1e6, None, 15_000


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
a, b, c = (cuda.to_device(np.ones(n, np.float32)) for _ in range(3))
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


def simulated():
    """Nanoseconds per thread on one core: [vadd, block reversal with one barrier]."""
    if not _SIMULATED:
        environment = {"NUMBALITE_DRIVER": "sim", "NUMBALITE_NUM_THREADS": "1"}
        _SIMULATED.extend(json.loads(process(SIMULATOR, 1, **environment)[1]))
    return _SIMULATED


@row("S1a", "simulator, vadd, a thread on one core", "ns", "2 ns")
def simulator_vadd(floor):
    return simulated()[0], floor.cpu("inlined_loop"), 2


@row("S1b", "simulator, block reversal, one barrier", "ns", "40 ns")
def simulator_barrier(floor):
    return simulated()[1], floor.cpu("fiber_switch"), 40


# ---- memory ------------------------------------------------------------------------------------------------
@row("M2", "slice d[10:100]", "us", "0.4 us")
def slicing(floor):
    from numbalite import cuda

    d = cuda.device_array(1 << 18, np.float32)
    return median(lambda: d[10:100], 5000), None, 0.4


@row("T3a", "to_device of 4 kB, synchronised", "us", "10 us", gpu=True)
def small_to_device(floor):
    from numbalite import cuda

    x = np.ones(1000, np.float32)
    ours = median(lambda: (cuda.to_device(x), cuda.synchronize()), 300)
    return ours, floor.driver("to_device_4k"), 10


@row("T3b", "copy_to_host of 4 kB", "us", "10 us", gpu=True)
def small_to_host(floor):
    from numbalite import cuda

    d = cuda.to_device(np.ones(1000, np.float32))
    return median(d.copy_to_host, 300), floor.driver("copy_to_host_4k"), 10
