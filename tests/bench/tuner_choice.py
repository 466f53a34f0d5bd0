"""Compares the variant that `cuda.autotune` selects with the fastest of all variants, for twenty kernels.

    python tests/bench/tuner_choice.py [--only sine,transpose]

Needs a GPU. Each kernel is tuned twice: a tenth of its variants are measured, as by default, and then all of
them. The variants that the two searches select are then timed in turn. Prints a Markdown table for docs/tuning.md.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from typing import NamedTuple

import numpy as np

from numbalite import config, cuda

BLOCKS = [32, 64, 128, 256, 512, 1024]
ROUNDS = 30


class Tunable(NamedTuple):
    """A kernel and its variants. launch(n, **constants) returns the grid and the block for n elements or rows."""

    name: str
    signature: str
    body: str
    over: dict
    launch: object
    arguments: object


def vector_maker(*types, size=1 << 24):
    """Returns a function that creates arrays of random elements, and passes their size."""

    def make():
        rng = np.random.default_rng(1)
        arrays = [
            rng.random(size, np.float32) if name == "f" else rng.integers(0, size, size, np.int32)
            for name in types
        ]
        return [*map(cuda.to_device, arrays), size]

    return make


def matrix_maker(count, rows=4096, columns=4096):
    def make():
        rng = np.random.default_rng(1)
        return [
            *(cuda.to_device(rng.random((rows, columns), np.float32)) for _ in range(count)),
            rows,
        ]

    return make


def elementwise_kernel(name, parameters, statement, types):
    """Each thread computes ITEMS elements, which are neighbors or a block's width apart (STRIPED)."""
    body = f"""
        long first = (long)blockIdx.x * BLOCK * ITEMS + (STRIPED ? threadIdx.x : threadIdx.x * ITEMS);
        #pragma unroll UNROLL
        for (int item = 0; item < ITEMS; ++item) {{
            long i = first + item * (STRIPED ? BLOCK : 1);
            if (i < n) {{ {statement} }}
        }}"""
    over = {"BLOCK": BLOCKS, "ITEMS": [1, 2, 4, 8, 16], "STRIPED": [True, False], "UNROLL": [1, 4]}
    launch = lambda n, BLOCK, ITEMS: (-(-n // (BLOCK * ITEMS)), BLOCK)
    return Tunable(name, f"{parameters}, n", body, over, launch, vector_maker(*types))


def row_reduction_kernel(name, start, combine, merge, finish="total"):
    """LANES threads reduce a row of 2048 elements; a block of BLOCK threads reduces BLOCK / LANES rows."""
    body = f"""
        int lane = threadIdx.x % LANES, row = blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES;
        float total = {start};
        if (row < n) {{
            #pragma unroll UNROLL
            for (int j = lane; j < x.shape[1]; j += LANES) {{ float v = x(row, j); {combine} }}
        }}
        #pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2) {{
            float v = __shfl_xor_sync(0xffffffff, total, step); {merge}
        }}
        if (row < n && lane == 0) y(row, 0) = {finish};"""
    over = {"BLOCK": BLOCKS, "LANES": [2, 4, 8, 16, 32], "UNROLL": [1, 2, 4, 8]}
    launch = lambda n, BLOCK, LANES: (-(-n // (BLOCK // LANES)), BLOCK)
    return Tunable(name, "x, y, n", body, over, launch, matrix_maker(2))


def tiled_kernel(name, statement):
    """A block of X * Y threads computes a tile of X columns and Y * ITEMS rows."""
    body = f"""
        int j = blockIdx.x * X + threadIdx.x, top = blockIdx.y * Y * ITEMS + threadIdx.y;
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {{
            int i = top + item * Y;
            if (i >= 2 && i < n - 2 && j >= 2 && j < n - 2) {{ {statement} }}
        }}"""
    over = {"X": [8, 16, 32, 64, 128, 256], "Y": [1, 2, 4, 8], "ITEMS": [1, 2, 4, 8, 16]}
    launch = lambda n, X, Y, ITEMS: ((-(-n // X), -(-n // (Y * ITEMS))), (X, Y))
    return Tunable(name, "x, y, n", body, over, launch, matrix_maker(2))


def shared_tile_kernel(name, statement):
    """Square tiles of side TILE pass through shared memory; ROWS rows of threads compute a tile."""
    body = f"""
        __shared__ float tile[TILE][TILE + PAD];
        int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
        #pragma unroll UNROLL
        for (int k = threadIdx.y; k < TILE; k += ROWS)
            if (top + k < n && left + threadIdx.x < n) tile[k][threadIdx.x] = x(top + k, left + threadIdx.x);
        __syncthreads();
        #pragma unroll UNROLL
        for (int k = threadIdx.y; k < TILE; k += ROWS) {{ {statement} }}"""
    over = {"TILE": [8, 16, 32, 64], "ROWS": [1, 2, 4, 8, 16], "PAD": [0, 1], "UNROLL": [1, 2, 8]}
    launch = lambda n, TILE, ROWS: ((-(-n // TILE), -(-n // TILE)), (TILE, ROWS))
    return Tunable(name, "x, y, n", body, over, launch, matrix_maker(2))


def vector_stencil_kernel(name, radius):
    """A thread computes ITEMS elements; SHARED: the block's elements are loaded into shared memory first."""
    body = f"""
        __shared__ float near[SHARED ? BLOCK * ITEMS + {2 * radius} : 1];
        long first = (long)blockIdx.x * BLOCK * ITEMS;
        if (SHARED) {{
            for (int k = threadIdx.x; k < BLOCK * ITEMS + {2 * radius}; k += BLOCK) {{
                long i = first + k - {radius};
                near[k] = i >= 0 && i < n ? x[i] : 0.f;
            }}
            __syncthreads();
        }}
        #pragma unroll UNROLL
        for (int item = 0; item < ITEMS; ++item) {{
            int k = item * BLOCK + threadIdx.x;
            long i = first + k;
            float total = 0;
            if (i >= {radius} && i < n - {radius}) {{
                #pragma unroll
                for (int d = 0; d <= {2 * radius}; ++d) total += SHARED ? near[k + d] : x[i + d - {radius}];
                y[i] = total;
            }}
        }}"""
    over = {"BLOCK": BLOCKS, "ITEMS": [1, 2, 4, 8, 16], "SHARED": [False, True], "UNROLL": [1, 4]}
    launch = lambda n, BLOCK, ITEMS: (-(-n // (BLOCK * ITEMS)), BLOCK)
    return Tunable(name, "x, y, n", body, over, launch, vector_maker("f", "f"))


_HASH = (
    "unsigned h = x[i]; for (int k = 0; k < 32; ++k) h = (h ^ (h >> 15)) * 0x2c1b3c6du; y[i] = h;"
)
_POLYNOMIAL = "float v = x[i], p = 0; for (int k = 0; k < 48; ++k) p = fmaf(p, v, 0.5f); y[i] = p;"
_MANDELBROT = """
    float a = (i % 2048) / 1024.f - 1.5f, b = (i / 2048) / 1024.f - 1.f, u = 0, v = 0;
    int k = 0;
    for (; k < 64 && u * u + v * v < 4; ++k) { float t = u * u - v * v + a; v = 2 * u * v + b; u = t; }
    y[i] = k;"""
_BLUR = """
    float total = 0;
    for (int a = -2; a <= 2; ++a) for (int b = -2; b <= 2; ++b) total += x(i + a, j + b);
    y(i, j) = total / 25;"""
_FIVE_POINTS = "y(i, j) = x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1) - 4 * x(i, j);"
_TRANSPOSED = "if (left + k < n && top + threadIdx.x < n) y(left + k, top + threadIdx.x) = tile[threadIdx.x][k];"
_FLIPPED = """
    int j = left + TILE - 1 - threadIdx.x;
    if (top + k < n && j < n) y(top + k, n - 1 - j) = tile[k][TILE - 1 - threadIdx.x];"""

KERNELS = [
    elementwise_kernel("copy", "x, y", "y[i] = x[i];", "ff"),
    elementwise_kernel("scale", "x", "x[i] *= 1.5f;", "f"),
    elementwise_kernel("add", "x, y, z", "z[i] = x[i] + y[i];", "fff"),
    elementwise_kernel("triad", "x, y, z", "z[i] = x[i] + 3 * y[i];", "fff"),
    elementwise_kernel("sine", "x, y", "y[i] = sinf(100 * x[i]);", "ff"),
    elementwise_kernel("polynomial", "x, y", _POLYNOMIAL, "ff"),
    elementwise_kernel("hash", "x, y", _HASH, "ii"),
    elementwise_kernel("mandelbrot", "y", _MANDELBROT, "i"),
    elementwise_kernel("gather", "index, x, y", "y[i] = x[index[i]];", "iff"),
    vector_stencil_kernel("stencil of 3 points", 1),
    vector_stencil_kernel("stencil of 9 points", 4),
    row_reduction_kernel("sum of rows", "0", "total += v;", "total += v;"),
    row_reduction_kernel(
        "maximum of rows", "-1", "total = fmaxf(total, v);", "total = fmaxf(total, v);"
    ),
    row_reduction_kernel("norm of rows", "0", "total += v * v;", "total += v;", "sqrtf(total)"),
    row_reduction_kernel("count of rows", "0", "total += v > 0.5f;", "total += v;"),
    row_reduction_kernel("sum of exponentials of rows", "0", "total += expf(v);", "total += v;"),
    tiled_kernel("2-D stencil", _FIVE_POINTS),
    tiled_kernel("blur", _BLUR),
    shared_tile_kernel("transpose", _TRANSPOSED),
    shared_tile_kernel("flip", _FLIPPED),
]


def tuned_kernel(given, trials=None, prune=True):
    source = f"def kernel({given.signature}):\n    {given.body!r}\n"
    names: dict = {}
    exec(source, names)
    return cuda.autotune(over=given.over, trials=trials, prune=prune)(cuda.jit(names["kernel"]))


def tune(given, args, **options):
    """Returns the table of the tuning, and its seconds."""
    tuned = tuned_kernel(given, **options)
    begin = time.perf_counter()
    tuned[given.launch](*args)
    cuda.synchronize()
    return tuned, time.perf_counter() - begin


def time_in_turn(given, tuned, choices, args):
    """Returns the median milliseconds of two variants, whose launches alternate. The caches are flushed
    before each launch."""
    flushed = cuda.device_array(1 << 25, np.float32)
    times = [[], []]
    for _ in range(ROUNDS):
        for constants, found in zip(choices, times):
            names = given.launch.__code__.co_varnames
            grid, block = given.launch(
                args[-1], **{k: v for k, v in constants.items() if k in names}
            )
            flushed.fill(0)
            begin, end = cuda.event(), cuda.event()
            begin.record()
            tuned.variant(**constants)[grid, block](*args)
            end.record()
            cuda.synchronize()
            found.append(cuda.event_elapsed_time(begin, end))
    return [statistics.median(found) for found in times]


def measure(given):
    args = given.arguments()
    part, seconds = tune(given, args)
    whole, all_seconds = tune(
        given, args, trials=math.prod(map(len, given.over.values())), prune=False
    )
    choices = part.tuning.best.constants, whole.tuning.best.constants
    chosen, fastest = time_in_turn(given, whole, choices, args)
    print(
        f"| {given.name} | {len(part.tuning)} | {part.tuning.measured} | {chosen / fastest:.2f} | "
        f"{seconds:.1f} | {all_seconds:.1f} | {part.tuning.best} | {whole.tuning.best} |", flush=True
    )  # fmt: skip
    return chosen / fastest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of kernels, with commas")
    only = parser.parse_args().only
    config.DISABLE_CACHE = 1
    print(
        "| kernel | variants | measured | time / fastest | seconds | all: seconds | choice | fastest |"
    )
    print("|---|---|---|---|---|---|---|---|")
    ratios = [measure(k) for k in KERNELS if not only or k.name in only.split(",")]
    print(f"\n{sum(ratio <= 1.02 for ratio in ratios)} of {len(ratios)} within 2 %")


if __name__ == "__main__":
    main()
