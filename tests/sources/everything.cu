/* everything: each name of the device library at least once, on each kind of argument that it
 * accepts. This file is only compiled (test_headers.py): its computations are meaningless. */
#include "numbalite.cuh"
#include "numbalite/half.cuh"
#include "numbalite/complex.cuh"
#include "numbalite/tuple.cuh"
#include "numbalite/atomics.cuh"
#include "numbalite/warp.cuh"
#include "numbalite/random.cuh"
#include "numbalite/random_init.cuh"
#include "numbalite/philox.cuh"
#include "numbalite/groups.cuh"
#include "numbalite/constant.cuh"
#include "numbalite/layout.cuh"
#include "numbalite/math.cuh"
#include "numbalite/limits.cuh"
using namespace numbalite;
__global__ void cplx(array<complex64> a, array<complex128, 2, C> b, complex64 *p, float s, double d,
                     int n) {
    auto i = grid<1>();
    complex64 z = a[i];
    complex128 w = b(i, 0);
    z = z * w + s * z - d / z + z / 2 - 1 + n;
    z += w;
    z *= 2.0;
    z /= z;
    z -= n;
    z = pow(z, 2) + pow(z, w) + pow(z, 0.5) + pow(2.0, z) + exp(z) + log(z) + sqrt(z) + sin(z) +
        cos(z) + tan(z) + sinh(z) + cosh(z) + tanh(z) + log10(z);
    p[i] =
        abs(z) + arg(z) + norm(z) + conj(z) + polar(s, s) + real(z) + imag(z) + z.real() + z.imag();
    if (z == w || z == 1.0f || 2 == z || z != w || isnan(z) || isinf(z) || isfinite(z))
        p[i] = 0;
    __shared__ complex64 tile[32];
    tile[threadIdx.x] = z;
    p[i] = tile[threadIdx.x ^ 1];
    float f = abs(s) + ::abs(n) + sqrt(s) + pow(s, s) + exp(d);
    p[i] = f;
}
__device__ auto pol(float x, float y) {
    return make_tuple(hypotf(x, y), atan2f(y, x));
}
__device__ tuple<float, int> pol2(float x) {
    return {x, 1};
}
__global__ void tup(float *o) {
    auto [r, phi] = pol(o[0], o[1]);
    auto t = make_tuple(1, 2.0f, make_tuple(3, o));
    auto [a, b, c] = t;
    auto [d, e] = c;
    get<1>(t) = 5;
    const auto u = tuple{1, 2, 3, 4, 5, 6, 7, 8};
    o[2] = r + phi + a + b + d + get<0>(t) + get<0>(get<2>(t)) + get<7>(u) + get<0>(pol2(1)) +
           (pol2(1) == pol2(2)) + (u != u);
    e[3] = 1;
}
template <class T> __device__ T at(T *p, T v) {
    T r = atomic_add(p, v) + atomic_sub(p, v) + atomic_max(p, v) + atomic_min(p, v) +
          atomic_nanmax(p, v) + atomic_nanmin(p, v) + atomic_exch(p, v) + atomic_cas(p, 0, v);
    return r;
}
template <class T> __device__ T ati(T *p, T v) {
    return at(p, v) + atomic_and(p, v) + atomic_or(p, 1) + atomic_xor(p, v) + atomic_inc(p, v) +
           atomic_dec(p, v);
}
__global__ void ats(int8 *a, uint8 *b, int16 *c, uint16 *d, int32 *e, uint32 *f, int64 *g,
                    uint64 *h, float *i, double *j, array<float> k, array<int64> l, complex64 *m,
                    long *n, unsigned long *o, char *p) {
    ati(a, int8(1));
    ati(b, uint8(1));
    ati(c, int16(1));
    ati(d, uint16(1));
    ati(e, 1);
    ati(f, 1u);
    ati(g, 1ll);
    ati(h, 1ull);
    at(i, 1.f);
    at(j, 1.0);
    ati(n, 1l);
    ati(o, 1ul);
    ati(p, 'a');
    atomic_max(k, threadIdx.x, 1);
    atomic_add(k, 1, 1.0);
    atomic_cas(l, 3, 1, 2);
    atomic_add(&k[3], 2);
    atomic_add(m, complex64(1, 2));
    atomic_sub(m, 2);
}
__global__ void several(array<float, 2> a, array<int64, 3, C> b, array<uint8, 4> c,
                        array<const float, 2, F> d) {
    int i = 1;
    unsigned long long j = 2;
    atomic_add(a, {i, j}, 1);
    atomic_cas(b, {i, j, 3}, 1, 2);
    atomic_max(c, {grid<1>(), 0, j, i}, 3);
    atomic_nanmin(a[i], {i}, d(i, 0));
    for (auto row : d)
        for (float v : row)
            a(0, 0) += v;
    for (auto plane : b)
        for (int64 &v : plane[1])
            v += *plane[0].begin() + (plane.begin() == plane.end());
}
struct three {
    char c;
    double d;
};
__global__ void wrp(float *o, three *q) {
    three t = q[laneid()];
    t = shfl_sync(0xffffffff, t, 3);
    t = shfl_xor_sync(0xffffffff, t, 3);
    complex64 z(1, 2);
    z = shfl_down_sync(0xffffffff, z, 1);
    z = shfl_up_sync(0xffffffff, z, 1u);
    o[0] = t.d + z.re + warpid() + lanemask_lt() + match_any_sync(0xffffffff, (short)o[0]) +
           eq_sync(~0u, o[3] > 0);
    q[0] = t;
}
__global__ void rnd(array<xoroshiro128p_state> s, xoroshiro128p_state *p, float *o) {
    auto i = grid<1>();
    o[i] = xoroshiro128p_uniform_float32(s, i) + xoroshiro128p_normal_float32(p, i) +
           xoroshiro128p_uniform_float64(s, i) + xoroshiro128p_normal_float64(s, i) +
           xoroshiro128p_next(s, i);
    xoroshiro128p_jump(s, i);
    init_xoroshiro128p_state(s, i, 42);
    init_xoroshiro128p_state(p, 0, 42);
    auto t = s[i];
    o[i] += xoroshiro128p_uniform_float32(t);
}
__device__ int sum(cg::thread_group g, int *t, int v) {
    int l = g.thread_rank();
    for (int i = g.size() / 2; i > 0; i /= 2) {
        t[l] = v;
        g.sync();
        if (l < i)
            v += t[l + i];
        g.sync();
    }
    return v;
}
__global__ void grp(int *o) {
    namespace cg = cooperative_groups;
    cg::thread_block b = cg::this_thread_block();
    auto t = cg::tiled_partition<8>(b);
    auto t4 = tiled_partition<4>(t);
    cg::thread_block_tile<32> w = cg::tiled_partition<32>(b);
    __shared__ int sh[1024];
    int v = sum(b, sh, 1) + sum(t, sh, 1) + sum(tiled_partition(b, 16), sh, 1);
    v += cg::reduce(w, v, cg::plus<int>()) + t.shfl_down(v, 1) + t.shfl(v, 0) + t.shfl_up(v, 1) +
         t.shfl_xor(v, 1) + t4.ballot(v) + t.any(v) + t.all(v) + t.match_any(v) +
         t.meta_group_rank() + t.meta_group_size();
    int all;
    v += t.match_all(v, all) + all;
    if (v > 3) {
        auto a = cg::coalesced_threads();
        if (a.thread_rank() == 0)
            v += a.size();
        v = a.shfl(v, 0) + a.ballot(v) + reduce(a, v, cg::greater<int>()) + a.shfl_up(v, 1) +
            a.shfl_down(v, 1) + a.match_any(v);
        sync(a);
    }
    auto bp = cg::binary_partition(w, v & 1);
    v += bp.size() + cg::labeled_partition(t, v).size() + inclusive_scan(w, v) +
         exclusive_scan(w, v, cg::plus<>());
    cg::grid_group g = cg::this_grid();
    g.sync();
    this_grid().sync();
    cg::sync(b);
    o[g.thread_rank()] = v + g.size() + cg::thread_rank(b) + b.group_index().x + g.num_blocks() +
                         g.is_valid() + b.thread_index().y;
}
__constant__ const constant_array<float, 2, 3> w = {{1, 2, 3, 4, 5, 6}};
__constant__ const constant_array<int64, 4> w1 = {{1, 2, 3, 4}};
__constant__ const constant_array<complex64, 2> wc = {{{1, 2}, {3, 4}}};
__constant__ const constant_array<float, 2, 0> w0 = {};
__constant__ const constant_array<bool, 1, 2, 3, 2, 1> w5 = {{true, false}};
__device__ float take(array<const float, 2> a, array<const float, 2, C> b) {
    return a(0, 1) + b[1][2];
}
__global__ void cst(float *o, int i, int j) {
    o[0] = w(i, j) + w[i][j] + w1[i] + wc[i].real() + w.shape[i] + w.strides[j] + w.size() +
           w.ndim + take(w, w) + *w.data() + w5(0, i, j, 0, 0) + w5.size() + w0.size() + w1(i);
}
__global__ void hlf(array<float16> a, half *b) {
    auto i = grid<1>();
    a[i] = sin(a[i]) * b[i] + sqrt(a[i]) + pow(a[i], b[i]) + max(a[i], b[i]);
}
__global__ void arr(array<float> a, array<const float, 2, layout::C> b, array<float, 3, F> c,
                    array<int, 5> d, array<float, 5, C> e, array<float, 4, F> f) {
    auto [x, y, z] = grid<3>();
    auto [gx, gy] = gridsize<2>();
    unsigned u = 3;
    size_t s = 4;
    short h = 1;
    array<const float> ca = a;
    array<const float, 2> cb = b;
    array<float, 3> cc = c;
    a[u] = a[s] + a[h] + a[x] + a(u) + b[u][s] + b(u, s) + c(x, y, z) + c[1][2][3] + cc(x, y, z) +
           d(1, 2, 3, 4, 5) + d[1][2][3][4][5] + e(x, y, z, gx, gy) + f(x, y, z, gx) + cb(1, 1) +
           ca[2];
    a[0] = a.size() + b.shape[u] + c.strides[1] + b.ndim + (a.data() == nullptr) + max(a.ndim, 3);
    assert(a[0] > 0);
}

