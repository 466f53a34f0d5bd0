/* cooperative_groups/details/coalesced_scan.h: a part of cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
