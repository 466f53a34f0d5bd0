"""Defines pairs with kernels that never end: loops without progress, locks that are never released, waits
without a signal."""

import numpy as np
from pairs.form import (
    ascending,
    random_floats,
    random_ints,
    register_pair,
    zero_counts,
    zeros_of_shape,
)

# --- loops -----------------------------------------------------------------------------------------------


@register_pair("hang", grid=1, block=32, expect=lambda x: 2 * x)
def loop_without_increment(x: random_floats(100)):
    """
    int i = grid<1>();
    while (i < x.size()) {                            //!
        x[i] *= 2;                                    //-!
        x[i] *= 2, i += gridsize<1>();                //+
    }
    """


@register_pair("hang", grid=1, block=32, expect=lambda find: find)
def binary_search_that_stops_halving(
    x: ascending(33, np.int32), find: random_ints(32, below=33), out: zero_counts(32)
):
    """
    int i = grid<1>(), low = 0, high = x.size();
    while (high - low > 1) {                          //+
    while (low < high) {                              //-!
        int middle = (low + high) / 2;                //!
        if (x[middle] <= find[i]) low = middle;       //!
        else high = middle;                           //!
    }
    out[i] = low;
    """


@register_pair("hang", grid=1, block=1, expect=lambda: 10)
def float_sum_never_equal_to_one(n: zero_counts(1)):
    """
    float x = 0;
    while (x != 1.0f) {                               //-!
    while (x < 0.95f) {                               //+
        x += 0.1f;                                    //!
        ++n[0];                                       //!
    }
    """


@register_pair(
    "hang", grid=1, block=1, right={"next": np.array([1, 2, 3, -1], np.int32)}, expect=lambda: 4
)
def linked_list_with_cycle(next: np.array([1, 2, 3, 1], np.int32), length: zero_counts(1)):
    """
    __global__ void measure(const int* next, int* length) {
        int n = 0;
        for (int at = 0; at >= 0; at = next[at]) ++n;  //!
        *length = n;
    }
    """


@register_pair("hang", grid=1, block=1, expect=lambda n: [collatz_steps(k) for k in n])
def collatz_variant_never_reaches_one(n: np.array([6, 27], np.int32), out: zero_counts(2)):
    """
    for (int i = 0; i < 2; ++i) {
        int k = n[i];
        while (k != 1) {                              //!
            k = k % 2 ? 3 * k - 1 : k / 2;            //-!
            k = k % 2 ? 3 * k + 1 : k / 2;            //+
            ++out[i];                                 //!
        }
    }
    """


def collatz_steps(k):
    count = 0
    while k != 1:
        k = 3 * k + 1 if k % 2 else k // 2
        count += 1
    return count


# --- waiting ---------------------------------------------------------------------------------------------


@register_pair("hang", grid=1, block=64, expect=lambda: {"out": 1})
def flag_value_never_set(flag: zero_counts(1), out: zero_counts(1)):
    """
    int t = threadIdx.x;
    if (t == 0) atomicExch(&flag[0], 2);              //-
    if (t == 0) atomicExch(&flag[0], 1);              //+
    if (t == 32) {
        while (atomicAdd(&flag[0], 0) != 1) {}        //!
        out[0] = 1;
    }
    """


@register_pair("hang", grid=2, block=32, expect=lambda: {"out": 1})
def wait_for_more_arrivals_than_blocks(arrived: zero_counts(1), out: zero_counts(2)):
    """
    if (threadIdx.x == 0) {
        atomicAdd(&arrived[0], 1);
        while (atomicAdd(&arrived[0], 0) < blockDim.x) {}  //-!
        while (atomicAdd(&arrived[0], 0) < gridDim.x) {}  //+
        out[blockIdx.x] = 1;
    }
    """


@register_pair("hang", grid=1, block=64, expect=lambda: {"account": [58, 42]})
def locks_taken_in_opposite_order(lock: zero_counts(2), account: np.array([50, 50], np.int32)):
    """
    int t = threadIdx.x;
    if (t % 32 == 0) {
        int from = t / 32, to = 1 - from, amount = t == 0 ? 2 : 10;
        int first = from, second = to;                //-
        int first = 0, second = 1;                    //+
        while (atomicCAS(&lock[first], 0, 1) != 0) {}  //!
        for (int k = 0; k < 100; ++k) __nanosleep(1000);
        while (atomicCAS(&lock[second], 0, 1) != 0) {}  //!
        __threadfence();
        account[from] -= amount;
        account[to] += amount;
        __threadfence();
        atomicExch(&lock[second], 0);
        atomicExch(&lock[first], 0);
    }
    """


@register_pair("hang", grid=1, block=64, expect=lambda: {"count": 64})
def lock_not_released_in_one_branch(lock: zero_counts(1), count: zero_counts(1)):
    """
    bool done = false;
    while (!done) {                                   //!
        if (atomicCAS(&lock[0], 0, 1) == 0) {         //!
            __threadfence();
            done = true;
            int n = ++count[0];
            __threadfence();
            if (n % 2) atomicExch(&lock[0], 0);       //-
            atomicExch(&lock[0], 0);                  //+
        }
    }
    """


@register_pair("hang", grid=1, block=32, expect=lambda: {"count": 32})
def lock_held_during_syncwarp(lock: zero_counts(1), count: zero_counts(1)):
    """
    while (atomicCAS(&lock[0], 0, 1) != 0) {}         //!
    __threadfence();
    ++count[0];
    __threadfence();
    __syncwarp();                                     //-!
    atomicExch(&lock[0], 0);
    """


@register_pair("hang", grid=1, block=32, expect=lambda x: {"most": x.max()})
def compare_and_swap_with_stale_value(x: random_floats(32), most: zeros_of_shape(1)):
    """
    int* word = (int*)&most[0];
    int seen = atomicAdd(word, 0);
    __syncthreads();
    while (__int_as_float(seen) < x[threadIdx.x]) {   //!
        int before = atomicCAS(word, seen, __float_as_int(x[threadIdx.x]));  //!
        if (before == seen) break;                    //!
        seen = before;                                //+
    }
    """
