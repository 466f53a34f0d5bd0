/* cooperative_groups/details/helpers.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
