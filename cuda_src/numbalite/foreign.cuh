/* foreign: what functions that are compiled elsewhere are given.
 *
 * A pointer to a number may have another type there that is the same in memory: long and long long,
 * an int for an unsigned one. Where the function's definition is at hand, it decides. */
#ifndef NUMBALITE_FOREIGN_CUH
#define NUMBALITE_FOREIGN_CUH

#include "numbalite.cuh"

namespace numbalite {

struct foreign_pointer {
    const volatile void *address;
    template <class T> NUMBALITE_FUNCTION operator T *() const {
        return (T *)const_cast<void *>(address);
    }
};

} // namespace numbalite

#endif
