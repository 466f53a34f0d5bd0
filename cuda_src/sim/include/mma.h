/* mma.h: implements wmma. Each lane stores the same elements as on a GPU of compute capability 8.0
 * and later: those of PTX's mma fragments (sim/matrix.h), in tiles of 16 x 8 (m8n32: of the
 * transposed product). */
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
} // namespace precision
namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
} // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
} // namespace experimental

namespace nl_detail {

namespace matrix = numbalite_sim::matrix;

/* The element's type in registers, its storage in fragments, and its layout in memory. */
template <class T> struct element;
template <class Kept> struct one_each {
    typedef Kept kept, memory;
    static constexpr int stored = 1;
    static NUMBALITE_SIM_INLINE kept read(const memory *p, unsigned i) { return p[i]; }
    static NUMBALITE_SIM_INLINE kept filled(kept x) { return x; }
};
/* A fragment that stores several elements in one word. */
template <class Kept, class Matrix> struct some_each : Matrix {
    typedef Kept kept;
    typedef void memory;
    static constexpr int stored = Matrix::packed;
    static NUMBALITE_SIM_INLINE kept read(const void *p, unsigned i) { return static_cast<const kept *>(p)[i / stored]; }
    static NUMBALITE_SIM_INLINE kept filled(kept x) {
        constexpr unsigned one = (1u << Matrix::width) - 1;
        return static_cast<kept>((static_cast<unsigned>(x) & one) * (~0u / one));
    }
};
template <> struct element<__half> : matrix::f16, one_each<__half> {
    static NUMBALITE_SIM_INLINE float value(__half x) { return __half2float(x); }
    static NUMBALITE_SIM_INLINE __half rounded(double x, bool) {
        return __half_raw{static_cast<unsigned short>(matrix::f16::rounded(x, false))};
    }
};
template <> struct element<__nv_bfloat16> : matrix::bf16, one_each<__nv_bfloat16> {
    static NUMBALITE_SIM_INLINE float value(__nv_bfloat16 x) { return __bfloat162float(x); }
};
template <class T, class Matrix> struct plain_element : Matrix, one_each<T> {
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
template <class T> struct byte_element : matrix::integer<T>, one_each<T> {};
template <> struct element<signed char> : byte_element<signed char> {};
template <> struct element<unsigned char> : byte_element<unsigned char> {};
template <> struct element<experimental::precision::s4> : some_each<int, matrix::s4> {};
template <> struct element<experimental::precision::u4> : some_each<unsigned, matrix::u4> {};
template <> struct element<experimental::precision::b1> : some_each<unsigned, matrix::element<unsigned, 1>> {};

/* The supported shapes for each type of a and b, and of an accumulator. */
template <bool yes> struct choice {
    static constexpr bool value = yes;
};
template <int m, int n, int k> struct is_of_16
    : choice<k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32))> {};
template <class T, int m, int n, int k> struct is_shape : choice<false> {};
template <int m, int n, int k> struct is_shape<__half, m, n, k> : is_of_16<m, n, k> {};
template <int m, int n, int k> struct is_shape<__nv_bfloat16, m, n, k> : is_of_16<m, n, k> {};
template <int m, int n, int k> struct is_shape<signed char, m, n, k> : is_of_16<m, n, k> {};
template <int m, int n, int k> struct is_shape<unsigned char, m, n, k> : is_of_16<m, n, k> {};
template <> struct is_shape<precision::tf32, 16, 16, 8> : choice<true> {};
template <> struct is_shape<double, 8, 8, 4> : choice<true> {};
template <> struct is_shape<experimental::precision::s4, 8, 8, 32> : choice<true> {};
template <> struct is_shape<experimental::precision::u4, 8, 8, 32> : choice<true> {};
template <> struct is_shape<experimental::precision::b1, 8, 8, 128> : choice<true> {};
template <class T, int m, int n, int k> struct is_sum : choice<false> {};
template <int m, int n, int k> struct is_sum<__half, m, n, k> : is_of_16<m, n, k> {};
template <int m, int n, int k> struct is_sum<double, m, n, k> : is_shape<double, m, n, k> {};
template <int m, int n, int k> struct is_sum<float, m, n, k>
    : choice<is_of_16<m, n, k>::value || is_shape<precision::tf32, m, n, k>::value> {};
