/* foreign: declares pointer parameters of functions that are compiled separately.
 *
 * The separate compilation may declare a pointer to a number with another type of the same
 * representation: long and long long, or a signed and an unsigned integer. If the function's
 * definition is available, it determines the type. */
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
