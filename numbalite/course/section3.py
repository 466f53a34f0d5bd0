"""Defines the exercises of the third section: two-dimensional grids, shared memory, and the order of
accesses."""

from __future__ import annotations

import math

import numpy as np

from numbalite.judge.guarded import unwritten
from numbalite.types.tolerance import Tolerance

from .assessment import Assessment, block_count, count_with_noun, exercise
from .counters import Limit

_SECTORS = 6.5
"""Sectors for 32 float32 of one row: 4, or 5 if the row does not begin at a sector; of two rows 6."""
COALESCED = (
    Limit(
        "load_sectors_per_request",
        most=_SECTORS,
        hint="Let neighbouring threads, which differ in threadIdx.x, read neighbouring elements.",
    ),
    Limit(
        "store_sectors_per_request",
        most=_SECTORS,
        hint="Let neighbouring threads, which differ in threadIdx.x, write neighbouring elements.",
    ),
)
NO_CONFLICTS = Limit(
    "bank_conflicts",
    most=0,
    hint="Add a column to the tile: then the elements of a column are in different banks.",
)


class _SharedTileExercise(Assessment):
    """Exercise base: a kernel whose blocks work on a tile in shared memory."""

    section = 3
    wants = "kernel"
    launches = (1, 1)
    shared = 1
    """Bytes of shared memory that a block has to use, at least."""
    why_shared = "Bring what the block needs into __shared__ memory first."

    def properties(self, solution):
        used = solution.get_shared_mem_per_block()
        used = max(used.values(), default=0) if isinstance(used, dict) else used
        if used >= self.shared:
            return None
        return (
            f"The results are right, but a block uses {used} bytes of shared memory; "
            f"{self.shared:,} are needed at least. {self.why_shared}"
        )


def _column_count(n):
    """Returns a number of columns for a matrix with n rows: sometimes more, sometimes fewer than rows; equal
    to the rows for a large matrix."""
    if n > 1000:
        return n
    return n + n // 3 + 1 if n % 2 else max(1, n - n // 4)


@exercise
class Rotate(_SharedTileExercise):
    """Exercise: a picture rotated by 90 degrees to the right; neighbouring threads read and write
    neighbouring elements of rows."""

    name = "rotate"
    parameters = ("a", "out")
    outputs = ("out",)
    sizes = (1, 2, 3, 31, 32, 33, 64, 65, 100)
    checked = (33,)
    counted = 100
    limits = (*COALESCED, NO_CONFLICTS)
    large = (8192, 96)
    shared = 32 * 32 * 4
    limit = 1.3
    why_shared = "Read a tile by rows, and write it by rows of the result."
    hint = "Do neighbouring threads write to neighbouring places, and read from different banks?"

    def make(self, rng, n):
        a = rng.random((n, _column_count(n)), np.float32)
        return a, unwritten(a.shape[::-1], np.float32)

    def expected(self, a, out):
        return np.rot90(a, -1).copy()

    def said(self, n):
        return f"{count_with_noun(n, 'row')} of {_column_count(n):,}"

    def call(self, solution, a, out):
        rows, columns = a.shape
        solution[(block_count(columns, 32), block_count(rows, 32)), (32, 32)](a, out)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def rotate(a, out):
            """
            __shared__ float tile[32][33];
            auto [column, row] = grid<2>();
            int rows = a.shape[0], columns = a.shape[1];
            if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = a(row, column);
            __syncthreads();
            int from_row = blockIdx.y * 32 + threadIdx.x, from_column = blockIdx.x * 32 + threadIdx.y;
            if (from_row < rows && from_column < columns)
                out(from_column, rows - 1 - from_row) = tile[threadIdx.x][threadIdx.y];
            """

        return rotate


