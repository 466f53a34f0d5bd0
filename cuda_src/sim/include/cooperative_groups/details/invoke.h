/* cooperative_groups/details/invoke.h: a part of cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
