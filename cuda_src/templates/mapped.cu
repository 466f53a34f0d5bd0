/* A reduction of what is computed element by element (numbalite/ufuncs/mapped.py): the plan's input is
 * the number of an element in C order, times ${scale}, and a source computes the element of that number. */
struct nl_operands {
    numbalite::nl_ufunc::slot slots[${count}];
    numbalite::int64 shape[${dims}], strides[${count}][${dims}];
};
struct nl_given {
    const nl_operands &operands;
    const void *arrays[${count}];
};
struct nl_mapped {
    enum { count = 1 };
    typedef ${T} piece;
    const numbalite::nl_reduce::plan &p;
    const nl_given &given;
    numbalite::int64 first;

    NUMBALITE_FUNCTION nl_mapped(const numbalite::nl_reduce::plan &p, const void *input, const void *,
                                 const numbalite::nl_reduce::place &at)
        : p(p), given(*(const nl_given *)input), first(at.input / ${scale}) {}
    NUMBALITE_FUNCTION int lead(numbalite::int64) const { return 0; }
    template <class T> NUMBALITE_FUNCTION T value(int operand) const {
        return numbalite::nl_ufunc::value_in<T>(given.operands.slots[operand]);
    }
    template <class S, class T>
    NUMBALITE_FUNCTION T load(int operand, const numbalite::int64 *index) const {
        const char *x = (const char *)given.arrays[operand];
#pragma unroll
        for (int d = 0; d < ${dims}; ++d)
            x += index[d] * given.operands.strides[operand][d];
        return numbalite::nl_convert<T>(*(const S *)x);
    }
    NUMBALITE_FUNCTION piece fetch(numbalite::int64 i) const {
        numbalite::int64 rest = first + numbalite::nl_reduce::offsets_of(p, i).input / ${scale};
        numbalite::int64 index[${dims}];
#pragma unroll
        for (int d = ${dims} - 1; d > 0; --d) {
            numbalite::int64 next = numbalite::nl_reduce::quotient(rest, given.operands.shape[d]);
            index[d] = rest - next * given.operands.shape[d];
            rest = next;
        }
        index[0] = rest;
        return numbalite::nl_convert<${T}>(${mapped});
    }
    template <class Op> static NUMBALITE_FUNCTION piece fold(const piece &raw, numbalite::int64, Op) {
        return raw;
    }
    NUMBALITE_FUNCTION bool selects(numbalite::int64) const { return true; }
    template <class Op> NUMBALITE_FUNCTION piece at(numbalite::int64 i, Op) const { return fetch(i); }
};
template <class T, class O, class Op>
NUMBALITE_FUNCTION void nl_serial(const numbalite::nl_reduce::plan &p, const nl_given *given, void *out,
                                  Op op) {
    using namespace numbalite::nl_reduce;
    numbalite::int64 slot = (numbalite::int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= p.results * p.parts)
        return;
    numbalite::int64 part = quotient(slot, p.results), result = slot - part * p.results;
    place at = place_of(p, result, part, nullptr);
    nl_mapped source(p, given, nullptr, at);
    maybe<T> total = nothing<T>();
    for (numbalite::int64 i = at.begin; i < at.end; ++i)
        append(total, source.at(i, op), op);
    if (p.is_last)
        begin_with(p, total, op);
    store<T, O>(p, total, at, result, part, out, nullptr, false, op);
}
extern "C" __global__ void __launch_bounds__(${threads}) ${kernel}(
    const __grid_constant__ numbalite::nl_reduce::plan p, const __grid_constant__ nl_operands operands,
    void *output${parameters}) {
    const nl_given given = {operands, {${arrays}}};
    if (${serial})
        nl_serial<${T}, ${O}>(p, &given, output, nl_function());
    else
        numbalite::nl_reduce::rows<${T}, ${O}, nl_mapped, false>(p, &given, nullptr, output, nullptr,
                                                                 nullptr, nl_function());
}