class _RowProducts(_SharedTileExercise):
    """Exercise: the products of the n rows of one matrix and the rows of another, by tiles of 16 by 16."""

    sizes = (1, 2, 3, 15, 16, 17, 33, 50)
    checked = (17,)
    counted = 50
    limits = COALESCED
    large = (2400, 96)
    shared = 2 * 16 * 16 * 4
    limit = 1.5

    def second_matrix_shape(self, n):
        """Returns (rows of the other matrix, columns of both matrices)"""
        return n if n > 1000 else max(1, n // 2), _column_count(n)

    def said(self, n):
        rows, inner = self.second_matrix_shape(n)
        return f"{n} and {rows} rows of {inner} numbers"


@exercise
class AllPairs(_RowProducts):
    """Exercise: c[i, j] is the product of row i of a and row j of b, by tiles of 16 by 16 in shared
    memory."""

    name = "all_pairs"
    parameters = ("a", "b", "c")
    outputs = ("c",)
    terms = 70

    def make(self, rng, n):
        columns, inner = self.second_matrix_shape(n)
        a, b = rng.random((n, inner), np.float32), rng.random((columns, inner), np.float32)
        return a, b, unwritten((n, columns), np.float32)

    def expected(self, a, b, c):
        return (np.float64(a) @ np.float64(b).T).astype(np.float32)

    def allowed(self, dtype):
        return Tolerance(1e-4, 0.0)  # all terms are positive: no cancellation

    def call(self, solution, a, b, c):
        rows, columns = c.shape
        solution[(block_count(columns, 16), block_count(rows, 16)), (16, 16)](a, b, c)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def all_pairs(a, b, c):
            """
            __shared__ float left[16][17], right[16][17];
            auto [column, row] = grid<2>();
            int x = threadIdx.x, y = threadIdx.y, inner = a.shape[1];
            int other = blockIdx.x * 16 + y;
            float sum = 0;
            for (int start = 0; start < inner; start += 16) {
                bool inside = start + x < inner;
                left[y][x] = inside && row < a.shape[0] ? a(row, start + x) : 0.0f;
                right[y][x] = inside && other < b.shape[0] ? b(other, start + x) : 0.0f;
                __syncthreads();
                for (int k = 0; k < 16; ++k) sum += left[y][k] * right[x][k];
                __syncthreads();
            }
            if (row < c.shape[0] && column < c.shape[1]) c(row, column) = sum;
            """

        return all_pairs


@exercise
class Smooth(_SharedTileExercise):
    """Exercise: out[i] is the mean of the nine values around x[i]; a tile has a halo of four elements on both
    sides."""

    name = "smooth"
    parameters = ("x", "out")
    outputs = ("out",)
    limits = (*COALESCED, NO_CONFLICTS)
    large = (50_000_000, 20_000)
    shared = (128 + 8) * 4
    limit = 2.0
    why_shared = "A tile holds the block's 128 values and four more on each side."
    threads = 128

    def make(self, rng, n):
        return rng.random(n, np.float32), unwritten(n, np.float32)

    def expected(self, x, out):
        padded = np.pad(np.float64(x), 4)
        return (np.lib.stride_tricks.sliding_window_view(padded, 9).sum(-1) / 9).astype(np.float32)

    def call(self, solution, x, out):
        solution[block_count(x.size, self.threads), self.threads](x, out)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def smooth(x, out):
            """
            __shared__ float tile[128 + 8];
            int t = threadIdx.x, first = blockIdx.x * 128 - 4;
            for (int k = t; k < 128 + 8; k += 128) {
                int from = first + k;
                tile[k] = from >= 0 && from < x.size() ? x[from] : 0.0f;
            }
            __syncthreads();
            float sum = 0;
            for (int k = 0; k < 9; ++k) sum += tile[t + k];
            int i = grid<1>();
            if (i < out.size()) out[i] = sum / 9;
            """

        return smooth


@exercise
class Dot(_SharedTileExercise):
    """Exercise: add the sum of all products to out[0]; each block adds up its own products first."""

    name = "dot"
    parameters = ("x", "y", "out")
    outputs = ("out",)
    limits = (
        COALESCED[0],
        Limit(
            "active_lanes",
            least=16,
            hint="Let the first threads of the block go on adding, not every second one: then whole warps are done.",
        ),
    )
    large = (100_000_000, 20_000)
    shared = 4
    limit = 1.5
    hint = "One atomic addition for each block is enough."
    threads = 256

    def make(self, rng, n):
        x, y = rng.random((2, n), np.float32)
        return x, y, rng.random(1, np.float32)

    def expected(self, x, y, out):
        return (np.dot(np.float64(x), np.float64(y)) + np.float64(out)).astype(np.float32)

    def allowed(self, dtype):
        return Tolerance(1e-4, 0.0)

    def call(self, solution, x, y, out):
        solution[min(1024, block_count(x.size, self.threads)), self.threads](x, y, out)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def dot(x, y, out):
            """
            __shared__ float part[256];
            int t = threadIdx.x;
            float sum = 0;
            for (int i = grid<1>(); i < x.size(); i += gridsize<1>()) sum += x[i] * y[i];
            part[t] = sum;
            for (int half = 128; half > 0; half /= 2) {
                __syncthreads();
                if (t < half) part[t] += part[t + half];
            }
            if (t == 0) atomicAdd(&out[0], part[0]);
            """

        return dot


@exercise
class BankConflicts(Assessment):
    """Exercise: the number of a warp's 32 threads that access the same bank when thread t reads the float s[t
    * stride]."""

    name = "bank_conflicts"
    section = 3
    wants = "function"
    parameters = ("stride",)
    sizes = tuple(range(1, 70))
    checked = ()
    launches = (0, None)
    counted = 7
    large = None

    def make(self, rng, n):
        return (n,)

    def expected(self, stride):
        return np.asarray(math.gcd(stride, 32))

    def said(self, n):
        return f"a stride of {n}"

    def reference(self):
        def bank_conflicts(stride):
            banks = [t * stride % 32 for t in range(32)]
            return max(banks.count(bank) for bank in banks)

        return bank_conflicts


@exercise
class Wave(Assessment):
    """Exercise: waves on a membrane, step by step, with three alternating arrays."""

    name = "wave"
    section = 3
    wants = "function"
    parameters = ("before", "now", "steps")
    sizes = (1, 2, 3, 7, 8, 9, 16, 17, 33)
    checked = (9,)
    launches = (6, None)
    counted = 40
    limits = COALESCED
    large = (2000, 64)
    limit = 2.0
    hint = "Is anything made or copied in every step? Do neighbouring threads read along a row?"

    def make(self, rng, n):
        before, now = rng.uniform(-1, 1, (2, n, _column_count(n))).astype(np.float32)
        return before, now, (100 if n >= 1000 else 6 if n == self.counted else 1 + n % 5)

    def expected(self, before, now, steps):
        before, now = np.float64(before), np.float64(now)
        for _ in range(steps):
            p = np.pad(now, 1)
            around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
            before, now = now, 2 * now - before + 0.2 * (around - 4 * now)
        return now.astype(np.float32)

    def allowed(self, dtype):
        return Tolerance(1e-4, 1e-4)

    def said(self, n):
        return f"a membrane of {n:,} x {_column_count(n):,} points"

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def step(before, now, after):
            """
            auto [column, row] = grid<2>();
            int rows = now.shape[0], columns = now.shape[1];
            if (row >= rows || column >= columns) return;
            auto at = [&](int r, int c) {
                return r >= 0 && r < rows && c >= 0 && c < columns ? now(r, c) : 0.0f;
            };
            float around = at(row - 1, column) + at(row + 1, column)
                         + at(row, column - 1) + at(row, column + 1);
            float middle = now(row, column);
            after(row, column) = 2 * middle - before(row, column) + 0.2f * (around - 4 * middle);
            """

        def wave(before, now, steps):
            rows, columns = now.shape
            launch = step[(block_count(columns, 32), block_count(rows, 8)), (32, 8)]
            fields = [cuda.device_array_like(now) for _ in range(3)]
            for i in range(steps):
                after = fields[i % 3]
                launch(before, now, after)
                before, now = now, after
            return now

        return wave


@exercise
class BestMatch(_RowProducts):
    """Assessment of the third section: the largest product of each row of b with a row of a."""

    name = "best_match"
    points = 3
    parameters = ("a", "b", "best")
    outputs = ("best",)
    why_shared = "Tiles of both matrices belong there."
    hint = (
        "Do the threads of a warp read the tiles from different banks? Is there one atomic "
        "operation for each column of a block, and not for each thread?"
    )

    def make(self, rng, n):
        rows, inner = self.second_matrix_shape(n)
        a = rng.uniform(-1, 1, (n, inner)).astype(np.float32)
        b = rng.uniform(-1, 1, (rows, inner)).astype(np.float32)
        return a, b, np.full(rows, -np.inf, np.float32)

    def expected(self, a, b, best):
        return (np.float64(a) @ np.float64(b).T).max(axis=0).astype(np.float32)

    def allowed(self, dtype):
        return Tolerance(1e-4, 1e-5, 1e-5)

    def call(self, solution, a, b, best):
        solution[(block_count(b.shape[0], 16), block_count(a.shape[0], 16)), (16, 16)](a, b, best)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def best_match(a, b, best):
            """
            __shared__ float left[16][17], right[16][17];
            auto [column, row] = grid<2>();
            int x = threadIdx.x, y = threadIdx.y, inner = a.shape[1];
            int other = blockIdx.x * 16 + y;
            float sum = 0;
            for (int start = 0; start < inner; start += 16) {
                bool inside = start + x < inner;
                left[y][x] = inside && row < a.shape[0] ? a(row, start + x) : 0.0f;
                right[y][x] = inside && other < b.shape[0] ? b(other, start + x) : 0.0f;
                __syncthreads();
                for (int k = 0; k < 16; ++k) sum += left[y][k] * right[x][k];
                __syncthreads();
            }
            left[y][x] = row < a.shape[0] ? sum : -INFINITY;
            for (int half = 8; half > 0; half /= 2) {
                __syncthreads();
                if (y < half) left[y][x] = fmaxf(left[y][x], left[y + half][x]);
            }
            if (y == 0 && column < b.shape[0]) atomic_max(&best[column], left[0][x]);
            """

        return best_match
