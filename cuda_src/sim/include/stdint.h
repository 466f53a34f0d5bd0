/* <stdint.h>: includes the header that GPUs use. */
#pragma once
#include "../../std/stdint.h"
