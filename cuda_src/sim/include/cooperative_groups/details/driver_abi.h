/* cooperative_groups/details/driver_abi.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
