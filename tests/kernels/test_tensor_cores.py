"""Tests wmma (mma.h): products by the tensor cores, or by the simulator."""

import contextlib

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

SOURCE = """
#include <mma.h>
using namespace nvcuda;

template <class A, class C, int m, int n, int k, class LA, class LB, class V, class W>
__device__ void product(const V *a, const V *b, const W *c, W *d, int lda, int ldb, int ldc, wmma::layout_t layout) {
    wmma::fragment<wmma::matrix_a, m, n, k, A, LA> fa;
    wmma::fragment<wmma::matrix_b, m, n, k, A, LB> fb;
    wmma::fragment<wmma::accumulator, m, n, k, C> fc, fd;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, layout);
    for (int i = 0; i < fc.num_elements; ++i)
        fc.x[i] = fc.x[i] + fc.x[i];
    wmma::mma_sync(fd, fa, fb, fc);
    wmma::store_matrix_sync(d, fd, ldc, layout);
}
__global__ void sum_of_rows(const __nv_bfloat16 *x, float *out, unsigned char *where) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> ones;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(a, x, 16);
    wmma::fill_fragment(ones, __float2bfloat16(1.0f));
    wmma::fill_fragment(sum, 0.0f);
    wmma::mma_sync(sum, a, ones, sum);
    wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
    for (int i = 0; i < 8; ++i) /* which lane has which element */
        sum.x[i] = 8 * threadIdx.x + i;
    wmma::store_matrix_sync(out + 256, sum, 16, wmma::mem_row_major);
    for (int i = 0; i < 256; ++i)
        where[i] = out[256 + i];
    out[512] = wmma::__float_to_tf32(1.0f + 3 * 0x1p-12f) - 1;
}
namespace small = wmma::experimental::precision;
template <class T, int k> struct of_words {
    wmma::fragment<wmma::matrix_a, 8, 8, k, T, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 8, k, T, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 8, 8, k, int> c;
    __device__ of_words(const unsigned *pa, const unsigned *pb, const int *pc) {
        static_assert(decltype(a)::num_elements == k / 4 && decltype(b)::num_storage_elements == 1, "");
        wmma::load_matrix_sync(a, pa, 2 * k); /* the left half of wider matrices */
        wmma::load_matrix_sync(b, pb, k);
        wmma::load_matrix_sync(c, pc, 8, wmma::mem_row_major);
    }
    __device__ void store(int *d) { wmma::store_matrix_sync(d, c, 8, wmma::mem_row_major); }
};
template <class T> __device__ void four_bits(const unsigned *a, const unsigned *b, const int *c, int *d) {
    of_words<T, 32> m(a, b, c);
    wmma::mma_sync(m.c, m.a, m.b, m.c);
    m.store(d);
    wmma::fill_fragment(m.a, 13);
    wmma::fill_fragment(m.c, 0);
    wmma::mma_sync(m.c, m.a, m.b, m.c, true);
    m.store(d + 64);
}
__global__ void s4(const unsigned *a, const unsigned *b, const int *c, int *d) { four_bits<small::s4>(a, b, c, d); }
__global__ void u4(const unsigned *a, const unsigned *b, const int *c, int *d) { four_bits<small::u4>(a, b, c, d); }
__global__ void b1(const unsigned *a, const unsigned *b, const int *c, int *d) {
    of_words<small::b1, 128> m(a, b, c);
    auto start = m.c;
    wmma::bmma_sync(m.c, m.a, m.b, start);
    m.store(d);
    wmma::bmma_sync(m.c, m.a, m.b, start, wmma::experimental::bmmaBitOpAND);
    m.store(d + 64);
}
__global__ void without_a_load(const __half *x, float *out) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(a, x + 8, 16);
    wmma::load_matrix_sync(b, x, 16);
    wmma::fill_fragment(c, 0.0f);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
"""
PRODUCTS = {  # name: m, n, k, dtypes, are a, b and c by rows?
    "f2_square": (16, 16, 16, "f2", "f4", True, False, True),
    "f2_tall": (32, 8, 16, "f2", "f4", False, True, False),
    "f2_half": (8, 32, 16, "f2", "f2", True, True, True),
    "f8": (8, 8, 4, "f8", "f8", True, False, True),
    "i1": (16, 16, 16, "i1", "i4", False, True, True),
    "u1": (8, 32, 16, "u1", "i4", True, True, False),
    "tf32": (16, 16, 8, "f4", "f4", True, True, True),
}
TYPES = {
    "f2": "__half",
    "f4": "float",
    "f8": "double",
    "i1": "signed char",
    "u1": "unsigned char",
    "i4": "int",
}


