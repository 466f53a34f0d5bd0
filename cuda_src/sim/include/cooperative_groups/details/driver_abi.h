/* cooperative_groups/details/driver_abi.h: a part of cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
