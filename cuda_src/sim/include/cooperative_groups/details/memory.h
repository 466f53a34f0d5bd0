/* cooperative_groups/details/memory.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
