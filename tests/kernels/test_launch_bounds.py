"""Tests __launch_bounds__, which limits the number of threads of a block. The simulator enforces
the limit as a GPU
does."""

import numpy as np
import pytest

from numbalite import cuda


def check_launch_limit(kernel, limit):
    out = cuda.to_device(np.zeros(1, np.int32))
    with pytest.raises(ValueError, match=rf"{limit + 1} threads, more than .* limit of {limit} "):
        kernel[1, limit + 1](out)
    assert out.copy_to_host()[0] == 0
    kernel[1, limit](out)
    assert out.copy_to_host()[0] == limit


def test_launch_bounds_of_a_body_limit_the_block_size():
    @cuda.jit("void(int32[:])", launch_bounds=(96, 2))
    def count_threads(out):
        "atomicAdd(&out[0], 1);"

    check_launch_limit(count_threads, 96)
    assert count_threads.get_max_threads_per_block(count_threads.signatures[0]) == 96


SOURCE = """
#define WARPS 3
constexpr int wide(int n) { return 32 * n; }
__global__ void __launch_bounds__(wide(WARPS), 1) by_names(int* out) { atomicAdd(out, 1); }
__global__ __launch_bounds__(64) void by_a_number(int* out) { atomicAdd(out, 1); }
template <typename T>
__global__ void __launch_bounds__(160) of_a_template(T* out) { atomicAdd(out, 1); }
namespace inner {
__global__ void __launch_bounds__(32 * 4) in_a_namespace(int* out) { atomicAdd(out, 1); }
__global__ void by_a_number(int* out) { atomicAdd(out, 1); }
}
"""


@pytest.mark.parametrize(
    "name, limit",
    [
        ("by_names", 96),
        ("by_a_number", 64),
        ("of_a_template<int>", 160),
        ("inner::in_a_namespace", 128),
        ("inner::by_a_number", 1024),
    ],
)
def test_launch_bounds_of_a_source_limit_the_block_size(name, limit):
    kernel = cuda.jit(source=SOURCE, name=name)
    if limit < 1024:
        check_launch_limit(kernel, limit)
    else:
        kernel[1, limit](cuda.to_device(np.zeros(1, np.int32)))


def test_launch_bounds_limit_the_block_size_with_checks_enabled():
    @cuda.jit("void(int32[:])", launch_bounds=64, debug=True)
    def count_threads(out):
        "atomicAdd(&out[0], 1);"

    check_launch_limit(count_threads, 64)
