/* cooperative_groups/details/helpers.h: a part of cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
