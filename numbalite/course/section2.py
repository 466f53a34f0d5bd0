"""Defines the exercises of the second section: kernels, grids, grid-stride loops, atomics, races, random
numbers."""

from __future__ import annotations

import numpy as np

from numbalite.judge.guarded import unwritten

from .assessment import (
    Assessment,
    block_count,
    count_with_noun,
    drawn_element_count,
    exercise,
    repeat_to_length,
)


class _KernelExercise(Assessment):
    """Exercise base: a kernel that the judge launches, with one thread per element."""

    section = 2
    wants = "kernel"
    threads = 128
    launches = (1, 1)

    def call(self, solution, *arguments):
        solution[block_count(self.thread_count(arguments), self.threads), self.threads](*arguments)

    def thread_count(self, arguments):
        """Returns the number of threads that a call needs."""
        return arguments[-1].size


@exercise
class VAdd(_KernelExercise):
    """out[i] = a[i] + b[i]"""

    name = "vadd"
    parameters = ("a", "b", "out")
    outputs = ("out",)
    large = (100_000_000, 100_000)

    def make(self, rng, n):
        a, b = rng.random((2, n), np.float32)
        return a, b, unwritten(n, np.float32)

    def expected(self, a, b, out):
        return a + b

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def vadd(a, b, out):
            """
            int i = grid<1>();
            if (i < out.size()) out[i] = a[i] + b[i];
            """

        return vadd


@exercise
class Saxpy(_KernelExercise):
    """Exercise: y[i] = alpha * x[i] + y[i], with fewer threads than elements."""

    name = "saxpy"
    parameters = ("alpha", "x", "y")
    outputs = ("y",)
    large = (100_000_000, 100_000)

    def make(self, rng, n):
        x, y = rng.random((2, n), np.float32)
        return float(np.float32(rng.uniform(0.5, 2))), x, y

    def expected(self, alpha, x, y):
        return (alpha * np.float64(x) + y).astype(np.float32)

    def call(self, solution, alpha, x, y):
        grid = (1024, 256) if y.size > 10_000_000 else (2, 32)
        solution[grid](alpha, x, y)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def saxpy(alpha, x, y):
            """
            for (int i = grid<1>(); i < y.size(); i += gridsize<1>())
                y[i] = alpha * x[i] + y[i];
            """

        return saxpy


