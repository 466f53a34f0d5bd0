/* layout: short names of the layouts, array<float, 2, C> for array<float, 2, layout::C>. The names
 * are in a separate header, because a source that does not use them may define its own C. */
#ifndef NUMBALITE_LAYOUT_CUH
#define NUMBALITE_LAYOUT_CUH

#include "numbalite.cuh"

namespace numbalite {

constexpr layout any = layout::any;
constexpr layout C = layout::C;
constexpr layout F = layout::F;

} // namespace numbalite

#endif
