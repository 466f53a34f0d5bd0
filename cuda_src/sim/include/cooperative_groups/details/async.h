/* cooperative_groups/details/async.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
