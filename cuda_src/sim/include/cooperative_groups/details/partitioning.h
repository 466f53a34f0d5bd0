/* cooperative_groups/details/partitioning.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
