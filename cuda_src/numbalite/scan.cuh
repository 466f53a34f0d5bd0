/* scan: running folds along an axis (accumulate), and operations at repeated places (at).
 *
 * A line is scanned by one thread, or by blocks, each a contiguous part of it: a tile of
 * blockDim.x * ITEMS elements at a time, a few in each thread, then the lanes of a warp, then the
 * warps. Where a line has several parts, their folds have been made and scanned before, and each
 * part begins with what is before it. Everything is combined in order, as in reduce.cuh, whose plan
 * this uses: the kept dimensions are the lines', the one folded dimension is the axis. */
#ifndef NUMBALITE_SCAN_CUH
#define NUMBALITE_SCAN_CUH

#include "numbalite/reduce.cuh"

namespace numbalite {
namespace nl_reduce {

/* What comes before a part: the scanned folds of the parts of its line. */
template <class T>
NUMBALITE_FUNCTION maybe<T> before_part(const plan &p, const void *before, int64 line, int64 part) {
    maybe<T> m = nothing<T>();
    if (part > 0) {
        m.value = ((const T *)before)[line * p.parts + part - 1];
        m.has = true;
    }
    return m;
}

template <class S, class T, class O, class Op>
NUMBALITE_FUNCTION void scan_serial(const plan &p, const void *input, const void *before, void *out,
                                    Op op) {
    int64 slot = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= p.results * p.parts)
        return;
    int64 part = quotient(slot, p.results), line = slot - part * p.results;
    place at = place_of(p, line, part, nullptr);
    const dimension &axis = p.dims[p.kept];
    const char *x = (const char *)input + at.input;
    char *y = (char *)out + at.output;
    maybe<T> total = before_part<T>(p, before, line, part);
    constexpr int ahead = 4;
    int64 i = at.begin;
    for (; i + ahead <= at.end; i += ahead) {
        S items[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            items[k] = *(const S *)(x + (i + k) * axis.input);
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            append(total, nl_convert<T>(items[k]), op);
            *(O *)(y + (i + k) * axis.output) = nl_convert<O>(total.value);
        }
    }
    for (; i < at.end; ++i) {
        append(total, nl_convert<T>(*(const S *)(x + i * axis.input)), op);
        *(O *)(y + i * axis.output) = nl_convert<O>(total.value);
    }
}

/* A block for each part of each line. */
template <class S, class T, class O, class Op>
NUMBALITE_FUNCTION void scan_blocks(const plan &p, const void *input, const void *before, void *out,
                                    Op op) {
    constexpr int items = 4;
    __shared__ T of_warps[32];
    int64 line = quotient(blockIdx.x, p.parts), part = blockIdx.x - line * p.parts;
    int lane = laneid(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    place at = place_of(p, line, part, nullptr);
    const dimension &axis = p.dims[p.kept];
    const char *x = (const char *)input + at.input;
    char *y = (char *)out + at.output;
    maybe<T> carry = before_part<T>(p, before, line, part);
    for (int64 tile = at.begin; tile < at.end; tile += (int64)blockDim.x * items) {
        int64 first = tile + (int64)threadIdx.x * items;
        T v[items];
#pragma unroll
        for (int k = 0; k < items; ++k) {
            v[k] = T();
            if (first + k < at.end) {
                v[k] = nl_convert<T>(*(const S *)(x + (first + k) * axis.input));
                if (k > 0)
                    v[k] = op(v[k - 1], v[k]);
            }
        }
        /* Threads behind the last element have no say: nothing is after them. */
        T sum = v[items - 1];
        for (int step = 1; step < 32; step *= 2) {
            T left = shfl_up_sync(ALL, sum, step);
            if (lane >= step)
                sum = op(left, sum);
        }
        T lanes_before = shfl_up_sync(ALL, sum, 1);
        if (lane == 31)
            of_warps[warp] = sum;
        __syncthreads();
        maybe<T> base = carry;
        for (int w = 0; w < warps; ++w) {
            if (w == warp)
                base = carry;
            append(carry, of_warps[w], op);
        }
        if (lane > 0)
            append(base, lanes_before, op);
#pragma unroll
        for (int k = 0; k < items; ++k)
            if (first + k < at.end)
                *(O *)(y + (first + k) * axis.output) =
                    nl_convert<O>(base.has ? op(base.value, v[k]) : v[k]);
        __syncthreads();
    }
}

/* a[i] = op(a[i], b[j]) for the j of each i, in order: one thread for each i.
 *
 * targets: the places in `a`, each once, as numbers of elements in C order; order[starts[k]] to
 * order[starts[k + 1]] are the numbers of the elements of `b`, whose dimensions (as broadcast) are
 * the folded ones. */
template <class A, class B, class T, class Apply>
NUMBALITE_FUNCTION void at_places(const plan &p, void *a, const void *b, const int64 *targets,
                                  const int64 *starts, const int64 *order, Apply apply) {
    int64 k = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= p.results)
        return;
    place at = place_of(p, targets[k], 0, nullptr);
    A *target = (A *)((char *)a + at.input);
    A value = *target;
    for (int64 j = starts[k]; j < starts[k + 1]; ++j) {
        const B *operand = (const B *)((const char *)b + offsets_of(p, order[j]).input);
        value = nl_convert<A>(apply(nl_convert<T>(value), operand));
    }
    *target = value;
}

} // namespace nl_reduce
} // namespace numbalite

#endif
