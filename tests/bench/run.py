"""numbalite's speed, beside the floor measured in the same run and the peers that are installed.

    python tests/bench/run.py [--json FILE] [--only L1,S1] [--no-peers]

One table: what we need, the floor (plain C on the same machine: floor.c), the ratio, the target and
whether it is met, and the peers. Without a GPU it measures what does not need one and says what it left
out. Absolute times differ from machine to machine; ratios hardly do.
"""

import argparse
import gc
import itertools
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROWS = {}
FRESH = itertools.count(time.time_ns() % 1_000_000_007)  # makes each compiled source a new one

ADD3 = r"""
struct view { float* data; long long shape, stride; };
extern "C" __global__ void add3(view a, view b, view c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c.data[i] = a.data[i] + b.data[i];
}"""


class LeftOut(Exception):
    """This row cannot be measured here; the text says why."""


def row(key, what, unit, target="", gpu=False):
    """Registers a row. The function returns (ours, floor or None, limit or None)."""

    def register(function):
        ROWS[key] = (what, unit, target, gpu, function)
        return function

    return register


# ---- measuring -----------------------------------------------------------------------------------------
def median(function, inner=1, sync=lambda: None, rounds=9):
    """Microseconds of one call; `sync` runs between the rounds, outside the clock."""
    function()
    sync()
    times = []
    gc.disable()
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in itertools.repeat(None, inner):
            function()
        times.append((time.perf_counter() - start) / inner * 1e6)
        sync()
    gc.enable()
    return statistics.median(times)


def process(code, runs=5, **environment):
    """(best wall time in microseconds, last output) of a fresh interpreter running `code`."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    env.update(environment)
    best, out = float("inf"), ""
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
        )
        best = min(best, time.perf_counter() - start)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        out = done.stdout
    return best * 1e6, out


class Floor:
    """Runs floor.c, each part once."""

    def __init__(self, folder):
        self.folder, self.parts = folder, {}
        compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
        if not compiler:
            raise SystemExit("the floors need a C compiler")
        self.program = str(folder / "floor")
        source = [str(HERE / "floor.c"), f"-I{ROOT / 'cext'}", "-o", self.program, "-ldl"]
        subprocess.run([compiler, "-O3", "-march=native", *source], check=True)

    def cubin(self):
        """add3 for this GPU, compiled once."""
        path = self.folder / "add3.cubin"
        if not path.exists():
            path.write_bytes(compiled(ADD3))
        return str(path)

    def run(self, *words):
        done = subprocess.run([self.program, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise LeftOut(done.stderr.strip() or "the floor could not be measured")
        return {
            name: float(value)
            for name, value in (line.split() for line in done.stdout.splitlines())
        }

    def part(self, *words):
        if words not in self.parts:
            self.parts[words] = self.run(*words)
        return self.parts[words]

    def driver(self, name):
        return self.part("driver", self.cubin())[name]

    def nvrtc(self, arch="sm_90"):
        return self.part("nvrtc", nvrtc_library(), arch)["nvrtc"]

    def cpu(self, name):
        return self.part("cpu")[name]


def nvrtc_library():
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return load_nvidia_dynamic_lib("nvrtc").abs_path
    except Exception as error:
        raise LeftOut(f"no NVRTC: {str(error).splitlines()[0]}") from None


def arch():
    from numbalite import cuda

    if cuda.is_simulated():
        return "sm_90"
    return "sm_{}{}".format(*cuda.get_current_device().compute_capability)


def compiled(source):
    """A cubin made by NVRTC alone."""
    from numbalite import _core

    _core.nvrtc_open(nvrtc_library())
    result = _core.nvrtc_compile(source, "bench.cu", {}, [f"--gpu-architecture={arch()}"], [])
    if not result["cubin"]:
        raise LeftOut(result["log"])
    return result["cubin"]


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


# ---- the table -----------------------------------------------------------------------------------------------
def peers(real):
    """{peer: {row: value}}, each peer measured in a process of its own."""
    found = {}
    if not real:
        return found
    for name in ("numba", "cupy", "cuda.core", "torch", "triton"):
        command = [sys.executable, str(HERE / "peers.py"), name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            found[name] = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            found[name] = {}
        if not found[name]:
            print(f"  {name} left out: {done.stderr.strip()[-150:]}", flush=True)
    return {name: values for name, values in found.items() if values}


def show(value):
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def measure(floor, others, wanted, real):
    results, left_out = {}, []
    print(f"{'row':<4} {'work':<50} {'ours':>9} {'floor':>9} {'ratio':>6}  {'limit':>9}      peers")
    for key, (what, unit, target, gpu, function) in ROWS.items():
        if wanted and key not in wanted:
            continue
        try:
            if gpu and not real:
                raise LeftOut("needs a GPU")
            ours, least, limit = function(floor)
        except LeftOut as reason:
            left_out.append(f"{key}: {reason}")
            continue
        except Exception as error:
            left_out.append(f"{key}: FAILED: {type(error).__name__}: {error}")
            continue
        beside = {name: values[key] for name, values in others.items() if key in values}
        verdict = "" if limit is None else "met" if ours <= limit else "NOT met"
        ratio = f"{ours / least:.2f}" if least else "-"
        told = ", ".join(f"{name} {show(value)}" for name, value in beside.items())
        print(
            f"{key:<4} {f'{what} [{unit}]':<50} {show(ours):>9} {show(least):>9} {ratio:>6}"
            f"  {show(limit):>9} {verdict:<8} {told}",
            flush=True,
        )
        results[key] = {
            "work": what,
            "unit": unit,
            "ours": ours,
            "floor": least,
            "limit": limit,
            "target": target,
            "peers": beside,
        }
    for line in left_out:
        print("left out", line)
    return results, left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", help="also write the results to this file")
    parser.add_argument("--only", help="rows, separated by commas")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # As users have it: modules are compiled to bytecode once. Not into the checkout, though.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        os.environ["NUMBALITE_CACHE_DIR"] = str(folder / "cache")
        os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
        sys.path.insert(0, str(ROOT))
        import warnings

        warnings.simplefilter("ignore")
        from numbalite import cuda

        real = not cuda.is_simulated()
        device = cuda.get_current_device().name
        device = device.decode() if isinstance(device, bytes) else device
        print(
            f"{device}; {platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
            f"NumPy {np.__version__}\n",
            flush=True,
        )
        others = {} if options.no_peers else peers(real)
        wanted = set(options.only.split(",")) if options.only else None
        results, left_out = measure(Floor(folder), others, wanted, real)
    if options.json:
        record = {
            "device": device,
            "python": platform.python_version(),
            "rows": results,
            "left_out": left_out,
        }
        pathlib.Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
    return 1 if any("FAILED" in line for line in left_out) else 0


if __name__ == "__main__":
    sys.exit(main())
