/* cooperative_groups/reduce.h: includes numbalite's groups, which define reductions. As with NVRTC
 * 13.5, half types need their own headers; the headers of earlier releases include them. */
#pragma once
#include "../cooperative_groups.h"
