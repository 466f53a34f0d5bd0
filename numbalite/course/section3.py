"""The exercises of the third section: two-dimensional grids, shared memory, and the order of accesses."""

from __future__ import annotations

import math

import numpy as np

from .assessment import Assessment, blocks, exercise, unwritten


class _Shared(Assessment):
    """A kernel whose blocks work on a tile in shared memory."""

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


def _widths(n):
    """Columns of a matrix with n rows: now more, now fewer."""
    return n + n // 3 + 1 if n % 2 else max(1, n - n // 4)


@exercise
class Transpose(_Shared):
    """out = a.T, with rows read and rows written by neighbouring threads."""

    name = "transpose"
    parameters = ("a", "out")
    outputs = ("out",)
    sizes = (1, 2, 3, 31, 32, 33, 64, 65, 100)
    checked = (33,)
    counted = 100
    large = (8192, 96)
    shared = 32 * 32 * 4
    limit = 1.3
    why_shared = "Read a tile by rows, and write it by rows of the result."
    hint = "Do neighbouring threads write to neighbouring places, and read from different banks?"

    def make(self, rng, n):
        a = rng.random((n, n if n > 1000 else _widths(n)), np.float32)
        return a, unwritten(a.shape[::-1], np.float32)

    def expected(self, a, out):
        return np.ascontiguousarray(a.T)

    def said(self, n):
        return f"{n:,} row{'' if n == 1 else 's'} of {n if n > 1000 else _widths(n):,}"

    def call(self, solution, a, out):
        rows, columns = a.shape
        solution[(blocks(columns, 32), blocks(rows, 32)), (32, 32)](a, out)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def transpose(a, out):
            """
            __shared__ float tile[32][33];
            auto [column, row] = grid<2>();
            if (row < a.shape[0] && column < a.shape[1])
                tile[threadIdx.y][threadIdx.x] = a(row, column);
            __syncthreads();
            int to_column = blockIdx.y * 32 + threadIdx.x, to_row = blockIdx.x * 32 + threadIdx.y;
            if (to_row < out.shape[0] && to_column < out.shape[1])
                out(to_row, to_column) = tile[threadIdx.x][threadIdx.y];
            """

        return transpose