template <int m, int n, int k> struct is_sum<int, m, n, k>
    : choice<is_of_16<m, n, k>::value || (m == 8 && n == 8 && (k == 32 || k == 128))> {};

template <class T, int count> struct elements {
    typedef T element_type;
    typedef typename element<T>::kept storage_element_type;
    enum : int { num_elements = count, num_storage_elements = count / element<T>::stored };
    storage_element_type x[num_storage_elements];
};
template <class T, int extent, int k> struct operand
    : elements<T, __is_same(T, __half) ? 16 : extent * k / 32> {};

/* Computes the product of fragments that are stored in words, as in PTX's mma. */
template <class Matrix, int k, class A, class B>
NUMBALITE_SIM_INLINE void multiply_word_fragments(int *d, const A *a, const B *b, const int *c, bool satf, const char *file, int line) {
    unsigned result[2];
    matrix::mma<Matrix, Matrix, matrix::s32, matrix::s32, 8, 8, k>(
        result, reinterpret_cast<const unsigned *>(a), reinterpret_cast<const unsigned *>(b),
        reinterpret_cast<const unsigned *>(c), satf, file, line);
    for (int i = 0; i < 2; ++i)
        d[i] = static_cast<int>(result[i]);
}

} // namespace nl_detail

#define NUMBALITE_SIM_SHAPE(is_there) \
    static_assert(nl_detail::is_there<T, m, n, k>::value, \
                  "incomplete type fragment is not allowed: wmma has no such shape for this type");
#define NUMBALITE_SIM_LAYOUT(of_words) \
    static_assert(nl_detail::element<T>::stored == 1 || __is_same(Layout, of_words), \
                  "incomplete type fragment is not allowed: 1 and 4 bits need row-major a, column-major b");

template <class Use, int m, int n, int k, class T, class Layout = void> class fragment;
template <int m, int n, int k, class T, class Layout>
class fragment<matrix_a, m, n, k, T, Layout> : public nl_detail::operand<T, m, k> {
    NUMBALITE_SIM_SHAPE(is_shape)
    NUMBALITE_SIM_LAYOUT(row_major)

  public:
    static NUMBALITE_SIM_INLINE nl_detail::matrix::place nl_at(int i) {
        return nl_detail::matrix::in_a<m, k, nl_detail::element<T>::packed>(i);
    }
};
template <int m, int n, int k, class T, class Layout>
class fragment<matrix_b, m, n, k, T, Layout> : public nl_detail::operand<T, n, k> {
    NUMBALITE_SIM_SHAPE(is_shape)
    NUMBALITE_SIM_LAYOUT(col_major)

  public:
    static NUMBALITE_SIM_INLINE nl_detail::matrix::place nl_at(int i) {
        return nl_detail::matrix::in_b<n, k, nl_detail::element<T>::packed>(i);
    }
};
template <int m, int n, int k, class T>
class fragment<accumulator, m, n, k, T, void> : public nl_detail::elements<T, m * n / 32> {
    NUMBALITE_SIM_SHAPE(is_sum)
};
#undef NUMBALITE_SIM_SHAPE
#undef NUMBALITE_SIM_LAYOUT

template <class T, int count, class V>
NUMBALITE_SIM_INLINE void fill_fragment(nl_detail::elements<T, count> &f, const V &value) {
    for (int i = 0; i < f.num_storage_elements; ++i)
        f.x[i] = nl_detail::element<T>::filled(value);
}
NUMBALITE_SIM_INLINE float __float_to_tf32(float x) {
    return numbalite_sim::tf32_nearest(x);
}

/* ---- Functions that load matrices from memory and store them ---- */

