/* layout: short names of the array layouts, array<float, 2, C> for array<float, 2, layout::C>. Only
 * sources that use a short name include this header; other sources may define their own C. */
#ifndef NUMBALITE_LAYOUT_CUH
#define NUMBALITE_LAYOUT_CUH

#include "numbalite.cuh"

namespace numbalite {

constexpr layout any = layout::any;
constexpr layout C = layout::C;
constexpr layout F = layout::F;

} // namespace numbalite

#endif