__global__ void mth(float *o, double *d, int n, long long l, short h, unsigned u,
                    unsigned long long ul, const float *c) {
    o[0] = sqrt(n) + sin(l) + max(o[1], 0) + max(n, l) + min(l, 0) + max(c[1] - 0.3, 0) +
           pow(o[1], 0.5) + pow(n, 2) + pow(2, o[1]) +
#if !defined(__CUDACC_VER_MINOR__) || __CUDACC_VER_MAJOR__ != 12 || __CUDACC_VER_MINOR__ >= 2
           pow(o[1], 2) + pow(d[0], 2) + pow(2.0, n) + // what NVRTC 12.0 and 12.1 cannot link
#endif
           hypot(o[1], 1) + fmod(o[1], 2) + atan2(d[1], 1) + max(h, h) + min(h, 3) + max(u, 3) +
           min(ul, n) + fmin(o[1], 1.0) + exp(h) + max(grid<1>(), 0) + fabs(n) + abs(n) +
           max(3, 4) + max(1.f, 2.f) + floor(n) + M_PI + INFINITY + NAN + FLT_MAX + INT_MAX +
           max(true, 2);
    static_assert(sizeof(max(o[1], 0)) == 4 && sizeof(sqrt(o[1])) == 4 && sizeof(max(n, l)) == 8,
                  "");
}
