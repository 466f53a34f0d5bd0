/* mma.h: wmma. Each lane holds the elements that it holds on a GPU of compute capability 8.0 and later: those of
 * PTX's mma fragments (sim/matrix.h), in tiles of 16 x 8 (m8n32: of the transposed product). */
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

namespace matrix = numbalite_sim::matrix;

/* What an element is kept as, and what it is in a register. */
template <class T> struct element;
template <> struct element<__half> : matrix::f16 {
    typedef __half kept;
    static NUMBALITE_SIM_INLINE float value(__half x) { return __half2float(x); }
    static NUMBALITE_SIM_INLINE __half rounded(double x, bool) {
        return __half_raw{static_cast<unsigned short>(matrix::f16::rounded(x, false))};
    }
};
template <> struct element<__nv_bfloat16> : matrix::bf16 {
    typedef __nv_bfloat16 kept;
    static NUMBALITE_SIM_INLINE float value(__nv_bfloat16 x) { return __bfloat162float(x); }
};
template <class T, class Matrix> struct plain_element : Matrix {
    typedef T kept;
    static NUMBALITE_SIM_INLINE typename Matrix::number value(T x) {
        return Matrix::value(numbalite_sim::bits<typename Matrix::word>(x));
    }
    template <class Sum> static NUMBALITE_SIM_INLINE T rounded(Sum x, bool saturates) {
        return numbalite_sim::bits<T>(Matrix::rounded(x, saturates));
    }
};
template <> struct element<precision::tf32> : plain_element<float, matrix::tf32> {};
template <> struct element<double> : plain_element<double, matrix::f64> {};
template <> struct element<float> : plain_element<float, matrix::f32> {};
template <> struct element<int> : plain_element<int, matrix::s32> {};
template <class T> struct byte_element : matrix::integer<T> {
    typedef T kept;
};
template <> struct element<signed char> : byte_element<signed char> {};
template <> struct element<unsigned char> : byte_element<unsigned char> {};

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

template <class T, int count> struct elements {
    typedef T element_type;
    typedef typename element<T>::kept storage_element_type;
    enum : int { num_elements = count, num_storage_elements = count };
    storage_element_type x[count];
};
template <class T, int extent, int k> struct operand
    : elements<T, __is_same(T, __half) ? 16 : extent * k / 32> {};

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
    static NUMBALITE_SIM_INLINE nl_detail::matrix::place nl_at(int i) {
        return nl_detail::matrix::in_a<m, k, nl_detail::element<T>::packed>(i);
    }
};
template <int m, int n, int k, class T, class Layout>
class fragment<matrix_b, m, n, k, T, Layout> : public nl_detail::operand<T, n, k> {
    NUMBALITE_SIM_SHAPE(T)
  public:
    static NUMBALITE_SIM_INLINE nl_detail::matrix::place nl_at(int i) {
        return nl_detail::matrix::in_b<n, k, nl_detail::element<T>::packed>(i);
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
NUMBALITE_SIM_INLINE float __float_to_tf32(float x) {
    return numbalite_sim::tf32_nearest(x);
}

/* ---- memory: element (outer, inner) of a and (inner, outer) of b ---- */

template <int m, int n, int k, class T, class Layout, class V>
NUMBALITE_SIM_INLINE void load_matrix_sync(fragment<matrix_a, m, n, k, T, Layout> &f, const V *p,
                                           unsigned ldm, NUMBALITE_SIM_SITE) {
    nl_detail::matrix::together(file, line);
    for (int i = 0; i < f.num_elements; ++i) {
        nl_detail::matrix::place at = f.nl_at(i);
        f.x[i] = __is_same(Layout, row_major) ? p[at.outer * ldm + at.inner] : p[at.inner * ldm + at.outer];
    }
}
template <int m, int n, int k, class T, class Layout, class V>
NUMBALITE_SIM_INLINE void load_matrix_sync(fragment<matrix_b, m, n, k, T, Layout> &f, const V *p,
                                           unsigned ldm, NUMBALITE_SIM_SITE) {
    nl_detail::matrix::together(file, line);
    for (int i = 0; i < f.num_elements; ++i) {
        nl_detail::matrix::place at = f.nl_at(i);
        f.x[i] = __is_same(Layout, row_major) ? p[at.inner * ldm + at.outer] : p[at.outer * ldm + at.inner];
    }
}
template <int m, int n, int k, class T>
NUMBALITE_SIM_INLINE void load_matrix_sync(fragment<accumulator, m, n, k, T> &f, const T *p,
                                           unsigned ldm, layout_t layout, NUMBALITE_SIM_SITE) {
    nl_detail::matrix::together(file, line);
    for (int i = 0; i < f.num_elements; ++i) {
        nl_detail::matrix::place at = nl_detail::matrix::in_result<m, n>(i);
        f.x[i] = layout == mem_row_major ? p[at.outer * ldm + at.inner] : p[at.inner * ldm + at.outer];
    }
}
template <int m, int n, int k, class T>
NUMBALITE_SIM_INLINE void store_matrix_sync(T *p, const fragment<accumulator, m, n, k, T> &f,
                                            unsigned ldm, layout_t layout, NUMBALITE_SIM_SITE) {
    nl_detail::matrix::together(file, line);
    for (int i = 0; i < f.num_elements; ++i) {
        nl_detail::matrix::place at = nl_detail::matrix::in_result<m, n>(i);
        p[layout == mem_row_major ? at.outer * ldm + at.inner : at.inner * ldm + at.outer] = f.x[i];
    }
}

/* ---- products ---- */

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
    nl_detail::matrix::operands<m, n, k, number> own;
    auto *all = nl_detail::matrix::of_first_lane(&own, file, line);
    nl_detail::matrix::put<m, n, k, element::packed, element::packed>(all, mine_a, mine_b);
    nl_detail::matrix::together(file, line);
    for (int i = 0; i < c.num_elements; ++i) {
        nl_detail::matrix::place at = nl_detail::matrix::in_result<m, n>(i);
        auto start = nl_detail::element<C>::value(c.x[i]);
        d.x[i] = nl_detail::element<D>::rounded(
            nl_detail::matrix::sum<k>(all->a + at.outer * k, all->b + at.inner * k, start), satf);
    }
    nl_detail::matrix::together(file, line);
}
template <class... Arguments>
NUMBALITE_SIM_CANNOT("wmma with numbers of 1 and 4 bits cannot run on the CPU simulator")
void bmma_sync(Arguments &&...);

} // namespace wmma
} // namespace nvcuda
