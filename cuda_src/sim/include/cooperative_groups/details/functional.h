/* cooperative_groups/details/functional.h: a part of cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
