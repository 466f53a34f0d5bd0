"""Functions that measure the rows of the benchmark: medians, new processes, floors in C, events.

A row is a function that returns (numbalite, floor or None, limit or None) in the row's unit.
"""

import collections
import ctypes
import gc
import itertools
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROWS = {}
NOTES = []  # Further values of the current row for the JSON file.
SMALL = bool(os.environ.get("NUMBALITE_BENCH_SMALL"))  # run.py --small

ADD3 = r"""
struct view { float* data; long long shape, stride; };
extern "C" __global__ void add3(view a, view b, view c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c.data[i] = a.data[i] + b.data[i];
}"""

# Kernel of the documentation, whose body numbalite also compiles;
# views are its parameters of array<float, 2>.
DIFFUSION_BODY = r"""
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int tx = threadIdx.x, ty = threadIdx.y;
    __shared__ float s[10][10];
    if (tx == 0 && x > 0) s[0][ty + 1] = u(x - 1, y);
    if (ty == 0 && y > 0) s[tx + 1][0] = u(x, y - 1);
    if (tx == 7 && x < u.shape[0] - 1) s[9][ty + 1] = u(x + 1, y);
    if (ty == 7 && y < u.shape[1] - 1) s[tx + 1][9] = u(x, y + 1);
    s[tx + 1][ty + 1] = u(x, y);
    float v = 4 * s[tx + 1][ty + 1];
    __syncthreads();
    if (x > 0) v -= s[tx][ty + 1];
    if (y > 0) v -= s[tx + 1][ty];
    if (x < u.shape[0] - 1) v -= s[tx + 2][ty + 1];
    if (y < u.shape[1] - 1) v -= s[tx + 1][ty + 2];
    if (x < u.shape[0] && y < u.shape[1]) { l(x, y) = v; u(x, y) -= v * 0.25f; }
"""
DIFFUSION = (
    r"""
struct view {
    char* data;
    long long shape[2], strides[2];
    __device__ float& operator()(long long i, long long j) { return *(float*)(data + i * strides[0] + j * strides[1]); }
};
extern "C" __global__ void diffusion(view u, view l) {"""
    + DIFFUSION_BODY
    + "}"
)


class RowSkipped(Exception):
    """Raised if a row cannot be measured on this machine; the text is the reason."""


class BenchmarkRow(NamedTuple):
    """A line of the table."""

    what: str
    unit: str
    target: str
    """What it is meant to reach, in words."""
    gpu: bool
    moved: int | None
    """Bytes that cross the memory or the bus, where bandwidth is what counts."""
    measure: Callable
    """measure(floor) -> (ours, floor or None, limit or None)"""


def register_row(key, what, unit, target="", gpu=False, moved=None):
    """Registers a row. The function returns (numbalite, floor or None, limit or None)."""

    def add_row(function):
        ROWS[key] = BenchmarkRow(what, unit, target, gpu, moved, function)
        return function

    return add_row


def make_call_measure(function, sync=None):
    """Returns a measure: seconds_per_call(count) is the microseconds of a call, over `count` calls. `sync` is called
    after them and is not timed."""

    def seconds_per_call(count):
        start = time.perf_counter()
        for _ in itertools.repeat(None, count):
            function()
        taken = time.perf_counter() - start
        if sync:
            sync()
        return taken / count * 1e6

    seconds_per_call.function = function
    return seconds_per_call


def make_loop_measure(statement, names, wait):
    """Returns a measure of a loop around a statement, written as in a program, including the wait at the
    end."""
    loop = timeit.Timer(statement, globals=names)

    def seconds_per_call(count):
        start = time.perf_counter()
        loop.timeit(count)
        wait()
        return (time.perf_counter() - start) / count * 1e6

    seconds_per_call.function = loop.timeit
    return seconds_per_call


SEEN = []  # bench_rows.py appends a function of (function, count, rounds), called for each function that a row times


