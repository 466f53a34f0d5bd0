/* unsigned_types: an unsigned integer type for each size from 1 to 16 bytes. A kernel that only
 * copies elements reads each element as such an integer, so that one access copies each element. */
#ifndef NUMBALITE_UNSIGNED_TYPES_CUH
#define NUMBALITE_UNSIGNED_TYPES_CUH

#include "numbalite.cuh"

namespace numbalite {
template <int Size> struct word_of { typedef uint4 type; };
template <> struct word_of<1> { typedef unsigned char type; };
template <> struct word_of<2> { typedef unsigned short type; };
template <> struct word_of<4> { typedef unsigned int type; };
template <> struct word_of<8> { typedef unsigned long long type; };
} // namespace numbalite

#endif
