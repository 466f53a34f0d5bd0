"""Prints the cost of the simulator's checks: times of four kernels with each check, as a Markdown
table.

    python tests/bench/checks.py [--size 1.0] [--rounds 5]

Each entry is the processor time of a launch divided by that of the same launch without checks, the
minimum of several rounds, on one core: other load can only increase it. `none` compares unchecked
launches of two equal kernels, in alternation: one was checked before, the other never.
The first launch, which compiles, is not measured; the compile time is printed in a line below.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time

os.environ["NUMBALITE_DRIVER"] = "sim"
os.environ.setdefault("NUMBALITE_NUM_THREADS", "1")

import numpy as np

from numbalite import cuda

TILE = 16
TPB = 256
SETS = {  # the column's title -> the checks
    "memory": ["memory"], "unwritten": ["unwritten"], "race": ["race"], "sync": ["sync"],
    "hang": ["hang"], "divide": ["divide"], "overflow": ["overflow"], "nan": ["nan"], "stack": ["stack"], "stream": ["stream"],
    "all": ["all"],
}  # fmt: skip


def matmul(a, b, c):
    """
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    auto [j, i] = grid<2>();
    float sum = 0;
    for (int k = 0; k < a.shape[1]; k += TILE) {
        a_tile[y][x] = a(i, k + x);
        b_tile[y][x] = b(k + y, j);
        __syncthreads();
        for (int m = 0; m < TILE; ++m) sum += a_tile[y][m] * b_tile[m][x];
        __syncthreads();
    }
    c(i, j) = sum;
    """


def diffusion(u, v):
    """
    __shared__ float s[TILE + 2][TILE + 2];
    auto [j, i] = grid<2>();
    int x = threadIdx.x + 1, y = threadIdx.y + 1, n = u.shape[0];
    s[y][x] = u(i, j);
    if (y == 1) s[0][x] = u(max((int)i - 1, 0), j);
    if (y == TILE) s[TILE + 1][x] = u(min((int)i + 1, n - 1), j);
    if (x == 1) s[y][0] = u(i, max((int)j - 1, 0));
    if (x == TILE) s[y][TILE + 1] = u(i, min((int)j + 1, n - 1));
    __syncthreads();
    v(i, j) = s[y][x] + 0.2f * (s[y - 1][x] + s[y + 1][x] + s[y][x - 1] + s[y][x + 1] - 4 * s[y][x]);
    """


def reduction(x, out):
    """
    __shared__ float s[TPB];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = grid<1>(); i < x.size(); i += gridsize<1>()) sum += x[i];
    s[t] = sum;
    for (int w = TPB / 2; w > 0; w /= 2) {
        __syncthreads();
        if (t < w) s[t] += s[t + w];
    }
    if (t == 0) out[blockIdx.x] = s[0];
    """


def histogram(x, out):
    """
    __shared__ int bins[TPB];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (int i = grid<1>(); i < x.size(); i += gridsize<1>()) atomicAdd(&bins[x[i]], 1);
    __syncthreads();
    atomicAdd(&out[t], bins[t]);
    """


def make_workloads(size):
    """Returns {name: (function, grid, block, arguments)}."""
    random = np.random.default_rng(1)
    side = TILE * max(1, round(12 * size ** (1 / 3)))
    wide = TILE * max(1, round(24 * size**0.5))
    length = int(1_000_000 * size)
    square = lambda n: cuda.to_device(random.random((n, n), np.float32))
    values = cuda.to_device(random.random(length, np.float32))
    keys = cuda.to_device(random.integers(0, TPB, length).astype(np.int32))
    blocks = lambda n: (n // TILE, n // TILE)
    return {
        f"matmul, {side} × {side}, tiles in shared memory":
            (matmul, blocks(side), (TILE, TILE), [square(side), square(side), square(side)]),
        f"diffusion, {wide} × {wide}, tiles in shared memory":
            (diffusion, blocks(wide), (TILE, TILE), [square(wide), square(wide)]),
        f"reduction of {length} numbers":
            (reduction, 64, TPB, [values, cuda.to_device(np.zeros(64, np.float32))]),
        f"histogram of {length} numbers":
            (histogram, 64, TPB, [keys, cuda.to_device(np.zeros(TPB, np.int32))]),
    }  # fmt: skip


def launch_time(launch, rounds):
    """Returns (seconds of the first launch, minimum seconds of the later launches)."""

    def time_once():
        start = sum(os.times()[:4])  # includes the processor time of the compilers that were run
        begin = time.process_time()
        launch()
        cuda.synchronize()
        return time.process_time() - begin, sum(os.times()[:4]) - start

    first = time_once()[1]
    return first, min(time_once()[0] for _ in range(rounds))


def measure_checks(size, rounds):
    """Returns [(name, seconds without checks, {title: ratio})], and compile times in seconds without and with
    all checks."""
    rows, compiling = [], {"none": [], "all": []}
    for name, (function, grid, block, arguments) in make_workloads(size).items():
        kernel = cuda.jit(function)
        launch = lambda k=kernel[grid, block], a=arguments: k(*a)
        with cuda.checks("none"):
            first, base = launch_time(launch, rounds)
        compiling["none"].append(first - base)
        times = {}
        for title, checks in SETS.items():
            with cuda.checks(*checks):
                first, later = launch_time(launch, rounds)
            times[title] = later
            if title == "memory":  # the first check compiles the instrumented image
                compiling["all"].append(first - later)
        plain, times["none"] = unchecked_launch_times(
            function, grid, block, arguments, launch, rounds
        )
        ratios = {title: time / plain for title, time in times.items()}
        rows.append((name, plain, ratios))
    return rows, {title: statistics.median(times) for title, times in compiling.items()}


def unchecked_launch_times(function, grid, block, arguments, launch, rounds):
    """Returns the seconds of a launch of a twin that was never checked, and of a launch of the checked
    kernel."""
    fresh = cuda.jit(function)[grid, block]
    pairs = []
    for _ in range(5 * rounds):
        plain = launch_time(lambda: fresh(*arguments), 1)[1]
        with cuda.checks("none"):
            pairs.append((plain, launch_time(launch, 1)[1]))
    return tuple(map(min, zip(*pairs, strict=True)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=float, default=1.0, help="how much work, over the usual")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="numbalite-bench-") as folder:
        os.environ["NUMBALITE_CACHE_DIR"] = folder
        rows, compiling = measure_checks(given.size, given.rounds)
    titles = ["none", *SETS]
    print("| kernel | no checks |", " | ".join(titles), "|")
    print("|---" * (len(titles) + 2) + "|")
    for name, base, ratios in rows:
        numbers = " | ".join(
            f"{ratios[title]:.{1 if ratios[title] < 10 else 0}f}" for title in titles
        )
        print(f"| {name} | {base * 1e3:.1f} ms | {numbers} |")
    print(
        f"\nCompiling a kernel: {compiling['none']:.2f} s without checks, "
        f"{compiling['all']:.2f} s with those that watch every access."
    )


if __name__ == "__main__":
    sys.exit(main())
