"""Threads that need more stack than there is."""

import numpy as np
from pairs.form import counts, ints, pair


@pair("stack", grid=1, block=1, expect=lambda n: np.cumsum(np.arange(9))[n])
def recursion_without_an_end(n: ints(4, below=9), out: counts(4)):
    """
    __device__ __noinline__ int triangle(int n) {
        return n + triangle(n - 1);                   //-!
        return n == 0 ? 0 : n + triangle(n - 1);      //+
    }
    __global__ void sums(const int* n, int* out) {
        for (int i = 0; i < 4; ++i) out[i] = triangle(n[i]);  //!
    }
    """


@pair("stack", grid=1, block=1, right={"cells": np.full(64, 1, np.int32)}, expect=lambda cells: 64)
def flood_that_visits_cells_again(cells: np.full(64, 2, np.int32), out: counts(1)):
    """
    __device__ __noinline__ int flood(int* cells, int at) {
        if (at < 0 || at >= 64 || cells[at] == 0) return 0;
        if (cells[at] == 1) cells[at] = 0;            // visited
        return 1 + flood(cells, at - 1) + flood(cells, at + 1);  //!
    }
    __global__ void fill(int* cells, int* out) {
        *out = flood(cells, 32);
    }
    """  # fmt: skip
