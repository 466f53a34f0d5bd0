/* none: None as a kernel argument. A body is compiled for the types of its arguments, and code that
 * uses an optional array must compile when it is None:
 *
 *     if (is_none(mask) || mask[i]) y[i] = x[i];
 *
 * So an array that is None can be indexed: each element reads as zero, and assignments to elements
 * are ignored. */
#ifndef NUMBALITE_NONE_CUH
#define NUMBALITE_NONE_CUH

#include "numbalite.cuh"

namespace numbalite {

struct none_item {
    NUMBALITE_FUNCTION operator double() const { return 0; }
    template <class T> NUMBALITE_FUNCTION void operator=(const T &) const {}
    template <class T> NUMBALITE_FUNCTION void operator+=(const T &) const {}
    template <class T> NUMBALITE_FUNCTION void operator-=(const T &) const {}
    template <class T> NUMBALITE_FUNCTION void operator*=(const T &) const {}
};

struct none_type {
    NUMBALITE_FUNCTION explicit operator bool() const { return false; }
    template <class T> NUMBALITE_FUNCTION operator T *() const { return nullptr; }
    NUMBALITE_FUNCTION none_item operator[](int64) const { return none_item(); }
    template <class... Index> NUMBALITE_FUNCTION none_item operator()(Index...) const {
        return none_item();
    }
    NUMBALITE_FUNCTION int64 size() const { return 0; }
};
typedef none_type nl_none_type;
NUMBALITE_FUNCTION bool operator==(none_type, decltype(nullptr)) {
    return true;
}
NUMBALITE_FUNCTION bool operator!=(none_type, decltype(nullptr)) {
    return false;
}

template <class T> NUMBALITE_FUNCTION constexpr bool is_none(const T &) {
    return false;
}
NUMBALITE_FUNCTION constexpr bool is_none(none_type) {
    return true;
}

} // namespace numbalite

#endif
