"""Defines pairs with threads that need more stack memory than they have."""

import numpy as np
from pairs.form import random_ints, register_pair, zero_counts


@register_pair(
    "stack", grid=1, block=1, expect=lambda n: [[0, 1, 1, 2, 3, 5, 8, 13, 21][k] for k in n]
)
def recursion_without_end(n: random_ints(4, below=9), out: zero_counts(4)):
    """
    __device__ __noinline__ int fibonacci(int n) {    //!
        if (n == 1) return 1;                         //-
        if (n <= 1) return n;                         //+
        return fibonacci(n - 1) + fibonacci(n - 2);   //!
    }
    __global__ void numbers(const int* n, int* out) {
        for (int i = 0; i < 4; ++i) out[i] = fibonacci(n[i]);  //!
    }
    """


@register_pair(
    "stack", grid=1, block=1, right={"cells": np.full(16, 1, np.int32)}, expect=lambda: 16
)
def flood_fill_revisits_cells(cells: np.full(16, 2, np.int32), out: zero_counts(1)):
    """
    __device__ __noinline__ int flood(int* cells, int at) {  //!
        if (at < 0 || at >= 16 || cells[at] == 0) return 0;      //!
        if (cells[at] == 1) cells[at] = 0;            // visited
        return 1 + flood(cells, at - 1) + flood(cells, at + 1);  //!
    }
    __global__ void fill(int* cells, int* out) {
        *out = flood(cells, 8);
    }
    """  # fmt: skip