def median_in_turn(*measures, count=1, rounds=25, warm=0.3):
    """Returns the median of each measure's results. The measures alternate, so that a slow phase of
    the machine affects all of them. Before timing, the measures run for `warm` seconds, until the
    processor reaches its full clock rate."""
    if SMALL:
        count, rounds, warm = 1, 1, 0
    start = time.perf_counter()
    for measure in measures:
        measure(count)
    while time.perf_counter() - start < warm:
        for measure in measures:
            measure(count)
    times = [[] for _ in measures]
    gc.disable()
    for _ in range(rounds):
        for measure, taken in zip(measures, times, strict=True):
            taken.append(measure(count))
    gc.enable()
    for see in SEEN:
        see(measures[0].function, count, rounds)
    return [statistics.median(taken) for taken in times]


def median(function, inner=1, rounds=9, warm=0.0):
    """Returns microseconds of one call."""
    return median_in_turn(make_call_measure(function), count=inner, rounds=rounds, warm=warm)[0]


def median_times(*functions, rounds=9):
    """Returns the microseconds per call of each function. The calls alternate, so that a slow phase
    of the machine affects all of them."""
    times = [[] for _ in functions]
    for number in range(1 if SMALL else rounds + 1):
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            if number or SMALL:  # the first round only warms up
                taken.append((time.perf_counter() - start) * 1e6)
    return [statistics.median(taken) for taken in times]


