/* <limits.h>: includes the header that GPUs use. */
#pragma once
#include "../../std/limits.h"
