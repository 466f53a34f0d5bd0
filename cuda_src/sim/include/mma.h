/* mma.h: wmma. Each lane holds the elements that it holds on a GPU of compute capability 8.0 and later: those of
 * PTX's mma fragments, in tiles of 16 x 8 (m8n32: of the transposed product).
 *
 * A product is computed as PTX leaves room for: the products of half, bfloat16 and tf32 numbers are exact, their
 * sum with c is rounded once. A GPU adds them up in an order, and cuts bits off, as it is not documented: where the
 * sums are not exact, the last bits differ. */
#pragma once
#include <cuda_fp16.h>
#include <cuda_bf16.h>

namespace nvcuda {
namespace wmma {

enum layout_t { mem_row_major, mem_col_major };
struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
namespace precision {
struct tf32;
struct u4;
struct s4;
struct b1;
} // namespace precision
namespace experimental {
using namespace ::nvcuda::wmma;
namespace precision = ::nvcuda::wmma::precision;
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
} // namespace experimental

namespace nl_detail {

/* What an element is kept as, what is computed with, how many elements a register of 32 bits has. */
template <class T> struct element;
template <> struct element<__half> {
    typedef __half kept;
    typedef float number;
    static constexpr int packed = 2;
    static NUMBALITE_SIM_INLINE float value(__half x) { return __half2float(x); }
};
template <> struct element<__nv_bfloat16> {
    typedef __nv_bfloat16 kept;
    typedef float number;
    static constexpr int packed = 2;
    static NUMBALITE_SIM_INLINE float value(__nv_bfloat16 x) { return __bfloat162float(x); }
};
template <> struct element<precision::tf32> {
    typedef float kept;
    typedef float number;
    static constexpr int packed = 1;
    static NUMBALITE_SIM_INLINE float value(float x) { /* a GPU reads 19 bits of it */
        return numbalite_sim::bits<float>(numbalite_sim::bits<unsigned>(x) & ~0x1fffu);
    }
};
template <class T, class Number, int many> struct plain_element {
    typedef T kept;
    typedef Number number;
    static constexpr int packed = many;
    static NUMBALITE_SIM_INLINE Number value(T x) { return x; }
};
template <> struct element<signed char> : plain_element<signed char, int, 4> {};
template <> struct element<unsigned char> : plain_element<unsigned char, int, 4> {};
template <> struct element<double> : plain_element<double, double, 1> {};
template <> struct element<float> : plain_element<float, float, 1> {};
template <> struct element<int> : plain_element<int, int, 1> {};

template <class T, int m, int n, int k> struct is_shape {
    static constexpr bool of_16 = (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32);
    static constexpr bool value = k == 16 && of_16;
};
template <int m, int n, int k> struct is_shape<precision::tf32, m, n, k> {
    static constexpr bool value = m == 16 && n == 16 && k == 8;
};
template <int m, int n, int k> struct is_shape<double, m, n, k> {
    static constexpr bool value = m == 8 && n == 8 && k == 4;
};
template <int m, int n, int k> struct is_shape<float, m, n, k> {
    static constexpr bool value = m == 16 && n == 16 && k == 8;
};
template <class T> struct is_small { static constexpr bool value = false; };
template <> struct is_small<precision::u4> { static constexpr bool value = true; };
template <> struct is_small<precision::s4> { static constexpr bool value = true; };
template <> struct is_small<precision::b1> { static constexpr bool value = true; };

/* The place of a lane's element: in the rows of a or the columns of b, and along k; in an accumulator, its row and
 * its column. */
struct place {
    int outer, inner;
};
NUMBALITE_SIM_INLINE int group() {
    return static_cast<int>(numbalite_sim::lane() >> 2);
}
NUMBALITE_SIM_INLINE int turn() {
    return static_cast<int>(numbalite_sim::lane() & 3);
}
/* Tiles of 16 rows. */
template <int k, int packed> NUMBALITE_SIM_INLINE place in_tall(int i) {
    constexpr int count = 16 * k / 32;
    int tile = i / count, r = i % count / packed, j = i % packed;
    return {16 * tile + group() + 8 * (r & 1), packed * turn() + j + 4 * packed * (r >> 1)};
}
/* Tiles of 8 columns. */
template <int k, int packed> NUMBALITE_SIM_INLINE place in_flat(int i) {
    constexpr int count = 8 * k / 32;
    int tile = i / count, r = i % count / packed, j = i % packed;
    return {8 * tile + group(), packed * turn() + j + 4 * packed * r};
}
template <int extent, int k, int packed, bool tall> NUMBALITE_SIM_INLINE place at(int i) {
    i %= extent * k / 32; /* a fragment of half has its elements twice */
    return tall ? in_tall<k, packed>(i) : in_flat<k, packed>(i);
}
template <int m, int n> NUMBALITE_SIM_INLINE place in_result(int i) {
    int tile = i / 4, row = group() + 8 * (i % 4 / 2), column = 2 * turn() + i % 2;
    if (m == 8 && n == 32)
        return {column, 16 * tile + row};
    if (m == 32)
        return {16 * tile + row, column};
    return {row, 8 * tile + column};
}

template <class T, int count> struct elements {
    typedef T element_type;
    typedef typename element<T>::kept storage_element_type;
    enum : int { num_elements = count, num_storage_elements = count };
    storage_element_type x[count];
};
template <class T, int extent, int k> struct operand
    : elements<T, __is_same(T, __half) ? 16 : extent * k / 32> {};

NUMBALITE_SIM_INLINE void together(const char *file, int line) {
    if (numbalite_sim::block_threads() < (numbalite_sim::rank() | 31u) + 1)
        numbalite_sim::fault(719, "wmma needs all 32 threads of a warp", file, line);
    __syncwarp(0xffffffffu, file, line);
}

} // namespace nl_detail

#define NUMBALITE_SIM_SHAPE(T) \
    static_assert(!nl_detail::is_small<T>::value, \
                  "numbalite: wmma with numbers of 1 and 4 bits cannot run on the CPU simulator"); \
    static_assert(nl_detail::is_small<T>::value || nl_detail::is_shape<T, m, n, k>::value, \
                  "incomplete type fragment is not allowed: wmma has no such shape of this type");

template <class Use, int m, int n, int k, class T, class Layout = void> class fragment;
template <int m, int n, int k, class T, class Layout>
class fragment<matrix_a, m, n, k, T, Layout> : public nl_detail::operand<T, m, k> {
    NUMBALITE_SIM_SHAPE(T)
  public:
    static NUMBALITE_SIM_INLINE nl_detail::place nl_at(int i) {
        return nl_detail::at<m, k, nl_detail::element<T>::packed, m != 8>(i);
    }
};
template <int m, int n, int k, class T, class Layout>
class fragment<matrix_b, m, n, k, T, Layout> : public nl_detail::operand<T, n, k> {
    NUMBALITE_SIM_SHAPE(T)
  public:
    static NUMBALITE_SIM_INLINE nl_detail::place nl_at(int i) {
        return nl_detail::at<n, k, nl_detail::element<T>::packed, n == 32>(i);
    }
};
template <int m, int n, int k, class T>
class fragment<accumulator, m, n, k, T, void> : public nl_detail::elements<T, m * n / 32> {};
#undef NUMBALITE_SIM_SHAPE

template <class T, int count, class V>
NUMBALITE_SIM_INLINE void fill_fragment(nl_detail::elements<T, count> &f, const V &value) {
    for (int i = 0; i < count; ++i)
        f.x[i] = value;
}
NUMBALITE_SIM_INLINE float __float_to_tf32(float x) { /* cvt.rna.tf32.f32 */
    unsigned word = numbalite_sim::bits<unsigned>(x);
    if ((word & 0x7f800000u) == 0x7f800000u)
        return x;
    return numbalite_sim::bits<float>((word + 0x1000u) & ~0x1fffu);
}

/* ---- memory: element (outer, inner) of a and (inner, outer) of b ---- */

template <int m, int n, int k, class T, class Layout, class V>
NUMBALITE_SIM_INLINE void load_matrix_sync(fragment<matrix_a, m, n, k, T, Layout> &f, const V *p,
                                           unsigned ldm, NUMBALITE_SIM_SITE) {
    nl_detail::together(file, line);
    for (int i = 0; i < f.num_elements; ++i) {
        nl_detail::place at = f.nl_at(i);
        f.x[i] = __is_same(Layout, row_major) ? p[at.outer * ldm + at.inner] : p[at.inner * ldm + at.outer];
    }
}
template <int m, int n, int k, class T, class Layout, class V>
NUMBALITE_SIM_INLINE void load_matrix_sync(fragment<matrix_b, m, n, k, T, Layout> &f, const V *p,
                                           unsigned ldm, NUMBALITE_SIM_SITE) {
    nl_detail::together(file, line);
    for (int i = 0; i < f.num_elements; ++i) {
        nl_detail::place at = f.nl_at(i);
        f.x[i] = __is_same(Layout, row_major) ? p[at.inner * ldm + at.outer] : p[at.outer * ldm + at.inner];
    }
}
template <int m, int n, int k, class T>
NUMBALITE_SIM_INLINE void load_matrix_sync(fragment<accumulator, m, n, k, T> &f, const T *p,
                                           unsigned ldm, layout_t layout, NUMBALITE_SIM_SITE) {
    nl_detail::together(file, line);
    for (int i = 0; i < f.num_elements; ++i) {
        nl_detail::place at = nl_detail::in_result<m, n>(i);
        f.x[i] = layout == mem_row_major ? p[at.outer * ldm + at.inner] : p[at.inner * ldm + at.outer];
    }
}
template <int m, int n, int k, class T>
NUMBALITE_SIM_INLINE void store_matrix_sync(T *p, const fragment<accumulator, m, n, k, T> &f,
                                            unsigned ldm, layout_t layout, NUMBALITE_SIM_SITE) {
    nl_detail::together(file, line);
    for (int i = 0; i < f.num_elements; ++i) {
        nl_detail::place at = nl_detail::in_result<m, n>(i);
        p[layout == mem_row_major ? at.outer * ldm + at.inner : at.inner * ldm + at.outer] = f.x[i];
    }
}

/* ---- products ---- */

namespace nl_detail {

/* The matrices of a warp's product, in the first lane's frame: a by rows, b by columns. */
template <int m, int n, int k, class Number> struct matrices {
    Number a[m * k], b[n * k];
};

/* The engine's threads are one thread of the CPU: the other lanes may write there. Races and unwritten memory are
 * not looked for: between two meetings of the warp nothing can go wrong. */
template <class A, int count, int k, class Number>
NUMBALITE_SIM_OWN void put(Number *to, const Number *mine) {
    for (int i = 0; i < count; ++i) {
        place at = A::nl_at(i);
        to[at.outer * k + at.inner] = mine[i];
    }
}

template <int k> NUMBALITE_SIM_OWN double sum(const float *a, const float *b, double c) {
    double total = 0;
    for (int i = 0; i < k; ++i)
        total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return total + c;
}
template <int k> NUMBALITE_SIM_OWN double sum(const double *a, const double *b, double c) {
    for (int i = 0; i < k; ++i)
        c = __builtin_fma(a[i], b[i], c);
    return c;
}
template <int k> NUMBALITE_SIM_OWN long long sum(const int *a, const int *b, int c) {
    long long total = c;
    for (int i = 0; i < k; ++i)
        total += a[i] * b[i];
    return total;
}

template <class T> NUMBALITE_SIM_INLINE T rounded(double x, bool) {
    return T(x);
}
template <class T> NUMBALITE_SIM_INLINE T rounded(long long x, bool saturates) {
    if (saturates && x > 0x7fffffff)
        return 0x7fffffff;
    if (saturates && x < -0x7fffffffll - 1)
        return -0x7fffffff - 1;
    return static_cast<T>(static_cast<unsigned>(x));
}

} // namespace nl_detail

template <int m, int n, int k, class D, class A, class LA, class B, class LB, class C>
NUMBALITE_SIM_INLINE void
mma_sync(fragment<accumulator, m, n, k, D> &d, const fragment<matrix_a, m, n, k, A, LA> &a,
         const fragment<matrix_b, m, n, k, B, LB> &b, const fragment<accumulator, m, n, k, C> &c,
         bool satf = false, NUMBALITE_SIM_SITE) {
    static_assert(__is_same(A, B), "the elements of a and b have one type");
    typedef nl_detail::element<A> element;
    typedef typename element::number number;
    constexpr int of_a = m * k / 32, of_b = n * k / 32;
    number mine_a[of_a], mine_b[of_b];
    for (int i = 0; i < of_a; ++i)
        mine_a[i] = element::value(a.x[i]);
    for (int i = 0; i < of_b; ++i)
        mine_b[i] = element::value(b.x[i]);
    nl_detail::matrices<m, n, k, number> own;
    unsigned long long there = numbalite_sim::shuffle(
        0xffffffffu, reinterpret_cast<unsigned long long>(&own), NL_SIM_SHUFFLE_INDEX, 0, file, line);
    auto *all = reinterpret_cast<nl_detail::matrices<m, n, k, number> *>(there);
    nl_detail::put<fragment<matrix_a, m, n, k, A, LA>, of_a, k>(all->a, mine_a);
    nl_detail::put<fragment<matrix_b, m, n, k, B, LB>, of_b, k>(all->b, mine_b);
    nl_detail::together(file, line);
    for (int i = 0; i < c.num_elements; ++i) {
        nl_detail::place at = nl_detail::in_result<m, n>(i);
        auto start = nl_detail::element<C>::value(c.x[i]);
        d.x[i] = nl_detail::rounded<D>(
            nl_detail::sum<k>(all->a + at.outer * k, all->b + at.inner * k, start), satf);
    }
    nl_detail::together(file, line);
}
template <class... Arguments>
NUMBALITE_SIM_CANNOT("wmma with numbers of 1 and 4 bits cannot run on the CPU simulator")
void bmma_sync(Arguments &&...);

} // namespace wmma
} // namespace nvcuda
