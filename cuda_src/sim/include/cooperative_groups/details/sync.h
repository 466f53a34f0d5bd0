/* cooperative_groups/details/sync.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
