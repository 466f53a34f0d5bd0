/* gufunc: building blocks of the generated kernels of generalized ufuncs: the kernel parameter that
 * the launch sets (cext/core/gloop.c), the mapping from a loop index to each operand's core, and
 * the cores as arrays.
 *
 * `core_view` accesses a core in place, with run-time shape and strides. `core_copy` copies a small
 * contiguous core, whose shape is a compile-time constant, to registers, by the widest accesses
 * that its alignment allows. With constant shapes, the function's loops are unrolled, and a batch
 * of small matrices is processed at memory bandwidth. */
#ifndef NUMBALITE_GUFUNC_CUH
#define NUMBALITE_GUFUNC_CUH

#include "numbalite.cuh"
#include "numbalite/unsigned_types.cuh"

/* A core array, with its name in the user's function, which reports use. */
#ifdef NUMBALITE_SIM_CHECKED
#define NUMBALITE_NAMED(nl_name, ...) \
    (::numbalite_sim::nl_named<decltype(__VA_ARGS__)>(nl_name, __VA_ARGS__).nl_array)
#else
#define NUMBALITE_NAMED(nl_name, ...) __VA_ARGS__
#endif

namespace numbalite {
namespace nl_detail {

/* Divides dividends less than 2^31 by a number, with constants that the launch has computed. */
struct gufunc_divider {
    unsigned magic, shift;
    NUMBALITE_FUNCTION unsigned quotient(unsigned n) const {
        return (__umulhi(n, magic) + n) >> shift;
    }
};

/* An operand: a pointer, or a value that is stored in the slot itself. */
struct alignas(16) gufunc_slot {
    unsigned long long word[2];
};

/* The kernel parameter for N operands, D loop dimensions (outermost first, strides in bytes), and C
 * core dimensions (their number over all operands). */
template <int N, int D, int C> struct gufunc_call {
    gufunc_slot operand[N];
    int64 count;
    int64 lanes; /* number of lanes of a warp that compute a loop index */
    int64 shape[D];
    gufunc_divider by[D];
    int64 strides[N][D];
    int64 core_shape[C > 0 ? C : 1];
    int64 core_strides[C > 0 ? C : 1];
};

/* The byte offset of the core of each operand at one loop index. */
template <int N, class Offset> struct gufunc_place { Offset offset[N]; };

/* Computes the offsets of a loop index; Index is int if the count and all offsets fit in an int,
 * else int64. */
template <class Index, int N, int D, int C>
NUMBALITE_FUNCTION gufunc_place<N, Index> gufunc_find(const gufunc_call<N, D, C> &call,
                                                      Index index) {
    gufunc_place<N, Index> place;
#pragma unroll
    for (int i = 0; i < N; ++i)
        place.offset[i] = 0;
#pragma unroll
    for (int d = D - 1; d >= 0; --d) {
        Index at = index;
        if (d > 0) {
            Index next = sizeof(Index) == 4 ? (Index)call.by[d].quotient((unsigned)index)
                                            : index / (Index)call.shape[d];
            at = index - next * (Index)call.shape[d];
            index = next;
        }
#pragma unroll
        for (int i = 0; i < N; ++i)
            place.offset[i] += at * (Index)call.strides[i][d];
    }
    return place;
}

/* Returns a view of a core of `operand`, whose core dimensions are those from index `First` on. */
template <class T, int Dims, layout L, int First, class Call>
NUMBALITE_FUNCTION array<T, (Dims > 0 ? Dims : 1), L> core_view(const Call &call, int operand,
                                                                int64 offset) {
    array<T, (Dims > 0 ? Dims : 1), L> a = array<T, (Dims > 0 ? Dims : 1), L>();
    a.pointer = (T *)((char *)call.operand[operand].word[0] + offset);
    a.shape[0] = 1;
    a.strides[0] = (int64)sizeof(T);
#pragma unroll
    for (int k = 0; k < Dims; ++k) {
        a.shape[k] = call.core_shape[First + k];
        a.strides[k] = call.core_strides[First + k];
    }
    return a;
}

/* Copies bytes with accesses of `Align` bytes each, a power of two up to 16. */
template <int Bytes, int Align> NUMBALITE_FUNCTION void core_move(void *to, const void *from) {
#ifdef NUMBALITE_SIM
    __builtin_memcpy(to, from, Bytes);
#else
    typedef typename word_of<Align>::type word;
    static_assert(Bytes % Align == 0, "the size of a core must be a multiple of the access size");
#pragma unroll
    for (int i = 0; i < Bytes / Align; ++i)
        ((word *)to)[i] = ((const word *)from)[i];
#endif
}

#ifdef NUMBALITE_SIM_CHECKED
/* With checked accesses, the function accesses the core itself, so that its reads and writes are
 * reported. */
template <class T, int Count, int Align> struct core_copy {
    alignas(16) unsigned char bytes[16];
    void *place;

    NUMBALITE_FUNCTION T *data() { return (T *)place; }
    template <class Call> NUMBALITE_FUNCTION void load(const Call &call, int operand, int64 at) {
        place = (char *)call.operand[operand].word[0] + at;
    }
    template <class Call> NUMBALITE_FUNCTION void take(const Call &call, int operand) {
        memcpy(bytes, call.operand[operand].word, sizeof bytes);
        place = bytes;
    }
    template <class Call> NUMBALITE_FUNCTION void store(const Call &, int, int64) const {}
};
#else
/* A copy in registers of a contiguous core of Count elements, or of one element. */
template <class T, int Count, int Align> struct core_copy {
    alignas(16) unsigned char bytes[Count * sizeof(T)];

    NUMBALITE_FUNCTION T *data() { return (T *)bytes; }
    template <class Call> NUMBALITE_FUNCTION void load(const Call &call, int operand, int64 at) {
        core_move<(int)(Count * sizeof(T)), Align>(
            bytes, (const char *)call.operand[operand].word[0] + at);
    }
    /* Loads the value that the kernel parameter contains. */
    template <class Call> NUMBALITE_FUNCTION void take(const Call &call, int operand) {
        static_assert(sizeof(bytes) <= 16, "a value is one element");
        core_move<(int)sizeof(T), (int)(sizeof(T) < 8 ? sizeof(T) : 8)>(bytes,
                                                                        call.operand[operand].word);
    }
    template <class Call>
    NUMBALITE_FUNCTION void store(const Call &call, int operand, int64 at) const {
        core_move<(int)(Count * sizeof(T)), Align>((char *)call.operand[operand].word[0] + at,
                                                   bytes);
    }
};
#endif

} // namespace nl_detail
} // namespace numbalite

#endif
