/* layout: the layouts' names alone, array<float, 2, C> for array<float, 2, layout::C>. A part of
 * its own, because a source that does not mean them may well call something of its own C. */
#ifndef NUMBALITE_LAYOUT_CUH
#define NUMBALITE_LAYOUT_CUH

#include "numbalite.cuh"

namespace numbalite {

constexpr layout any = layout::any;
constexpr layout C = layout::C;
constexpr layout F = layout::F;

} // namespace numbalite

#endif
