"""Tests libcu++ and thrust in kernels, from the toolkit, on both drivers; NVRTC accepts the same
sources."""

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda
from numbalite.compilers import cccl, compile_source
from numbalite.compilers.source import Source
from numbalite.errors import CompileError

pytestmark = pytest.mark.skipif(cccl.root_of_toolkit() is None, reason="CCCL is not installed")

VALUES = """
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/expected>
#include <cuda/std/functional>
#include <cuda/std/inplace_vector>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/ratio>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/variant>
#include <cuda/cmath>
#include <cuda/functional>
namespace std_ = cuda::std;
__device__ std_::expected<int, char> halved(int x) {
    if (x % 2) return std_::unexpected<char>('o');
    return x / 2;
}
struct Twice {
    __device__ double operator()(int x) const { return 2 * x; }
    __device__ double operator()(double x) const { return 2 * x; }
};
__global__ void values(const int* x, double* y) {
    std_::array<int, 4> a = {x[0], x[1], x[2], x[3]};
    y[0] = std_::accumulate(a.begin(), a.end(), 0);
    y[1] = std_::span<int>(a.data(), 4).subspan(1, 2)[1];
    std_::mdspan<const int, std_::extents<int, 2, std_::dynamic_extent>> table(x, 2);
    y[2] = table(1, 0) + 10 * table.extent(1);
    y[3] = abs(std_::complex<double>(3, 4) * std_::complex<double>(0, 1));
    auto [count, name] = std_::make_tuple(7, 'n');
    y[4] = count + (name == 'n');
    std_::optional<int> none, some = 5;
    y[5] = none.value_or(2) + *some;
    std_::variant<int, double> either = 2.5;
    y[6] = std_::visit(Twice{}, either) + either.index();
    y[7] = halved(8).value() + (halved(7).has_value() ? 0 : 100);
    using namespace std_::chrono;
    y[8] = duration_cast<milliseconds>(seconds(2) + microseconds(3500)).count();
    y[9] = std_::popcount(255u) + std_::countl_zero(1u) + std_::bit_ceil(33u);
    std_::inplace_vector<int, 8> few;
    for (int i = 0; i < 3; ++i) few.push_back(x[i]);
    y[10] = few.size() * 100 + few.back();
    y[11] = std_::numeric_limits<unsigned short>::max() + std_::gcd(12, 18);
    y[12] = std_::ratio_add<std_::ratio<1, 3>, std_::ratio<1, 6>>::den;
    y[13] = std_::is_same_v<std_::common_type_t<int, double>, double> + std_::invoke(std_::plus<>{}, 3, 4);
    y[14] = cuda::ceil_div(10, 4) + cuda::maximum<>{}(3, 9);
}
"""
RESULTS = [10, 3, 23, 5, 8, 7, 6, 104, 2003, 103, 303, 65541, 2, 8, 12]

THREADS = """
#include <cuda/std/atomic>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/mdspan>
#include <cuda/ptx>
__global__ void threads(int* x) {
    __shared__ cuda::barrier<cuda::thread_scope_block> meet;
    __shared__ cuda::latch<cuda::thread_scope_block>* last;
    __shared__ alignas(8) char room[sizeof(cuda::latch<cuda::thread_scope_block>)];
    __shared__ cuda::std::atomic<int> sum;
    __shared__ int s[64];
    if (threadIdx.x == 0) {
        init(&meet, 64);
        last = new (room) cuda::latch<cuda::thread_scope_block>(64);
        new (&sum) cuda::std::atomic<int>(0);
    }
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x];
    meet.arrive_and_wait();
    sum.fetch_add(s[63 - threadIdx.x] * (threadIdx.x + 1));
    last->arrive_and_wait();
    cuda::atomic_ref<int, cuda::thread_scope_device> total(x[64]);
    total.fetch_max(sum.load());
    if (threadIdx.x == 0) x[65] = cuda::ptx::get_sreg_ntid_x();
}
"""