template <int m, int n, int k, class T, class Layout>
NUMBALITE_SIM_INLINE void load_matrix_sync(fragment<matrix_a, m, n, k, T, Layout> &f,
                                           const typename nl_detail::element<T>::memory *p, unsigned ldm,
                                           NUMBALITE_SIM_SITE) {
    typedef nl_detail::element<T> element;
    nl_detail::matrix::synchronize_warp(file, line);
    for (int i = 0; i < f.num_storage_elements; ++i) {
        nl_detail::matrix::place at = f.nl_at(i * element::stored);
        f.x[i] = element::read(p, __is_same(Layout, row_major) ? at.outer * ldm + at.inner
                                                               : at.inner * ldm + at.outer);
    }
}
template <int m, int n, int k, class T, class Layout>
NUMBALITE_SIM_INLINE void load_matrix_sync(fragment<matrix_b, m, n, k, T, Layout> &f,
                                           const typename nl_detail::element<T>::memory *p, unsigned ldm,
                                           NUMBALITE_SIM_SITE) {
    typedef nl_detail::element<T> element;
    nl_detail::matrix::synchronize_warp(file, line);
    for (int i = 0; i < f.num_storage_elements; ++i) {
        nl_detail::matrix::place at = f.nl_at(i * element::stored);
        f.x[i] = element::read(p, __is_same(Layout, row_major) ? at.inner * ldm + at.outer
                                                               : at.outer * ldm + at.inner);
    }
}
template <int m, int n, int k, class T>
NUMBALITE_SIM_INLINE void load_matrix_sync(fragment<accumulator, m, n, k, T> &f, const T *p,
                                           unsigned ldm, layout_t layout, NUMBALITE_SIM_SITE) {
    nl_detail::matrix::synchronize_warp(file, line);
    for (int i = 0; i < f.num_elements; ++i) {
        nl_detail::matrix::place at = nl_detail::matrix::in_result<m, n>(i);
        f.x[i] = layout == mem_row_major ? p[at.outer * ldm + at.inner] : p[at.inner * ldm + at.outer];
    }
}
template <int m, int n, int k, class T>
NUMBALITE_SIM_INLINE void store_matrix_sync(T *p, const fragment<accumulator, m, n, k, T> &f,
                                            unsigned ldm, layout_t layout, NUMBALITE_SIM_SITE) {
    nl_detail::matrix::synchronize_warp(file, line);
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
    static_assert(__is_same(A, B), "the elements of a and b must have the same type");
    typedef nl_detail::element<A> element;
    static_assert(element::stored == 1, "for elements of one bit, use bmma_sync");
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
    nl_detail::matrix::synchronize_warp(file, line);
    for (int i = 0; i < c.num_elements; ++i) {
        nl_detail::matrix::place at = nl_detail::matrix::in_result<m, n>(i);
        auto start = nl_detail::element<C>::value(c.x[i]);
        d.x[i] = nl_detail::element<D>::rounded(
            nl_detail::matrix::sum<k>(all->a + at.outer * k, all->b + at.inner * k, start), satf);
    }
    nl_detail::matrix::synchronize_warp(file, line);
}
template <class T>
NUMBALITE_SIM_INLINE void
mma_sync(fragment<accumulator, 8, 8, 32, int> &d, const fragment<matrix_a, 8, 8, 32, T, row_major> &a,
         const fragment<matrix_b, 8, 8, 32, T, col_major> &b, const fragment<accumulator, 8, 8, 32, int> &c,
         bool satf = false, NUMBALITE_SIM_SITE) {
    nl_detail::multiply_word_fragments<nl_detail::element<T>, 32>(d.x, a.x, b.x, c.x, satf, file, line);
}
NUMBALITE_SIM_INLINE void
bmma_sync(fragment<accumulator, 8, 8, 128, int> &d,
          const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> &a,
          const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> &b,
          const fragment<accumulator, 8, 8, 128, int> &c,
          experimental::bmmaBitOp operation = experimental::bmmaBitOpXOR,
          experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC, NUMBALITE_SIM_SITE) {
    if (operation == experimental::bmmaBitOpAND)
        nl_detail::multiply_word_fragments<nl_detail::matrix::b1<true>, 4>(d.x, a.x, b.x, c.x, false, file, line);
    else
        nl_detail::multiply_word_fragments<nl_detail::matrix::b1<false>, 4>(d.x, a.x, b.x, c.x, false, file, line);
}

} // namespace wmma
} // namespace nvcuda
