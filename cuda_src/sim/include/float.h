/* <float.h>: includes the header that GPUs use. */
#pragma once
#include "../../std/float.h"
