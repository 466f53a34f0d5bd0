"""Tests the toolkit's unmodified CUB and libcu++ on the simulator, with all checks."""

import pathlib
import sys

import numpy as np
import pytest

from numbalite import cuda
from numbalite.compilers import cccl
from numbalite.errors import CompileError, KernelError

pytestmark = [
    pytest.mark.skipif(not cuda.is_simulated(), reason="for the simulator"),
    pytest.mark.skipif(cccl.root_of_toolkit() is None, reason="CUB is not installed"),
]

SOURCE = """
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cuda/std/array>
template <class T> __device__ void all(const T* x, T* o) {
    using Reduce = cub::BlockReduce<T, 64>;
    using Scan = cub::BlockScan<T, 64>;
    using Sort = cub::BlockRadixSort<T, 64, 2>;
    using Load = cub::BlockLoad<T, 64, 2, cub::BLOCK_LOAD_TRANSPOSE>;
    using Warp = cub::WarpReduce<T>;
    using WarpScan = cub::WarpScan<T>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
        typename Sort::TempStorage sort;
        typename Load::TempStorage load;
        typename Warp::TempStorage warp[2];
        typename WarpScan::TempStorage warp_scan[2];
    } t;
    int i = threadIdx.x;
    T mine = x[i], before, up_to;
    T sum = Reduce(t.reduce).Sum(mine);
    if (i == 0) o[0] = sum;
    __syncthreads();
    T most = Reduce(t.reduce).Reduce(mine, [](T a, T b) { return a < b ? b : a; });
    if (i == 0) o[1] = most;
    __syncthreads();
    Scan(t.scan).ExclusiveSum(mine, before);
    o[2 + i] = before;
    __syncthreads();
    cuda::std::array<T, 2> keys;
    Load(t.load).Load(x, (T(&)[2])keys[0]);
    __syncthreads();
    Sort(t.sort).Sort((T(&)[2])keys[0]);
    o[66 + 2 * i] = keys[0];
    o[67 + 2 * i] = keys[1];
    __syncthreads();
    T part = Warp(t.warp[i / 32]).Sum(mine);
    if (i % 32 == 0) o[194 + i / 32] = part;
    __syncthreads();
    WarpScan(t.warp_scan[i / 32]).InclusiveSum(mine, up_to);
    o[196 + i] = up_to;
}
__global__ void whole(const int* x, int* o) { all(x, o); }
__global__ void real(const float* x, float* o) { all(x, o); }
"""


def test_block_and_warp_collectives_match_numpy():
    m = cuda.module(SOURCE)
    for kernel, dtype in ((m.whole, np.int32), (m.real, np.float32)):
        x = np.random.default_rng(3).integers(-100, 100, 128).astype(dtype)
        out = np.zeros(260, dtype)
        with cuda.checks():
            kernel[1, 64](x, out)
        half = x[:64]
        assert out[0] == half.sum() and out[1] == half.max()
        assert np.array_equal(out[2:66], np.cumsum(half) - half)
        assert np.array_equal(out[66:194], np.sort(x))
        rows = half.reshape(2, 32)
        assert np.array_equal(out[194:196], rows.sum(1))
        assert np.array_equal(out[196:], np.cumsum(rows, axis=1).ravel())


def test_project_headers_may_include_cub(tmp_path):
    (tmp_path / "sums.cuh").write_text(
        "#include <cub/warp/warp_reduce.cuh>\ntypedef cub::WarpReduce<int> Sums;\n"
    )
    m = cuda.module(
        """
        #include "sums.cuh"
        __global__ void k(int* x) {
            __shared__ Sums::TempStorage t;
            int sum = Sums(t).Sum(x[threadIdx.x]);
            if (threadIdx.x == 0) x[0] = sum;
        }
        """,
        options=[f"-I{tmp_path}"],
    )
    x = np.arange(32, dtype=np.int32)
    m.k[1, 32](x)
    assert x[0] == 496


def test_cub_compiles_with_cooperative_groups_memcpy_async():
    """Includes libcu++'s barriers last."""
    m = cuda.module("""
        #include <cooperative_groups/memcpy_async.h>
        #include <cuda/barrier>
        #include <cub/warp/warp_reduce.cuh>
        __global__ void k(const int *x, int *out) {
            __shared__ int s[32];
            __shared__ cub::WarpReduce<int>::TempStorage room;
            auto block = cooperative_groups::this_thread_block();
            cooperative_groups::memcpy_async(block, s, x, cuda::aligned_size_t<4>(sizeof s));
            cooperative_groups::wait(block);
            int sum = cub::WarpReduce<int>(room).Sum(s[threadIdx.x]);
            if (threadIdx.x == 0) out[0] = sum;
        }
        """)
    x = np.arange(32, dtype=np.int32)
    out = np.zeros(1, np.int32)
    m.k[1, 32](x, out)
    assert out[0] == x.sum()