PROPERTIES = """
#include <cuda/annotated_ptr>
#include <cuda/barrier>
using kept = cuda::access_property::persisting;
using passing = cuda::access_property::streaming;
__global__ void properties(const int* x, int* y) {
    __shared__ int s[4];
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    if (threadIdx.x == 0) init(&b, blockDim.x);
    __syncthreads();
    cuda::annotated_ptr<const int, passing> from{x};
    cuda::annotated_ptr<int, kept> to{y};
    cuda::memcpy_async(s, from, 16, b);
    b.arrive_and_wait();
    to[threadIdx.x] = s[threadIdx.x] + from[threadIdx.x];
    cuda::access_property half(kept{}, 0.5f);
    cuda::annotated_ptr<int, cuda::access_property> last(y + 4, half);
    if (threadIdx.x == 0) *last = *cuda::associate_access_property(x, cuda::access_property::normal{});
    cuda::apply_access_property(y, 16, kept{});
}
"""
THRUST = """
#include <thrust/functional.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/pair.h>
#include <thrust/tuple.h>
#include <cub/warp/warp_reduce.cuh>
struct Square { __host__ __device__ int operator()(int x) const { return x * x; } };
__global__ void iterators(const int* x, int* y) {
    auto count = thrust::make_counting_iterator(3);
    y[0] = count[4] + thrust::make_constant_iterator(100)[9];
    y[1] = thrust::make_transform_iterator(count, Square{})[2];
    y[2] = thrust::make_permutation_iterator(x, count)[1];
    auto both = thrust::make_zip_iterator(thrust::make_tuple(x, count));
    auto two = both[2];
    y[3] = thrust::get<0>(two) * 10 + thrust::get<1>(two);
    thrust::discard_iterator<> nowhere;
    nowhere[7] = 5;
    y[4] = *thrust::make_reverse_iterator(x + 8);
    thrust::pair<int, char> p = thrust::make_pair(6, 'x');
    y[5] = thrust::plus<int>()(p.first, p.second == 'x') + thrust::maximum<int>()(2, 9);
    __shared__ cub::WarpReduce<int>::TempStorage t;
    auto squares = thrust::make_transform_iterator(x, Square{});
    int sum = cub::WarpReduce<int>(t).Sum(squares[threadIdx.x % 8]);
    if (threadIdx.x == 0) y[6] = sum;
}
"""

SOURCE = VALUES + THREADS + PROPERTIES + THRUST


@pytest.fixture(scope="module")
def cccl_module():
    return cuda.module(SOURCE)


def test_cccl_functions_return_expected_values(cccl_module):
    y = np.zeros(15)
    cccl_module.values[1, 1](np.arange(1, 5, dtype=np.int32), y)
    assert list(y) == RESULTS


def test_cuda_atomics_and_barriers_synchronize_threads(cccl_module):
    x = np.append(np.arange(64), [0, 0]).astype(np.int32)
    cccl_module.threads[1, 64](x)
    assert x[64] == sum(i * (64 - i) for i in range(64)) and x[65] == 64


def test_cache_hints_have_no_effect(cccl_module):
    x, y = np.arange(1, 5, dtype=np.int32), np.zeros(5, np.int32)
    cccl_module.properties[1, 4](x, y)
    assert list(y) == [2, 4, 6, 8, 1]


def test_thrust_iterators_work_in_kernels(cccl_module):
    x, y = np.arange(2, 10, dtype=np.int32), np.zeros(7, np.int32)
    cccl_module.iterators[1, 32](x, y)
    assert list(y) == [107, 25, 6, 45, 9, 16, 4 * int((x**2).sum())]


@needs_nvrtc
def test_nvrtc_compiles_the_cccl_source():
    kernels = ("values", "threads", "properties", "iterators")
    source = Source(SOURCE, "cccl.cu", kernels)
    assert compile_source(source, ("cuda", 9, 0)).data


def test_thrust_algorithms_raise_with_a_hint_about_nvcc():
    with pytest.raises(
        CompileError, match="instead of an algorithm with thrust::seq a loop, or CUB"
    ):
        cuda.module("#include <thrust/sort.h>\n__global__ void k() {}")


def test_the_toolkit_header_adds_missing_names():
    """<cuda/std/utility> alone is numbalite's part of libcu++; the toolkit's header is used if a name is
    missing in it."""
    m = cuda.module(
        """
        #include <cuda/std/utility>
        __global__ void k(int* x) { x[0] = cuda::std::cmp_less(-1, 1u) + 2 * cuda::std::in_range<short>(1 << 20); }
        """
    )
    x = np.zeros(1, np.int32)
    m.k[1, 1](x)
    assert x[0] == 1
