/* cooperative_groups/details/coalesced_reduce.h: a part of cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
