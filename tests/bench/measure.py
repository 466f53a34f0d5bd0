"""What the rows of the benchmark are measured with: medians, fresh processes, the floors in C, events.

A row is a function that returns (ours, floor or None, limit or None) in the row's unit.
"""

import collections
import gc
import itertools
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROWS = {}
NOTES = []  # of the row that is being measured: what else is worth keeping
SMALL = bool(os.environ.get("NUMBALITE_BENCH_SMALL"))  # run.py --small

ADD3 = r"""
struct view { float* data; long long shape, stride; };
extern "C" __global__ void add3(view a, view b, view c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c.data[i] = a.data[i] + b.data[i];
}"""

# The texts' kernel: its body is what numbalite compiles too; views are what array<float, 2> is.
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


class LeftOut(Exception):
    """This row cannot be measured here; the text says why."""


class Row(NamedTuple):
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


def row(key, what, unit, target="", gpu=False, moved=None):
    """Registers a row. The function returns (ours, floor or None, limit or None)."""

    def register(function):
        ROWS[key] = Row(what, unit, target, gpu, moved, function)
        return function

    return register


def median(function, inner=1, sync=lambda: None, rounds=9, warm=0.0):
    """Microseconds of one call; `sync` runs between the rounds, outside the clock. `warm` is for how many
    seconds it is called before: processors take their time to run fast."""
    if SMALL:
        inner, rounds, warm = min(inner, 3), 1, 0
    function()
    sync()
    start = time.perf_counter()
    while time.perf_counter() - start < warm:
        for _ in itertools.repeat(None, inner):
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


def medians(*functions, rounds=9):
    """Microseconds of a call of each, in turn, so that a slow moment of the machine hits all of them."""
    times = [[] for _ in functions]
    for number in range(1 if SMALL else rounds + 1):
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            if number or SMALL:  # the first one is for warming up
                taken.append((time.perf_counter() - start) * 1e6)
    return [statistics.median(taken) for taken in times]


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


def close(got, want, rtol=1e-5):
    """A result is checked before it is timed."""
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol)


class Floor:
    """Runs floor.c, each part once. ``peers`` is what the others need: {peer: {row: value}}."""

    def __init__(self, folder, peers):
        self.folder, self.peers, self.parts = folder, peers, {}
        compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
        if not compiler:
            raise SystemExit("the floors need a C compiler")
        self.program = str(folder / "floor")
        source = [
            str(HERE / "floor.c"),
            f"-I{ROOT / 'cext'}",
            "-o",
            self.program,
            "-ldl",
            "-pthread",
        ]
        subprocess.run([compiler, "-O3", "-march=native", *source], check=True)

    def cubin(self, name="add3", source=ADD3):
        """A kernel for this GPU, compiled once, by nvcc where there is one."""
        path = self.folder / f"{name}.cubin"
        nvcc = shutil.which("nvcc")
        if path.exists():
            return str(path)
        if nvcc:
            text = path.with_suffix(".cu")
            text.write_text(source)
            command = [nvcc, "-O3", "-cubin", f"-arch={arch()}", "-o", str(path), str(text)]
            subprocess.run(command, check=True)
        else:
            path.write_bytes(nvrtc_alone(source)["cubin"])
        return str(path)

    def of_peer(self, peer, key):
        """What a peer needs for a row, or None."""
        return self.peers.get(peer, {}).get(key)

    def run(self, *words):
        if SMALL:
            return collections.defaultdict(lambda: 1.0)
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

    def diffusion(self, name, n=32):
        """Of one iteration of n x n: the program gives those of 1000."""
        return self.part("diffusion", self.cubin("diffusion", DIFFUSION), str(n))[name] / 1000

    def cpu(self, name):
        return self.part("cpu")[name]

    def copies(self, to_device, to_host):
        """Microseconds that so many bytes need on the bus, in then out, from page-locked memory."""
        speed = self.part("copies")
        return to_device / speed["to_device"] + to_host / speed["to_host"]


def nvrtc_version():
    """Of the NVRTC that numbalite uses."""
    from numbalite import errors
    from numbalite.compilers import nvrtc

    try:
        return nvrtc.open_library()[1]
    except errors.CudaSupportError as error:
        raise LeftOut(f"no NVRTC: {str(error).splitlines()[0]}") from None


def nvrtc_alone(source, *options):
    """What NVRTC itself makes of a source, in this process and as numbalite calls it: {"cubin", "log", ...}."""
    from numbalite import _core

    nvrtc_version()
    options = [f"--gpu-architecture={arch()}", "--std=c++17", *options]
    result = _core.nvrtc_compile(source, "bench.cu", {}, options, [])
    if not result["cubin"]:
        raise LeftOut(result["log"])
    return result


def arch():
    from numbalite import cuda

    if cuda.is_simulated():
        return "sm_90"
    return "sm_{}{}".format(*cuda.get_current_device().compute_capability)


def device_median(function, inner=20, rounds=9):
    """Microseconds of one call on the device, between two events; `inner` calls lie between them."""
    from numbalite import cuda

    if SMALL:
        inner, rounds = 1, 1

    start, end = cuda.event(), cuda.event()
    function()
    times = []
    for _ in range(rounds):
        cuda.synchronize()
        start.record()
        for _ in range(inner):
            function()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end) / inner * 1e3)
    return statistics.median(times)
