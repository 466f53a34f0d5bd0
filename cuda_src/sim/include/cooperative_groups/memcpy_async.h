/* cooperative_groups/memcpy_async.h: copies by the threads of a cooperative group. Each call
 * commits its copies as a separate group of asynchronous copies (sim/memcpy_async.h). */
#pragma once
#include "../cooperative_groups.h"
#include "sim/memcpy_async.h"

namespace numbalite {
namespace groups {

template <class Group, class T, class Shape>
NUMBALITE_SIM_INLINE void memcpy_async(const Group &group, T *to, const T *from, const Shape &bytes) {
    numbalite_sim::copy_part(to, from, bytes, group.thread_rank(), group.num_threads());
    numbalite_sim::asynccopy::commit();
}
/* Copies the number of elements of the smaller layout. */
template <class Group, class T, class To, class From>
NUMBALITE_SIM_INLINE void memcpy_async(const Group &group, T *to, const To &capacity, const T *from, const From &count) {
    size_t both = static_cast<size_t>(capacity) < static_cast<size_t>(count) ? capacity : count;
    numbalite_sim::copy_part(to, from, both * sizeof(T), group.thread_rank(), group.num_threads());
    numbalite_sim::asynccopy::commit();
}
template <class Group> NUMBALITE_SIM_INLINE void wait(const Group &group, NUMBALITE_SIM_SITE) {
    numbalite_sim::asynccopy::wait(0);
    group.sync(file, line);
}
template <unsigned stages, class Group>
NUMBALITE_SIM_INLINE void wait_prior(const Group &group, NUMBALITE_SIM_SITE) {
    numbalite_sim::asynccopy::wait(stages);
    group.sync(file, line);
}

} // namespace groups
} // namespace numbalite
