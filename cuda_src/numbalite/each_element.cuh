/* each_element: a loop over the elements of a contiguous array that reads each element once, in any
 * order. */
#ifndef NUMBALITE_EACH_ELEMENT_CUH
#define NUMBALITE_EACH_ELEMENT_CUH

#include "numbalite.cuh"

namespace numbalite {
namespace nl_walk {

/* Calls visit(element, index) for those of the n elements of x that belong to this thread, which
 * has the number `thread` of `step` threads. A thread loads `Ahead` units of 16 bytes before it
 * uses them. The first threads read the elements before the first and after the last aligned unit.
 * x may be unaligned for its type; then each element is loaded byte by byte. */
template <int Ahead, class T, class Visit>
NUMBALITE_FUNCTION void each_element(const T *x, uint64 n, uint64 thread, uint64 step,
                                     const Visit &visit) {
    constexpr int each = sizeof(T) < 16 && 16 % sizeof(T) == 0 ? 16 / sizeof(T) : 1;
    struct __align__(each > 1 ? 16 : 1) piece { T item[each]; };
    uint64 lead = each > 1 ? (0 - (uint64)x) / sizeof(T) % each : 0;
    lead = lead < n && (uint64)x % sizeof(T) == 0 ? lead : n;
    const piece *pieces = (const piece *)(x + lead);
    uint64 whole = (n - lead) / each;
    for (uint64 i = thread; i < whole; i += Ahead * step) {
        piece now[Ahead];
#pragma unroll
        for (int k = 0; k < Ahead; ++k)
            if (i + k * step < whole)
                now[k] = pieces[i + k * step];
#pragma unroll
        for (int k = 0; k < Ahead; ++k) {
            if (i + k * step >= whole)
                break;
#pragma unroll
            for (int j = 0; j < each; ++j)
                visit(now[k].item[j], lead + (i + k * step) * each + j);
        }
    }
    uint64 end = lead + whole * each;
    for (uint64 i = thread; i < lead + (n - end); i += step) {
        uint64 at = i < lead ? i : end + i - lead;
        T item;
        memcpy(&item, x + at, sizeof(T));
        visit(item, at);
    }
}

} // namespace nl_walk
} // namespace numbalite

#endif
