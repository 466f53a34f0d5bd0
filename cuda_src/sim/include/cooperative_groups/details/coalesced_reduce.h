/* cooperative_groups/details/coalesced_reduce.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
