/* The kernel of a reduction whose elements are computed from several arrays
 * (numbalite/ufuncs/mapped.py). The plan's input is an element's index in C order, times ${scale},
 * and nl_mapped computes the element with that index. If the width is 0, an operand's address is
 * computed from the index. If the width is not 0, each operand has one stride between the elements
 * of a part (`steps`), so its address is base + i * stride; if the width is greater than 1, one
 * access loads ${width} neighbours. */
constexpr int nl_width = ${width};
struct nl_operands {
    numbalite::nl_ufunc::slot slots[${count}];
    numbalite::int64 shape[${dims}], strides[${count}][${dims}];
    numbalite::int64 steps[${count}]; /* strides between the reduced elements, in bytes */
};
struct nl_given {
    const nl_operands &operands;
    const void *arrays[${count}];
};
/* The elements of an operand that one access loads, or a single element if the stride is 0. */
template <class S, int N> struct __align__(N > 1 ? sizeof(S) * N : alignof(S)) nl_items {
    S item[N];
    template <class T> NUMBALITE_FUNCTION T get(int j) const {
        return numbalite::nl_convert<T>(item[N > 1 ? j : 0]);
    }
};
struct nl_mapped {
    typedef void element; /* no element is read from memory, because all elements are computed */
    enum { count = nl_width > 1 ? nl_width : 1 };
    struct piece {
        ${M} item[count];
    };
    const numbalite::nl_reduce::plan &p;
    const nl_given &given;
    numbalite::int64 first;
    /* address of the reduced element with index 0, extrapolated along the row of the part */
    const char *base[${count}];

    NUMBALITE_FUNCTION nl_mapped(const numbalite::nl_reduce::plan &p, const void *input, const void *,
                                 const numbalite::nl_reduce::place &at)
        : p(p), given(*(const nl_given *)input), first(at.input / ${scale}) {
        if (nl_width == 0)
            return;
        find(base, first + numbalite::nl_reduce::element_offsets(p, at.begin).input / ${scale});
#pragma unroll
        for (int k = 0; k < ${count}; ++k)
            base[k] -= at.begin * given.operands.steps[k];
    }
    /* Computes the addresses of the operands for the element with this index. */
    NUMBALITE_FUNCTION void find(const char *(&place)[${count}], numbalite::int64 number) const {
#pragma unroll
        for (int k = 0; k < ${count}; ++k)
            place[k] = (const char *)given.arrays[k];
#pragma unroll
        for (int d = ${dims} - 1; d >= 0; --d) {
            numbalite::int64 next = d > 0 ? numbalite::nl_reduce::quotient(number, given.operands.shape[d]) : 0;
            numbalite::int64 index = number - next * given.operands.shape[d];
#pragma unroll
            for (int k = 0; k < ${count}; ++k)
                place[k] += index * given.operands.strides[k][d];
            number = next;
        }
    }
    NUMBALITE_FUNCTION void find_reduced(const char *(&place)[${count}], numbalite::int64 i) const {
        if (nl_width == 0) {
            find(place, first + numbalite::nl_reduce::element_offsets(p, i).input / ${scale});
            return;
        }
#pragma unroll
        for (int k = 0; k < ${count}; ++k)
            place[k] = base[k] + i * given.operands.steps[k];
    }
    template <int N> NUMBALITE_FUNCTION void compute(${M} (&made)[N], numbalite::int64 first_of_piece) const {
        const char *place[${count}];
        find_reduced(place, first_of_piece);
        ${reads}
#pragma unroll
        for (int j = 0; j < N; ++j)
            made[j] = numbalite::nl_convert<${M}>(${mapped});
    }
    NUMBALITE_FUNCTION int lead(numbalite::int64 i) const { return (int)(i % count); }
    NUMBALITE_FUNCTION piece fetch(numbalite::int64 i) const {
        piece made;
        compute(made.item, i);
        return made;
    }
    template <class Op> static NUMBALITE_FUNCTION ${T} reduce(const piece &raw, numbalite::int64 i, Op op) {
        ${T} value = op.from(raw.item[0], i);
#pragma unroll
        for (int j = 1; j < count; ++j)
            value = op(value, op.from(raw.item[j], i + j));
        return value;
    }
    NUMBALITE_FUNCTION bool selects(numbalite::int64) const { return true; }
    template <class Op> NUMBALITE_FUNCTION ${T} at(numbalite::int64 i, Op op) const {
        ${M} made[1];
        compute(made, i);
        return op.from(made[0], i);
    }
};
template <class T, class O, class Op>
NUMBALITE_FUNCTION void nl_serial(const numbalite::nl_reduce::plan &p, const nl_given *given, void *out,
                                  Op op) {
    using namespace numbalite::nl_reduce;
    constexpr int count = nl_mapped::count, ahead = count > 1 ? 4 : 8;
    numbalite::int64 slot = (numbalite::int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= p.results * p.parts)
        return;
    numbalite::int64 part = quotient(slot, p.results), result = slot - part * p.results;
    place at = locate_part(p, result, part, nullptr);
    nl_mapped source(p, given, nullptr, at);
    maybe<T> total = nothing<T>();
    numbalite::int64 i = at.begin;
    for (; i < at.end && source.lead(i) > 0; ++i)
        append(total, source.at(i, op), op);
    for (; i + ahead * count <= at.end; i += ahead * count) {
        nl_mapped::piece raw[ahead];
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            raw[k] = source.fetch(i + k * count);
#pragma unroll
        for (int k = 0; k < ahead; ++k)
            append(total, nl_mapped::reduce(raw[k], 0, op), op);
    }
    for (; i < at.end; ++i)
        append(total, source.at(i, op), op);
    if (p.is_last)
        begin_with(p, total, op);
    store<T, O>(p, total, at, result, part, out, nullptr, false, op);
}
extern "C" __global__ void __launch_bounds__(${threads}) ${kernel}(
    const __grid_constant__ numbalite::nl_reduce::plan p, const __grid_constant__ nl_operands operands,
    void *output${parameters}) {
    const nl_given given = {operands, {${arrays}}};
    if constexpr (${lanes} == 1)
        nl_serial<${T}, ${O}>(p, &given, output, nl_function());
    else if constexpr (${lanes} < 32)
        numbalite::nl_reduce::short_rows<${T}, ${O}, nl_mapped, ${lanes}>(p, &given, output, nl_function());
    else
        numbalite::nl_reduce::rows<${T}, ${O}, nl_mapped, false, ${lanes} / 32>(p, &given, nullptr, output, nullptr,
                                                                 nullptr, nl_function());
}
