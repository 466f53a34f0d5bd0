/* cooperative_groups/details/scan.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
