/* cuda/__memcpy_async/group_traits.h: libcu++ declares a namespace cooperative_groups, for which
 * numbalite has an alias. The traits select copies of GPUs with asynchronous copies: they are false
 * for numbalite's groups. */
#pragma once
#include <cuda/std/detail/__config>
#define cooperative_groups numbalite_sim_groups_of_libcuxx
#include_next <cuda/__memcpy_async/group_traits.h>
#undef cooperative_groups
