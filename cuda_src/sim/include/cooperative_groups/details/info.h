/* cooperative_groups/details/info.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