@exercise
class MatmulTiled(_Shared):
    """c = a @ b, by tiles of 16 by 16 in shared memory."""

    name = "matmul_tiled"
    parameters = ("a", "b", "c")
    outputs = ("c",)
    sizes = (1, 2, 3, 15, 16, 17, 33, 50)
    checked = (17,)
    counted = 50
    terms = 70
    large = (2400, 96)
    shared = 2 * 16 * 16 * 4
    limit = 1.5

    def make(self, rng, n):
        inner, columns = (n, n) if n > 1000 else (_widths(n), max(1, n // 2))
        a, b = rng.random((n, inner), np.float32), rng.random((inner, columns), np.float32)
        return a, b, unwritten((n, columns), np.float32)

    def expected(self, a, b, c):
        return (np.float64(a) @ np.float64(b)).astype(np.float32)

    def allowed(self, dtype):
        from .compare import Tolerance

        return Tolerance(1e-4, 0.0)  # all terms are positive: nothing cancels

    def said(self, n):
        inner, columns = (n, n) if n > 1000 else (_widths(n), max(1, n // 2))
        return f"{n} x {inner} times {inner} x {columns}"

    def call(self, solution, a, b, c):
        rows, columns = c.shape
        solution[(blocks(columns, 16), blocks(rows, 16)), (16, 16)](a, b, c)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def matmul_tiled(a, b, c):
            """
            __shared__ float left[16][16], right[16][16];
            auto [column, row] = grid<2>();
            int x = threadIdx.x, y = threadIdx.y, inner = a.shape[1];
            bool in_row = row < c.shape[0], in_column = column < c.shape[1];
            float sum = 0;
            for (int start = 0; start < inner; start += 16) {
                left[y][x] = in_row && start + x < inner ? a(row, start + x) : 0.0f;
                right[y][x] = in_column && start + y < inner ? b(start + y, column) : 0.0f;
                __syncthreads();
                for (int k = 0; k < 16; ++k) sum += left[y][k] * right[k][x];
                __syncthreads();
            }
            if (in_row && in_column) c(row, column) = sum;
            """

        return matmul_tiled


@exercise
class Smooth(_Shared):
    """out[i] is the mean of the nine values around x[i]; a tile with a halo of four on both sides."""

    name = "smooth"
    parameters = ("x", "out")
    outputs = ("out",)
    large = (50_000_000, 20_000)
    shared = (128 + 8) * 4
    why_shared = "A tile holds the block's 128 values and four more on each side."
    threads = 128

    def make(self, rng, n):
        return rng.random(n, np.float32), unwritten(n, np.float32)

    def expected(self, x, out):
        padded = np.pad(np.float64(x), 4)
        return (np.lib.stride_tricks.sliding_window_view(padded, 9).sum(-1) / 9).astype(np.float32)

    def call(self, solution, x, out):
        solution[blocks(x.size, self.threads), self.threads](x, out)

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
class Total(_Shared):
    """total[0] grows by the sum of all elements; each block adds up its share first."""

    name = "total"
    parameters = ("x", "total")
    outputs = ("total",)
    large = (100_000_000, 20_000)
    shared = 4
    limit = 1.5
    hint = "One atomic addition for each block is enough."
    threads = 256

    def make(self, rng, n):
        return rng.random(n, np.float32), rng.random(1, np.float32)

    def expected(self, x, total):
        return (np.float64(x).sum() + np.float64(total)).astype(np.float32)

    def allowed(self, dtype):
        from .compare import Tolerance

        return Tolerance(1e-4, 0.0)

    def call(self, solution, x, total):
        solution[min(1024, blocks(x.size, self.threads)), self.threads](x, total)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def total(x, total):
            """
            __shared__ float part[256];
            int t = threadIdx.x;
            float sum = 0;
            for (int i = grid<1>(); i < x.size(); i += gridsize<1>()) sum += x[i];
            part[t] = sum;
            for (int half = 128; half > 0; half /= 2) {
                __syncthreads();
                if (t < half) part[t] += part[t + half];
            }
            if (t == 0) atomicAdd(&total[0], part[0]);
            """

        return total


@exercise
class BankConflicts(Assessment):
    """How many of a warp's 32 threads meet in a bank when thread t reads the float s[t * stride]."""

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
class Diffuse(Assessment):
    """The assessment of the third section: steps of diffusion, on the device, from tile to tile."""

    name = "diffuse"
    section = 3
    wants = "function"
    parameters = ("field", "steps")
    sizes = (1, 2, 3, 7, 8, 9, 16, 17, 33)
    checked = (9,)
    launches = (5, None)
    counted = 40
    large = (2000, 64)
    limit = 1.6
    simulated_limit = 10.0
    hint = "Two fields that take turns are enough; is anything made or copied in every step?"

    def make(self, rng, n):
        shape = (n, n) if n >= 1000 else (n, _widths(n))
        return rng.random(shape, np.float32), (100 if n >= 1000 else 5)

    def expected(self, field, steps):
        field = np.float64(field)
        for _ in range(steps):
            p = np.pad(field, 1)
            around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
            field = field - 0.25 * (4 * field - around)
        return field.astype(np.float32)

    def allowed(self, dtype):
        from .compare import Tolerance

        return Tolerance(1e-4, 1e-5)

    def said(self, n):
        shape = (n, n) if n >= 1000 else (n, _widths(n))
        return f"a field of {shape[0]:,} x {shape[1]:,}"

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def step(old, updated):
            """
            __shared__ float tile[10][34];
            int x = threadIdx.x + 1, y = threadIdx.y + 1;
            int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
            int rows = old.shape[0], columns = old.shape[1];
            auto at = [&](int r, int c) {
                return r >= 0 && r < rows && c >= 0 && c < columns ? old(r, c) : 0.0f;
            };
            tile[y][x] = at(row, column);
            if (y == 1) tile[0][x] = at(row - 1, column);
            if (y == 8) tile[9][x] = at(row + 1, column);
            if (x == 1) tile[y][0] = at(row, column - 1);
            if (x == 32) tile[y][33] = at(row, column + 1);
            __syncthreads();
            if (row >= rows || column >= columns) return;
            float around = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
            updated(row, column) = tile[y][x] - 0.25f * (4 * tile[y][x] - around);
            """

        def diffuse(field, steps):
            rows, columns = field.shape
            launch = step[(blocks(columns, 32), blocks(rows, 8)), (32, 8)]
            pair = cuda.device_array_like(field), cuda.device_array_like(field)
            old = field  # read once, and left as it is
            for i in range(steps):
                launch(old, pair[i % 2])
                old = pair[i % 2]
            return old

        return diffuse
