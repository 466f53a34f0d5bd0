/* cooperative_groups/details/sync.h: a part of cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
