/* cooperative_groups/reduce.h: a part of numbalite's groups. As with NVRTC 13.5, half types need their own headers;
 * those of earlier releases include them. */
#pragma once
#include "../cooperative_groups.h"
