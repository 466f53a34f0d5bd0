/* cooperative_groups/details/functional.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
