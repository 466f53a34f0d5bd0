"""cub_suite.py compiles and runs a test in the form of CUB's own tests."""

import pathlib
import subprocess
import sys

import pytest

from numbalite.compilers import cccl

pytestmark = pytest.mark.skipif(
    cccl.root_of_toolkit() is None, reason="CUB is not installed: pip install nvidia-cuda-cccl"
)
SUITE = pathlib.Path(__file__).with_name("cub_suite.py")
TEST = """
#include <cub/warp/warp_reduce.cuh>
#include <utility>
#include <c2h/catch2_test_helper.h>
// %PARAM% WRONG wrong 0:1
template <class T> __global__ void sums(T *sum) {
    __shared__ typename cub::WarpReduce<T>::TempStorage storage;
    T all = cub::WarpReduce<T>(storage).Sum(T(threadIdx.x));
    if (threadIdx.x == 0) *sum = all;
}
C2H_TEST("Sums", "[sum]", c2h::type_list<int, float>) {
    using T = c2h::get<0, TestType>;
    void *place = nullptr;
    REQUIRE(cudaSuccess == cudaMalloc(&place, sizeof(T)));
    sums<T><<<1, 32>>>(static_cast<T *>(place));
    REQUIRE(cudaSuccess == cudaPeekAtLastError());
    REQUIRE(cudaSuccess == cudaDeviceSynchronize());
    REQUIRE(*static_cast<T *>(place) == 496 + WRONG);
    cudaFree(place);
}
"""


def test_cub_suite_has_the_expected_results(tmp_path):
    tests, includes = tmp_path / "cub" / "test", tmp_path / "c2h" / "include" / "c2h"
    tests.mkdir(parents=True)
    includes.mkdir(parents=True)
    (tests / "catch2_test_warp_sums.cu").write_text(TEST)
    for name in ("test_util_vec.h", "custom_type.h"):
        (includes / name).write_text("")
    done = subprocess.run(
        [sys.executable, SUITE, tmp_path, "--jobs", "2"], capture_output=True, text=True
    )
    assert "WRONG=0: 2 of 2 passed" in done.stdout, done.stdout + done.stderr
    assert "WRONG=1: 0 of 2 passed" in done.stdout
    assert "2 of 4 tests passed" in done.stdout