def wmma_kernel_source(name):
    m, n, k, dtype, wide, a_rows, b_rows, c_rows = PRODUCTS[name]
    element = "wmma::precision::tf32" if name == "tf32" else TYPES[dtype]
    by = {True: "row_major", False: "col_major"}
    return f"""
__global__ void {name}(const {TYPES[dtype]} *a, const {TYPES[dtype]} *b, const {TYPES[wide]} *c, {TYPES[wide]} *d) {{
    product<{element}, {TYPES[wide]}, {m}, {n}, {k}, wmma::{by[a_rows]}, wmma::{by[b_rows]}>(
        a, b, c, d, {k if a_rows else m}, {n if b_rows else k}, {n if c_rows else m}, wmma::mem_{by[c_rows]});
}}
"""


@pytest.fixture(scope="module")
def tensor_core_module():
    return cuda.module(SOURCE + "".join(map(wmma_kernel_source, PRODUCTS)))


@pytest.mark.parametrize("name", PRODUCTS)
def test_wmma_matches_numpy(tensor_core_module, name):
    m, n, k, dtype, wide, *by_rows = PRODUCTS[name]
    rng = np.random.default_rng(0)
    low = 0 if dtype == "u1" else -8
    a, b = (rng.integers(low, 8, shape).astype(dtype) for shape in ((m, k), (k, n)))
    c = rng.integers(-8, 8, (m, n)).astype(wide)
    given = [
        cuda.to_device(np.ascontiguousarray(x if rows else x.T))
        for x, rows in zip((a, b, c), by_rows, strict=True)
    ]
    d = cuda.device_array_like(given[2])
    getattr(tensor_core_module, name)[1, 32](*given, d)
    got = d.copy_to_host() if by_rows[2] else d.copy_to_host().T
    np.testing.assert_array_equal(got, a.astype(int) @ b.astype(int) + 2 * c.astype(int))


def test_wmma_fragment_layout_matches_a_gpu(tensor_core_module):
    x = np.random.default_rng(1).integers(-8, 8, (16, 16)).astype("f4")
    bits = (x.view("u4") >> 16).astype("u2")
    out, where = cuda.device_array(513, "f4"), cuda.device_array((16, 16), "u1")
    tensor_core_module.sum_of_rows[1, 32](cuda.to_device(bits).view("u2"), out, where)
    out = out.copy_to_host()
    np.testing.assert_array_equal(
        out[:256].reshape(16, 16), np.repeat(x.sum(1), 16).reshape(16, 16)
    )
    row, column = np.ogrid[:16, :16]
    lane, item = row % 8 * 4 + column % 8 // 2, column % 2 + row // 8 * 2 + column // 8 * 4
    np.testing.assert_array_equal(where.copy_to_host(), 8 * lane + item)
    assert out[512] == 2.0**-10


@pytest.mark.sim
def test_wmma_mistakes_are_reported(tensor_core_module):
    x, out = cuda.to_device(np.zeros(256, "f2")), cuda.device_array(256, "f4")
    with pytest.raises(KernelError, match="x points to 256 elements"), cuda.checks():
        tensor_core_module.without_a_load[1, 32](x, out)
    with pytest.raises(KernelError, match="all 32 threads of a warp"):
        tensor_core_module.without_a_load[1, 16](x, out)
        cuda.synchronize()


def packed_words(x, bits):
    """Packs numbers of `bits` bits into 32-bit words; the first number is in the lowest bits."""
    places = np.arange(0, 32, bits, dtype=np.uint32)
    low = (x & ((1 << bits) - 1)).astype(np.uint32)
    return (low.reshape(*x.shape[:-1], -1, len(places)) << places).sum(-1, dtype=np.uint32)


@pytest.mark.parametrize(("name", "low", "high"), [("s4", -8, 8), ("u4", 0, 16), ("b1", 0, 2)])
def test_sub_byte_wmma_products_match_numpy(tensor_core_module, name, low, high):
    bits, k = (1, 128) if name == "b1" else (4, 32)
    rng = np.random.default_rng(5)
    a, b = rng.integers(low, high, (8, 2 * k)), rng.integers(low, high, (8, k))
    c = rng.integers(-1000, 1000, (8, 8)).astype(np.int32)
    d = np.zeros((2, 8, 8), np.int32)
    with cuda.checks() if cuda.is_simulated() else contextlib.nullcontext():
        tensor_core_module[name][1, 32](packed_words(a, bits), packed_words(b, bits), c, d)
    a = a[:, :k]
    if name == "b1":
        expected = c + (a[:, None] ^ b).sum(-1), c + (a[:, None] & b).sum(-1)
    else:
        filled = np.full_like(a, -3 if name == "s4" else 13)
        expected = a @ b.T + c, filled @ b.T
    np.testing.assert_array_equal(d, expected)
