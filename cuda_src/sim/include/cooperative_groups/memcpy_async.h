/* cooperative_groups/memcpy_async.h: its functions, of which the simulator has none: where one is used is
 * an error. */
#pragma once
#include "numbalite/groups.cuh"

#define NUMBALITE_SIM_NO_COPIES \
    NUMBALITE_SIM_CANNOT("cooperative_groups::memcpy_async cannot run on the CPU simulator")

namespace numbalite {
namespace groups {
template <class... Arguments> NUMBALITE_SIM_NO_COPIES void memcpy_async(Arguments &&...);
template <class Group> NUMBALITE_SIM_NO_COPIES void wait(const Group &);
template <unsigned stages, class Group> NUMBALITE_SIM_NO_COPIES void wait_prior(const Group &);
} // namespace groups
} // namespace numbalite

#undef NUMBALITE_SIM_NO_COPIES
