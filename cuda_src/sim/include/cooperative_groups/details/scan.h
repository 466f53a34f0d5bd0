/* cooperative_groups/details/scan.h: a part of cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
