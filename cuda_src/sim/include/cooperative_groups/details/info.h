/* cooperative_groups/details/info.h: a part of cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
