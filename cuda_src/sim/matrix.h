/* sim/matrix: matrix operations of a warp: PTX's mma, ldmatrix, stmatrix and movmatrix, and the
 * functions that mma.h also uses.
 *
 * A product is computed as the PTX specification allows: products of numbers of up to 19 bits are
 * exact, and their sum with c is rounded once. The order and truncation of a GPU's additions are
 * not documented: if the sums are not exact, the last bits differ. */
#ifndef NUMBALITE_SIM_MATRIX_H
#define NUMBALITE_SIM_MATRIX_H

namespace numbalite_sim {
namespace matrix {

/* Element types: the width of an element in bits, the register that contains several elements, and
 * the type used for computing. */
template <class Number, int size, class Word = unsigned> struct element {
    typedef Number number;
    typedef Word word;
    static constexpr int width = size;
    static constexpr int packed = static_cast<int>(8 * sizeof(Word)) / size;
};
struct f16 : element<float, 16> {
    static NUMBALITE_SIM_INLINE float value(unsigned x) { return half_to_float(static_cast<unsigned short>(x)); }
    static NUMBALITE_SIM_INLINE unsigned rounded(double x, bool) { return half_from_float(round_to_odd(x)); }
};
struct bf16 : element<float, 16> {
    static NUMBALITE_SIM_INLINE float value(unsigned x) { return bfloat16_to_float(static_cast<unsigned short>(x)); }
};
struct tf32 : element<float, 32> {
    static NUMBALITE_SIM_INLINE float value(unsigned x) { return tf32_to_float(x); }
};
template <class Format> struct of_format : element<float, 8> {
    static NUMBALITE_SIM_INLINE float value(unsigned x) { return Format::value(x); }
};
typedef of_format<numbalite_sim::e4m3> e4m3;
typedef of_format<numbalite_sim::e5m2> e5m2;
typedef of_format<numbalite_sim::e3m2> e3m2;
typedef of_format<numbalite_sim::e2m3> e2m3;
struct e2m1 : element<float, 8> { /* the number is in the middle of its byte */
    static NUMBALITE_SIM_INLINE float value(unsigned x) { return numbalite_sim::e2m1::value(x >> 2); }
};
struct f32 : element<float, 32> {
    static NUMBALITE_SIM_INLINE float value(unsigned x) { return bits<float>(x); }
    static NUMBALITE_SIM_INLINE unsigned rounded(double x, bool) {
        return x != x ? 0x7fffffffu : bits<unsigned>(static_cast<float>(x));
    }
};
struct f64 : element<double, 64, unsigned long long> {
    static NUMBALITE_SIM_INLINE double value(unsigned long long x) { return bits<double>(x); }
    static NUMBALITE_SIM_INLINE unsigned long long rounded(double x, bool) { return bits<unsigned long long>(x); }
};
template <class T> struct integer : element<int, 8 * sizeof(T)> {
    static NUMBALITE_SIM_INLINE int value(unsigned x) { return static_cast<T>(x); }
};
typedef integer<signed char> s8;
typedef integer<unsigned char> u8;
struct s4 : element<int, 4> {
    static NUMBALITE_SIM_INLINE int value(unsigned x) { return static_cast<int>(x << 28) >> 28; }
};
struct u4 : element<int, 4> {
    static NUMBALITE_SIM_INLINE int value(unsigned x) { return x & 15; }
};
struct s32 : element<int, 32> {
    static NUMBALITE_SIM_INLINE int value(unsigned x) { return static_cast<int>(x); }
    static NUMBALITE_SIM_INLINE unsigned rounded(long long x, bool saturates) {
        if (saturates && x > 0x7fffffff)
            return 0x7fffffff;
        if (saturates && x < -0x7fffffffll - 1)
            return 0x80000000u;
        return static_cast<unsigned>(x);
    }
};
/* 32 one-bit numbers form one element; k counts such elements. */
template <bool is_and> struct thirty_two {
    unsigned word;
};
template <bool is_and> struct b1 : element<thirty_two<is_and>, 32> {
    static NUMBALITE_SIM_INLINE thirty_two<is_and> value(unsigned x) { return {x}; }
};

/* The indices of a lane's element: in an operand, the row of a or the column of b, and the index
 * along k; in an accumulator, the row and the column. */
struct place {
    int outer, inner;
};
NUMBALITE_SIM_INLINE int group_of_lane() {
    return static_cast<int>(lane() >> 2);
}
NUMBALITE_SIM_INLINE int index_in_group() {
    return static_cast<int>(lane() & 3);
}
/* Tiles of 16 rows. */
template <int k, int packed> NUMBALITE_SIM_INLINE place in_tall(int i) {
    constexpr int count = 16 * k / 32;
    int tile = i / count, r = i % count / packed, j = i % packed;
    return {16 * tile + group_of_lane() + 8 * (r & 1), packed * index_in_group() + j + 4 * packed * (r >> 1)};
}
/* Tiles of 8 columns. */
template <int k, int packed> NUMBALITE_SIM_INLINE place in_flat(int i) {
    constexpr int count = 8 * k / 32;
    int tile = i / count, r = i % count / packed, j = i % packed;
    return {8 * tile + group_of_lane(), packed * index_in_group() + j + 4 * packed * r};
}
template <int extent, int k, int packed, bool tall> NUMBALITE_SIM_INLINE place in_operand(int i) {
    i %= extent * k / 32; /* a half fragment has each element twice */
    return tall ? in_tall<k, packed>(i) : in_flat<k, packed>(i);
}
template <int m, int k, int packed> NUMBALITE_SIM_INLINE place in_a(int i) {
    return in_operand<m, k, packed, m != 8>(i);
}
template <int n, int k, int packed> NUMBALITE_SIM_INLINE place in_b(int i) {
    return in_operand<n, k, packed, n == 32>(i);
}
template <int m, int n> NUMBALITE_SIM_INLINE place in_result(int i) {
    int tile = i / 4, row = group_of_lane() + 8 * (i % 4 / 2), column = 2 * index_in_group() + i % 2;
    if (m == 8 && n == 32)
        return {column, 16 * tile + row};
    if (m == 32)
        return {16 * tile + row, column};
    return {row, 8 * tile + column};
}

/* Synchronizes the warp and returns the first lane's pointer to each lane. All threads run on one
 * OS thread, so other lanes can access the first lane's stack. Accesses through these pointers are
 * not checked, because the warp synchronizes before and after them. */
template <class T> NUMBALITE_SIM_INLINE T *of_first_lane(T *own, const char *file, int line) {
    if (block_threads() < (rank() | 31u) + 1)
        fault(719, "wmma, mma and ldmatrix need all 32 threads of a warp", file, line);
    return reinterpret_cast<T *>(
        call_warp_operation(NL_SIM_WARP_MATRIX, 0xffffffffu, reinterpret_cast<unsigned long long>(own), 0, file, line));
}
NUMBALITE_SIM_INLINE void synchronize_warp(const char *file, int line) {
    of_first_lane<void>(nullptr, file, line);
}

/* The matrices of a warp's product: a is row-major, b column-major. */
template <int m, int n, int k, class Number> struct operands {
    Number a[m * k], b[n * k];
};
template <int m, int n, int k, int packed_a, int packed_b, class Number>
NUMBALITE_SIM_OWN void put(operands<m, n, k, Number> *all, const Number *a, const Number *b) {
    for (int i = 0; i < m * k / 32; ++i) {
        place at = in_a<m, k, packed_a>(i);
        all->a[at.outer * k + at.inner] = a[i];
    }
    for (int i = 0; i < n * k / 32; ++i) {
        place at = in_b<n, k, packed_b>(i);
        all->b[at.outer * k + at.inner] = b[i];
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
template <int k, bool is_and>
NUMBALITE_SIM_OWN long long sum(const thirty_two<is_and> *a, const thirty_two<is_and> *b, int c) {
    for (int i = 0; i < k; ++i)
        c = static_cast<int>(static_cast<unsigned>(c) +
                             __builtin_popcount(is_and ? a[i].word & b[i].word : a[i].word ^ b[i].word));
    return c;
}

/* ---- registers: PTX's mma ---- */

template <class T> NUMBALITE_SIM_INLINE typename T::number element_of(const typename T::word *registers, int i) {
    return T::value(registers[i / T::packed] >> (T::width * (i % T::packed)));
}
template <class T, class Sum>
NUMBALITE_SIM_INLINE void set_element(typename T::word *registers, int i, Sum x, bool saturates) {
    typename T::word &to = registers[i / T::packed], word = T::rounded(x, saturates);
    to = i % T::packed ? to | word << (T::width * (i % T::packed)) : word;
}

/* Functions with this attribute are not inlined, because a kernel calls them many times. */
#define NUMBALITE_SIM_MATRIX static NUMBALITE_SIM_UNCHECKED __attribute__((noinline))

template <class A, class B, class C, class D, int m, int n, int k>
NUMBALITE_SIM_MATRIX void mma(typename D::word *d, const typename A::word *a, const typename B::word *b,
                              const typename C::word *c, bool saturates, const char *file, int line) {
    typedef typename A::number number;
    number mine_a[m * k / 32], mine_b[n * k / 32];
    for (int i = 0; i < m * k / 32; ++i)
        mine_a[i] = element_of<A>(a, i);
    for (int i = 0; i < n * k / 32; ++i)
        mine_b[i] = element_of<B>(b, i);
    operands<m, n, k, number> own;
    auto *all = of_first_lane(&own, file, line);
    put<m, n, k, A::packed, B::packed>(all, mine_a, mine_b);
    synchronize_warp(file, line);
    for (int i = 0; i < m * n / 32; ++i) {
        place at = in_result<m, n>(i);
        set_element<D>(d, i, sum<k>(all->a + at.outer * k, all->b + at.inner * k, element_of<C>(c, i)), saturates);
    }
    synchronize_warp(file, line);
}

/* mma.m8n8k4 of half: four products, product q by lanes 4 q to 4 q + 3 and the lanes 16 after
 * them. */
template <class C> NUMBALITE_SIM_INLINE place in_quad_result(int i) {
    int me = static_cast<int>(lane()), low = me & 3, upper = me >> 4;
    if (C::packed == 2)
        return {low + 4 * upper, i};
    return {(low & 1) + (i & 2) + 4 * upper, (i & 4) + (low & 2) + (i & 1)};
}
template <bool rows_of_a, bool rows_of_b, class C, class D>
NUMBALITE_SIM_MATRIX void mma_of_quads(unsigned *d, const unsigned *a, const unsigned *b, const unsigned *c,
                                       const char *file, int line) {
    operands<8, 8, 4, float> own[4];
    auto *all = of_first_lane(own, file, line) + (lane() >> 2 & 3);
    int low = static_cast<int>(lane() & 3), upper = static_cast<int>(lane() >> 4);
    for (int i = 0; i < 4; ++i) {
        all->a[rows_of_a ? (low + 4 * upper) * 4 + i : (i + 4 * upper) * 4 + low] = element_of<f16>(a, i);
        all->b[rows_of_b ? (i + 4 * upper) * 4 + low : (low + 4 * upper) * 4 + i] = element_of<f16>(b, i);
    }
    unsigned result[8] = {};
    synchronize_warp(file, line);
    double start[8][8];
    for (int i = 0; i < 8; ++i) {
        place at = in_quad_result<C>(i);
        start[at.outer][at.inner] = element_of<C>(c, i);
    }
    for (int i = 0; i < 8; ++i) {
        place at = in_quad_result<D>(i);
        set_element<D>(result, i, sum<4>(all->a + at.outer * 4, all->b + at.inner * 4, start[at.outer][at.inner]),
                       false);
    }
    for (int i = 0; i < 8 / D::packed; ++i)
        d[i] = result[i];
    synchronize_warp(file, line);
}

/* ---- matrices of 8 rows with 16 bytes ---- */

struct eight {
    unsigned short row[8][8];
};
/* A lane's register contains two neighbouring elements: of row group_of_lane() if the matrix is
 * loaded as stored, of column group_of_lane() if it is loaded transposed. in_register reads them
 * from the matrix, from_register writes them to the matrix. */
template <bool transposed> NUMBALITE_SIM_INLINE unsigned in_register(const eight &of) {
    int outer = group_of_lane(), inner = 2 * index_in_group();
    unsigned low = transposed ? of.row[inner][outer] : of.row[outer][inner];
    unsigned high = transposed ? of.row[inner + 1][outer] : of.row[outer][inner + 1];
    return low | high << 16;
}
template <bool transposed> NUMBALITE_SIM_INLINE void from_register(eight &to, unsigned word) {
    int outer = group_of_lane(), inner = 2 * index_in_group();
    (transposed ? to.row[inner][outer] : to.row[outer][inner]) = static_cast<unsigned short>(word);
    (transposed ? to.row[inner + 1][outer] : to.row[outer][inner + 1]) = static_cast<unsigned short>(word >> 16);
}
struct four_words {
    unsigned word[4];
};
template <int count, bool transposed>
NUMBALITE_SIM_MATRIX void load_rows_to_registers(unsigned *to, const four_words &row, const char *file, int line) {
    eight own[count];
    eight *all = of_first_lane(own, file, line);
    if (lane() < 8 * count)
        __builtin_memcpy(all[lane() / 8].row[lane() % 8], &row, sizeof row);
    synchronize_warp(file, line);
    for (int i = 0; i < count; ++i)
        to[i] = in_register<transposed>(all[i]);
    synchronize_warp(file, line);
}
template <int count, bool transposed>
NUMBALITE_SIM_MATRIX four_words make_rows_from_registers(const unsigned *from, const char *file, int line) {
    eight own[count];
    eight *all = of_first_lane(own, file, line);
    for (int i = 0; i < count; ++i)
        from_register<transposed>(all[i], from[i]);
    synchronize_warp(file, line);
    four_words row = {};
    if (lane() < 8 * count)
        __builtin_memcpy(&row, all[lane() / 8].row[lane() % 8], sizeof row);
    synchronize_warp(file, line);
    return row;
}
#undef NUMBALITE_SIM_MATRIX

NUMBALITE_SIM_INLINE void check_row_alignment(unsigned long long at, const char *file, int line) {
    if (at % 16)
        fault(716, "the address of a row of ldmatrix or stmatrix is no multiple of 16 bytes", file, line);
}
/* The lane that has a row's address accesses the row, so that errors are reported for this lane. */
template <int count, bool transposed>
NUMBALITE_SIM_INLINE void load(unsigned (&to)[count], unsigned long long at, NUMBALITE_SIM_SITE) {
    four_words row = {};
    if (lane() < 8 * count) {
        check_row_alignment(at, file, line);
        for (int i = 0; i < 4; ++i)
            row.word[i] = reinterpret_cast<const unsigned *>(at)[i];
    }
    load_rows_to_registers<count, transposed>(to, row, file, line);
}
template <int count, bool transposed>
NUMBALITE_SIM_INLINE void store(unsigned long long at, const unsigned (&from)[count], NUMBALITE_SIM_SITE) {
    const four_words row = make_rows_from_registers<count, transposed>(from, file, line);
    if (lane() < 8 * count) {
        check_row_alignment(at, file, line);
        for (int i = 0; i < 4; ++i)
            reinterpret_cast<unsigned *>(at)[i] = row.word[i];
    }
}
NUMBALITE_SIM_INLINE unsigned transposed(unsigned word, NUMBALITE_SIM_SITE) {
    const unsigned from[1] = {word};
    unsigned to[1];
    load_rows_to_registers<1, true>(to, make_rows_from_registers<1, false>(from, file, line), file, line);
    return to[0];
}

} // namespace matrix
} // namespace numbalite_sim

#endif
