/* <math.h>: includes the header that GPUs use. */
#pragma once
#include "../../std/math.h"