def test_thrust_iterators_compile():
    """Also compiles as C++20, in which libcu++ provides std::construct_at; an iterator's system is
    computed early. The host library defines std::tuple_size if a source also includes the host
    library."""
    m = cuda.module(
        """
        #include <array>
        #include <thrust/iterator/counting_iterator.h>
        #include <thrust/iterator/transform_iterator.h>
        struct Rest { __device__ unsigned operator()(unsigned x) const { return x % 7; } };
        __global__ void k(unsigned* x) {
            auto i = thrust::make_transform_iterator(thrust::counting_iterator<unsigned>(3), Rest{});
            x[0] = i[std::array<int, 1>{9}[0]];
        }
        """,
        std="c++20",
    )
    x = np.zeros(1, np.uint32)
    m.k[1, 1](x)
    assert x[0] == 12 % 7


def test_cub_compiles_with_chrono_headers():
    """libcu++ declares time_t if it detects NVRTC, and the host's <chrono> declares it too."""
    m = cuda.module(
        """
        #include <cub/block/block_reduce.cuh>
        #include <chrono>
        #include <cooperative_groups.h>
        #include <cuda/std/chrono>
        __global__ void k(long long* x) {
            cuda::std::time_t seconds = 3;
            x[0] = cuda::std::chrono::milliseconds(cuda::std::chrono::seconds(seconds)).count();
        }
        """
    )
    x = np.zeros(1, np.int64)
    m.k[1, 1](x)
    assert x[0] == 3000


def test_cub_umbrella_header_raises_with_a_hint():
    with pytest.raises(CompileError, match="also contains host code"):
        cuda.module("#include <cub/cub.cuh>\n__global__ void k() {}")


def test_changed_translation_rules_retranslate_headers():
    modules = {pathlib.Path(path).stem for path in cccl._translator_paths()}
    reads = {name for name in sys.modules if name.startswith("numbalite.compilers.sim.ptx")}
    assert len(reads) > 5
    assert {name.rpartition(".")[2] for name in reads} | {"translation", "scanner"} <= modules


CALLS = """#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/own.cuh>
using Reduce = cub::BlockReduce<float, 64>;
__device__ float total(Reduce::TempStorage& t, float v, bool wait) {
    float a = Reduce(t).Sum(v);  // a
    if (wait) __syncthreads();
    float b = Reduce(t).Sum(v * 2);  // b
    return a + b;
}
__global__ void race(const float* x, float* o, bool right) {
    __shared__ Reduce::TempStorage t;
    float sum = total(t, x[threadIdx.x], right);
    if (threadIdx.x == 0) o[0] = sum;
}
__global__ void memory(const float* x, float* o, bool right) {
    float v[2] = {0, 0};
    if (threadIdx.x < (right ? 32 : 64))
        cub::BlockLoad<float, 64, 2, cub::BLOCK_LOAD_DIRECT>().Load(x, v);  // load
    o[threadIdx.x] = v[0] + v[1];
}
__global__ void ended(const float* x, float* o, bool right) {
    __shared__ Reduce::TempStorage t;
    if (!right && threadIdx.x > 39) return;
    o[threadIdx.x] = Reduce(t).Sum(x[threadIdx.x]);  // ended
}
__global__ void stuck(const float* x, float* o, bool right) {
    __shared__ Reduce::TempStorage t;
    if (right || threadIdx.x < 32) {
        o[threadIdx.x] = Reduce(t).Sum(x[threadIdx.x]);  // stuck
    } else {
        __syncthreads();  // else
    }
}
__global__ void function(const float* x, float* o, bool right) {
    int i = threadIdx.x + (right ? 0 : 9);
    o[threadIdx.x] = not_inline(x, i);  // function
}
"""
OWN = """#pragma once
__noinline__ __device__ float deeper(const float* x, int i) { return x[i]; }
__noinline__ __device__ float not_inline(const float* x, int i) { return deeper(x, i) + 1; }
"""


@pytest.fixture(scope="module")
def header_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("include")
    (folder / "cub").mkdir()
    (folder / "cub" / "own.cuh").write_text(OWN)
    names = "race memory ended stuck function".split()
    return cuda.module(f'#line 1 "user.cu"\n{CALLS}', names=names, options=[f"-I{folder}"])


@pytest.mark.parametrize(
    ("name", "mark", "header"),
    [
        ("race", "b", "cub/block/"),
        ("memory", "load", "cub/block/block_load.cuh"),
        ("ended", "ended", "cub/warp/"),
        ("stuck", "stuck", "cub/block/"),
        ("function", "function", "cub/own.cuh"),
    ],
)
def test_reports_name_the_users_call(header_folder, name, mark, header):
    """The report contains the user's line that calls a function of the toolkit, and the line in
    that function."""
    line = 1 + next(i for i, text in enumerate(CALLS.split("\n")) if text.endswith(f"// {mark}"))
    x, o = cuda.to_device(np.arange(64, dtype="f4")), cuda.to_device(np.zeros(64, "f4"))
    with cuda.checks():
        header_folder[name][1, 64](x, o, True)
    with pytest.raises(KernelError) as caught, cuda.checks():
        header_folder[name][1, 64](x, o, False)
    found = caught.value
    assert found.file == "user.cu"
    assert found.line == line or (name == "race" and found.line == line - 2)
    assert header in str(found) and "prelude-" not in str(found) and "/include/" not in str(found)
    if name == "race":
        assert found.other_file == "user.cu" and {found.line, found.other_line} == {line, line - 2}