def time_process(code, **environment):
    """Returns (microseconds, output) of a fresh interpreter running `code`."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    env.update(environment)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
    )
    taken = (time.perf_counter() - start) * 1e6
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return taken, done.stdout


def close(got, want, rtol=1e-5):
    """A result is checked before it is timed."""
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol)


class HardwareFloor:
    """The floors of this machine: the program floor.c, each part of which runs once, and the
    library driver.c, whose calls are timed alternately with numbalite's. ``peers`` contains the
    other libraries' times: {peer: {row: value}}."""

    def __init__(self, folder, peers):
        self.folder, self.peers, self.parts = folder, peers, {}
        self.program = self.compile_c("floor.c", "floor")
        self.driver_c, self.kernels, self.copied = None, [], None

    def compile_c(self, source, name, *options):
        compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
        if not compiler:
            raise SystemExit("the floors need a C compiler")
        path = str(self.folder / name)
        words = [str(HERE / source), f"-I{ROOT / 'cext'}", "-o", path, "-ldl", "-pthread"]
        subprocess.run([compiler, "-O3", "-march=native", *options, *words], check=True)
        return path

    def compile_cubin(self, name="add3", source=ADD3):
        """Returns a kernel for this GPU, compiled once, by nvcc if it is installed."""
        path = self.folder / f"{name}.cubin"
        nvcc = shutil.which("nvcc")
        if path.exists():
            return str(path)
        if nvcc:
            text = path.with_suffix(".cu")
            text.write_text(source)
            command = [
                nvcc,
                "-O3",
                "-cubin",
                f"-arch={gpu_architecture()}",
                "-o",
                str(path),
                str(text),
            ]
            subprocess.run(command, check=True)
        else:
            path.write_bytes(nvrtc_alone(source)["cubin"])
        return str(path)

    def peer_time(self, peer, key):
        """Returns the time of a peer for a row, or None."""
        return self.peers.get(peer, {}).get(key)

    def run_program(self, *words):
        if SMALL:
            return collections.defaultdict(lambda: 1.0)
        done = subprocess.run([self.program, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RowSkipped(done.stderr.strip() or "the floor could not be measured")
        return {
            name: float(value)
            for name, value in (line.split() for line in done.stdout.splitlines())
        }

    def program_results(self, *words):
        if words not in self.parts:
            self.parts[words] = self.run_program(*words)
        return self.parts[words]

    def load_driver_library(self):
        """Returns the library driver.so, loaded into this process."""
        if not self.driver_c:
            path = self.compile_c("driver.c", "driver.so", "-shared", "-fPIC")
            self.driver_c = ctypes.CDLL(path)
            self.driver_c.time_calls.restype = ctypes.c_double
            self.driver_c.launch_by_threads.restype = ctypes.c_double
            self.driver_c.open_floor(self.compile_cubin().encode())
        return self.driver_c

    def driver_call(self, name):
        """Returns a measure, as make_call_measure() makes them, of one of driver.c's `works`."""
        if SMALL:
            return lambda count: 1.0
        library = self.load_driver_library()

        def time_driver_calls(count):
            taken = library.time_calls(name.encode(), count)
            assert taken >= 0, name
            return taken

        return time_driver_calls

    def diffusion_launches(self, name, n=32):
        """Returns a measure of an n x n diffusion, with single launches or with graphs of 1000 launches."""
        if not SMALL:
            cubin = self.compile_cubin("diffusion", DIFFUSION)
            self.load_driver_library().open_diffusion(cubin.encode(), n)
        return self.driver_call(name)

    def view_launches(self, cubin):
        """Returns a measure of launches of the kernel takes_views in `cubin`."""
        if SMALL:
            return self.driver_call("launch")
        number, library = len(self.kernels), self.load_driver_library()
        self.kernels.append(cubin)
        library.open_views(cubin.encode(), number)
        launch = self.driver_call("launch_with_views")

        def time_view_launches(count):
            library.choose_views(number)
            return launch(count)

        return time_view_launches

    def threaded_launch_time(self, threads, calls, rounds=7):
        """Returns the microseconds per launch when this number of threads launch concurrently; the minimum of
        several rounds."""
        if SMALL:
            return 1.0
        library = self.load_driver_library()
        return min(library.launch_by_threads(threads, calls) for _ in range(rounds + 1))

    def cpu_times(self, name):
        return self.program_results("cpu")[name]

    def memory_time(self, size):
        """Returns the microseconds in which a large copy on the device reads and writes this number of
        bytes."""
        if not self.copied:
            from numbalite import cuda

            x, y = (cuda.device_array(1 << (20 if SMALL else 28), np.float32) for _ in "12")
            x.fill(1)
            self.copied = 2 * x.nbytes / device_median(lambda: y.copy_to_device(x), 5)
        return size / self.copied

    def copy_time(self, to_device, to_host):
        """Returns the microseconds that transfers of these numbers of bytes need on the bus, in and then out,
        from page-locked memory."""
        speed = self.program_results("copies")
        return to_device / speed["to_device"] + to_host / speed["to_host"]


def nvrtc_version():
    """Returns the version of the NVRTC that numbalite uses."""
    from numbalite import errors
    from numbalite.compilers import nvrtc

    try:
        return nvrtc.open_library()[1]
    except errors.CudaSupportError as error:
        raise RowSkipped(f"no NVRTC: {str(error).splitlines()[0]}") from None


def nvrtc_alone(source, *options):
    """Returns the output of NVRTC for a source, in this process and as numbalite calls it:
    {"cubin", "log", ...}."""
    from numbalite import _core

    nvrtc_version()
    options = [f"--gpu-architecture={gpu_architecture()}", "--std=c++17", *options]
    result = _core.nvrtc_compile(source, "bench.cu", {}, options, [])
    if not result["cubin"]:
        raise RowSkipped(result["log"])
    return result


def gpu_architecture():
    from numbalite import cuda

    if cuda.is_simulated():
        return "sm_90"
    return "sm_{}{}".format(*cuda.get_current_device().compute_capability)


def device_calls(function):
    """Returns a measure of the time on the device, between two events around the calls."""
    from numbalite import cuda

    start, end = cuda.event(), cuda.event()

    def time_device_calls(count):
        cuda.synchronize()
        function()  # a kernel keeps the device busy while the timed calls are queued
        start.record()
        for _ in range(count):
            function()
        end.record()
        end.synchronize()
        return cuda.event_elapsed_time(start, end) / count * 1e3

    time_device_calls.function = function
    return time_device_calls


def device_median(function, inner=20, rounds=9):
    """Returns microseconds of one call on the device."""
    return median_in_turn(device_calls(function), count=inner, rounds=rounds, warm=0)[0]
