"""Tests CUDA's device-side libraries in sources, as users include them: the headers are found, and
compile."""

import pytest
from kit.needs import needs_nvrtc

from numbalite.compilers import compile_source, headers, toolkit
from numbalite.compilers.source import Source
from numbalite.errors import CompileError

LIBRARIES = """#include "numbalite.cuh"
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <curand_kernel.h>
using namespace numbalite;
__global__ void sums(array<const int> x, array<int> y) {
    using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<int, 128, 4>;
    using Scan = cub::BlockScan<int, 128>;
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ union {
        Load::TempStorage load;
        Sort::TempStorage sort;
        Scan::TempStorage scan;
        Reduce::TempStorage reduce;
    } shared;
    int items[4];
    Load(shared.load).Load(x.data(), items);
    __syncthreads();
    Sort(shared.sort).Sort(items);
    __syncthreads();
    Scan(shared.scan).ExclusiveSum(items, items);
    __syncthreads();
    int total = Reduce(shared.reduce).Sum(items);
    __shared__ cub::WarpReduce<int>::TempStorage warp;
    if (threadIdx.x < 32) total = cub::WarpReduce<int>(warp).Reduce(total, [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
template <class State> __global__ void draw(array<float> y) {
    State s;
    curand_init(1, grid<1>(), 0, &s);
    y[grid<1>()] = curand_uniform(&s) + curand_normal(&s) + curand_poisson(&s, 3.0);
}
"""
STATES = ("curandStateXORWOW_t", "curandStatePhilox4_32_10_t", "curandStateMRG32k3a_t")
FFT = """#include <cufftdx.hpp>
using namespace cufftdx;
using FFT = decltype(Size<64>() + Precision<float>() + Type<fft_type::c2c>() + Direction<fft_direction::forward>() +
                     ElementsPerThread<8>() + FFTsPerBlock<1>() + SM<900>() + Block());
__global__ void k(FFT::value_type *x) {
    FFT::value_type part[FFT::storage_size];
    extern __shared__ __align__(16) unsigned char shared[];
    for (unsigned i = 0; i < FFT::elements_per_thread; ++i) part[i] = x[threadIdx.x + i * FFT::stride];
    FFT().execute(part, shared);
    for (unsigned i = 0; i < FFT::elements_per_thread; ++i) x[threadIdx.x + i * FFT::stride] = part[i];
}
"""
MATRICES = """#include <cublasdx.hpp>
using namespace cublasdx;
using GEMM = decltype(Size<32, 32, 32>() + Precision<float>() + Type<type::real>() + Function<function::MM>() +
                      SM<900>() + Block() + BlockDim<128>());
__global__ void k(const float *a, const float *b, float *c) {
    extern __shared__ __align__(16) char shared[];
    auto [x, y] = slice_shared_memory_ab<GEMM>(shared);
    auto p = make_tensor(x, GEMM::get_layout_smem_a());
    auto q = make_tensor(y, GEMM::get_layout_smem_b());
    copy<GEMM, alignment_of<GEMM>::a>(make_tensor(a, GEMM::get_layout_gmem_a()), p);
    copy<GEMM, alignment_of<GEMM>::b>(make_tensor(b, GEMM::get_layout_gmem_b()), q);
    copy_wait();
    auto [r, layout] = GEMM().execute(p, q);
    auto out = make_tensor(c, GEMM::get_layout_gmem_c());
    copy_fragment<alignment_of<GEMM>::c>(r, out, layout);
}
"""


pytestmark = needs_nvrtc


@pytest.fixture
def gpu_target():
    """Returns the target of a GPU."""
    return "cuda", 9, 0


@pytest.mark.parametrize("capability", [(7, 5), (10, 0)])
def test_curand_and_cub_kernels_compile(gpu_target, toolkit_options, capability):
    if not headers.find_header("curand_kernel.h", toolkit.include_directories()):
        pytest.skip("cuRAND's headers are not installed: pip install nvidia-curand")
    kernels = ("sums", *(f"draw<{state}>" for state in STATES))
    image = compile_source(Source(LIBRARIES, kernels=kernels), ("cuda", *capability))
    assert set(kernels) <= set(image.lowered)


@pytest.mark.parametrize("source", [FFT, MATRICES], ids=["cuFFTDx", "cuBLASDx"])
def test_mathdx_kernels_compile(gpu_target, toolkit_options, source):
    pytest.importorskip(
        "nvidia.mathdx", reason="MathDx is not installed: pip install nvidia-mathdx"
    )
    assert compile_source(Source(source, kernels=("k",)), gpu_target).data


def test_a_missing_header_names_its_package(gpu_target, monkeypatch):
    monkeypatch.setattr(toolkit, "include_directories", lambda path=None: ())
    for header, package, of in (
        ("cufftdx.hpp", "nvidia-mathdx", "MathDx"),
        ("curand_kernel.h", "nvidia-curand", "the CUDA toolkit"),
        ("cub/block/block_scan.cuh", "nvidia-cuda-cccl", "the CUDA toolkit"),
    ):
        source = Source(f"#include <{header}>\n__global__ void k() {{}}", kernels=("k",))
        with pytest.raises(
            CompileError, match=rf'"{header}" is a header of {of}.*pip install (-U )?{package}'
        ):
            compile_source(source, gpu_target)
