/* cooperative_groups/scan.h: includes numbalite's groups, which define scans. As with NVRTC 13.5,
 * half types need their own headers; the headers of earlier releases include them. */
#pragma once
#include "../cooperative_groups.h"
