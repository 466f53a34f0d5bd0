/* index: the thread's index in the grid, and the size of the grid in threads.
 *
 *     auto i = grid<1>();          auto [x, y] = grid<2>();          auto [x, y, z] = grid<3>();
 *
 * The indices have 64 bits, as in numba, so that no grid is too large for them. If an index is
 * assigned to an `int`, the compiler computes the index in 32 bits. printf formats an index with
 * %lld. */
#ifndef NUMBALITE_INDEX_CUH
#define NUMBALITE_INDEX_CUH

namespace numbalite {

struct index2 {
    int64 x, y;
};
struct index3 {
    int64 x, y, z;
};

namespace nl_detail {
template <int N> struct place;
template <> struct place<1> { typedef int64 type; };
template <> struct place<2> { typedef index2 type; };
template <> struct place<3> { typedef index3 type; };
} // namespace nl_detail

template <int N> NUMBALITE_FUNCTION typename nl_detail::place<N>::type grid();
template <int N> NUMBALITE_FUNCTION typename nl_detail::place<N>::type gridsize();

#define NUMBALITE_GRID(k) ((int64)blockIdx.k * blockDim.k + threadIdx.k)
#define NUMBALITE_GRIDSIZE(k) ((int64)gridDim.k * blockDim.k)
template <> NUMBALITE_FUNCTION int64 grid<1>() {
    return NUMBALITE_GRID(x);
}
template <> NUMBALITE_FUNCTION index2 grid<2>() {
    return index2{NUMBALITE_GRID(x), NUMBALITE_GRID(y)};
}
template <> NUMBALITE_FUNCTION index3 grid<3>() {
    return index3{NUMBALITE_GRID(x), NUMBALITE_GRID(y), NUMBALITE_GRID(z)};
}
template <> NUMBALITE_FUNCTION int64 gridsize<1>() {
    return NUMBALITE_GRIDSIZE(x);
}
template <> NUMBALITE_FUNCTION index2 gridsize<2>() {
    return index2{NUMBALITE_GRIDSIZE(x), NUMBALITE_GRIDSIZE(y)};
}
template <> NUMBALITE_FUNCTION index3 gridsize<3>() {
    return index3{NUMBALITE_GRIDSIZE(x), NUMBALITE_GRIDSIZE(y), NUMBALITE_GRIDSIZE(z)};
}
#undef NUMBALITE_GRID
#undef NUMBALITE_GRIDSIZE

} // namespace numbalite

#endif
