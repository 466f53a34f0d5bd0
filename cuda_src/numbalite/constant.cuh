/* constant: a NumPy array that the source captured, as a compile-time constant.
 * Example:
 *
 *     __constant__ const numbalite::constant_array<float, 2, 3> w = {{1, 2, 3, 4, 5, 6}};
 *
 * A constant_array can be used like array<const float, 2, layout::C> and converts to this type. The
 * elements are in the variable itself, and the extents in its type, so w(i, j) is one load at an
 * address that depends only on i and j. */
#ifndef NUMBALITE_CONSTANT_CUH
#define NUMBALITE_CONSTANT_CUH

#include "numbalite.cuh"

namespace numbalite {

namespace nl_detail {
/* Compile-time extents: an array's shape, or its strides in C order. */
template <int64... Extents> struct extents {
    static constexpr int n = sizeof...(Extents);
    int64 values[n];

    __device__ constexpr extents(bool strides, int64 itemsize) : values() {
        const int64 all[] = {Extents...};
        for (int k = n - 1; k >= 0; --k) {
            values[k] = strides ? itemsize : all[k];
            itemsize *= all[k];
        }
    }
    NUMBALITE_FUNCTION int64 operator[](int k) const { return values[k]; }
};
template <int64... Extents> __device__ constexpr int64 count() {
    const int64 all[] = {Extents...};
    int64 n = 1;
    for (int64 extent : all)
        n *= extent;
    return n ? n : 1;
}
} // namespace nl_detail

template <class T, int64... Extents> struct constant_array {
    static constexpr int ndim = sizeof...(Extents);
    typedef array<const T, ndim, layout::C> view_type;

    T values[nl_detail::count<Extents...>()]; /* in C order */
    nl_detail::extents<Extents...> shape = nl_detail::extents<Extents...>(false, sizeof(T));
    nl_detail::extents<Extents...> strides = nl_detail::extents<Extents...>(true, sizeof(T));

    NUMBALITE_FUNCTION const T *data() const { return values; }
    NUMBALITE_FUNCTION int64 size() const { return view().size(); }

    NUMBALITE_FUNCTION view_type view() const {
        const nl_detail::extents<Extents...> known_shape(false, sizeof(T));
        const nl_detail::extents<Extents...> known_strides(true, sizeof(T));
        view_type r = view_type();
        r.pointer = values;
        for (int k = 0; k < ndim; ++k) {
            r.shape[k] = known_shape[k];
            r.strides[k] = known_strides[k];
        }
        return r;
    }

    NUMBALITE_FUNCTION decltype(auto) operator[](nl_detail::index i) const { return view()[i]; }
    NUMBALITE_FUNCTION const T &operator()(nl_detail::index i) const { return view()(i); }
    NUMBALITE_FUNCTION const T &operator()(nl_detail::index i, nl_detail::index j) const {
        return view()(i, j);
    }
    template <class... More>
    NUMBALITE_FUNCTION const T &operator()(nl_detail::index i, nl_detail::index j,
                                           nl_detail::index k, More... more) const {
        return view()(i, j, k, more...);
    }

    NUMBALITE_FUNCTION auto begin() const { return view().begin(); }
    NUMBALITE_FUNCTION auto end() const { return view().end(); }

    NUMBALITE_FUNCTION operator view_type() const { return view(); }
    NUMBALITE_FUNCTION operator array<const T, ndim, layout::any>() const { return view(); }
};
template <class T, int64... Extents> using nl_constant_array = constant_array<T, Extents...>;

} // namespace numbalite

#endif
