/* cooperative_groups/details/invoke.h: includes cooperative_groups.h. */
#pragma once
#include "../../cooperative_groups.h"
