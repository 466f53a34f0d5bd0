/* cooperative_groups/details/reduce.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