@exercise
class Increment2D(_KernelExercise):
    """Exercise: add one to every element of a 2-D array; blocks extend past the edges of the array."""

    name = "increment_2d"
    parameters = ("image",)
    outputs = ("image",)
    sizes = (1, 2, 3, 15, 16, 17, 31, 33, 50)
    checked = (17,)
    counted = 100
    large = (8000, 200)

    def make(self, rng, n):
        return (rng.integers(0, 1000, (n, 1 + n * 7 // 5)).astype(np.int32),)

    def expected(self, image):
        return image + np.int32(1)

    def said(self, n):
        return f"{count_with_noun(n, 'row')} of {1 + n * 7 // 5:,}"

    def call(self, solution, image):
        # Equal numbers of blocks along both axes, so that the solution may use either as x.
        side = block_count(max(image.shape), 16)
        solution[(side, side), (16, 16)](image)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def increment_2d(image):
            """
            auto [column, row] = grid<2>();
            if (row < image.shape[0] && column < image.shape[1]) image(row, column) += 1;
            """

        return increment_2d


@exercise
class Histogram(_KernelExercise):
    """Exercise: add one to counts[v] for each value v that is a valid index of counts."""

    name = "histogram"
    parameters = ("values", "counts")
    outputs = ("counts",)
    noun = "value"
    limit = 2.0
    large = (20_000_000, 20_000)

    def make(self, rng, n):
        bins = 3 + n * 7 % 37
        m = drawn_element_count(n)
        values = rng.normal(bins / 2, bins / 5, m).astype(np.int32)
        values[rng.random(m) < 0.1] = bins
        values[rng.random(m) < 0.1] = -1
        return *repeat_to_length(n, values), rng.integers(0, 5, bins).astype(np.int32)

    def expected(self, values, counts):
        inside = values[(values >= 0) & (values < counts.size)]
        return counts + np.bincount(inside, minlength=counts.size).astype(np.int32)

    def thread_count(self, arguments):
        return arguments[0].size

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def histogram(values, counts):
            """
            int i = grid<1>();
            if (i >= values.size()) return;
            int v = values[i];
            if (v >= 0 && v < counts.size()) atomicAdd(&counts[v], 1);
            """

        return histogram


@exercise
class BlockSums(_KernelExercise):
    """Exercise: sums[b] is the sum of the 128 values of block b; the learner finds the race in a kernel."""

    name = "block_sums"
    parameters = ("values", "sums")
    outputs = ("sums",)
    sizes = (1, 2, 3, 10, 50)
    checked = (2,)
    counted = 10
    terms = 128
    large = (200_000, 100)
    limit = 2.0

    def make(self, rng, n):
        return rng.random(n * self.threads, np.float32), unwritten(n, np.float32)

    def expected(self, values, sums):
        return np.float64(values).reshape(-1, self.threads).sum(axis=1).astype(np.float32)

    def said(self, n):
        return f"{count_with_noun(n, 'block')} of {self.threads} values"

    def thread_count(self, arguments):
        return arguments[0].size

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def block_sums(values, sums):
            """
            __shared__ float part[128];
            int t = threadIdx.x;
            part[t] = values[grid<1>()];
            for (int half = 64; half > 0; half /= 2) {
                __syncthreads();
                if (t < half) part[t] += part[t + half];
            }
            if (t == 0) sums[blockIdx.x] = part[0];
            """

        return block_sums


@exercise
class MonteCarloPi(_KernelExercise):
    """Exercise: hits[i] is the number of a thread's random points in the quarter circle."""

    name = "monte_carlo_pi"
    parameters = ("states", "trials", "hits")
    outputs = ("hits",)
    noun = "thread"
    changed = ("states",)
    sizes = (1, 2, 3, 31, 33, 200)
    checked = (33,)
    counted = 200
    large = (1_000_000, 2_000)
    trials = 64

    def make(self, rng, n):
        from numbalite.cuda.random import create_xoroshiro128p_states

        seed = int(rng.integers(1, 2**62))
        states = create_xoroshiro128p_states(n, seed).copy_to_host()
        return states, self.trials, unwritten(n, np.int32)

    def expected(self, *arguments):
        return None  # random; see `wrong`

    def wrong(self, arguments, results):
        hits, trials = results[0].astype(np.int64), arguments[1]
        odd = np.flatnonzero((hits < 0) | (hits > trials))
        if odd.size:
            return f"Thread {odd[0]} counts {hits[odd[0]]} hits in {trials} trials."
        # Six standard deviations: correct solutions fail once in several hundred million runs.
        share = np.pi / 4
        spread = np.sqrt(share * (1 - share) / (trials * hits.size))
        estimate = hits.sum() / (trials * hits.size)
        if abs(estimate - share) > 6 * spread:
            return (
                f"{hits.sum():,} of {trials * hits.size:,} points are counted, so pi would be "
                f"{4 * estimate:.4f}; chance alone does not do that."
            )
        if hits.size > 30 and hits.var() < 0.2 * trials * share * (1 - share):
            return (
                f"The {hits.size} threads count too much alike ({hits.min()} to {hits.max()} hits): "
                "does each have its own state?"
            )
        return None

    def further(self, solution, call):
        from numbalite import cuda
        from numbalite.cuda.random import create_xoroshiro128p_states

        states = create_xoroshiro128p_states(200, 7)
        hits = [cuda.device_array(200, np.int32) for _ in range(2)]
        for each in hits:
            self.call(solution, states, self.trials, each)
        if np.array_equal(*(each.copy_to_host() for each in hits)):
            return (
                "A second launch with the same states counts the very same hits: draw the numbers "
                "with xoroshiro128p_uniform_float32(states, i), which also advances the state."
            )
        return None

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def monte_carlo_pi(states, trials, hits):
            """
            int i = grid<1>();
            if (i >= hits.size()) return;
            int inside = 0;
            for (int k = 0; k < trials; ++k) {
                float x = xoroshiro128p_uniform_float32(states, i);
                float y = xoroshiro128p_uniform_float32(states, i);
                inside += x * x + y * y < 1.0f;
            }
            hits[i] = inside;
            """

        return monte_carlo_pi


@exercise
class Spectrum(Assessment):
    """Assessment of the second section: a fast histogram with few bins that many elements fall into."""

    name = "spectrum"
    points = 3
    section = 2
    wants = "function"
    parameters = ("heights", "width", "bins")
    noun = "height"
    sizes = (1, 2, 3, 31, 33, 100, 257, 1025, 5000)
    checked = (257,)
    launches = (1, None)
    spare_bytes = 4096  # zeros for the counts
    counted = 20_000
    large = (100_000_000, 20_000)
    limit = 3.0
    hint = (
        "Threads wait for each other where many count into the same few numbers: let each block "
        "count into numbers of its own, and add those up at the end."
    )

    def make(self, rng, n):
        bins, width = int(rng.integers(20, 60)), int(rng.integers(5, 20))
        peak = rng.uniform(0.3, 0.7) * bins * width
        heights = rng.normal(peak, 1.5 * width, drawn_element_count(n))
        flat = rng.random(heights.size) < 0.3
        heights[flat] = rng.uniform(0, 1.2 * bins * width, np.count_nonzero(flat))
        return *repeat_to_length(n, np.maximum(heights, 0).astype(np.int32)), width, bins

    def expected(self, heights, width, bins):
        channels = heights // width
        return np.bincount(channels[channels < bins], minlength=bins).astype(np.int32)

    def reference(self):
        from numbalite import cuda

        @cuda.jit
        def count(heights, width, counts):
            """
            __shared__ int mine[1024];
            for (int b = threadIdx.x; b < counts.size(); b += blockDim.x) mine[b] = 0;
            __syncthreads();
            for (int i = grid<1>(); i < heights.size(); i += gridsize<1>()) {
                int channel = heights[i] / width;
                if (channel < counts.size()) atomicAdd(&mine[channel], 1);
            }
            __syncthreads();
            for (int b = threadIdx.x; b < counts.size(); b += blockDim.x)
                atomicAdd(&counts[b], mine[b]);
            """

        def spectrum(heights, width, bins):
            counts = cuda.device_array(bins, np.int32)
            counts.fill(0)
            grid = min(1024, block_count(heights.size, 256))
            count[grid, 256](heights, width, counts)
            return counts

        return spectrum
