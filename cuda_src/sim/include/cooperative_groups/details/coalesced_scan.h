/* cooperative_groups/details/coalesced_scan.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
