/* <stdint.h>: the same as for a GPU. */
#pragma once
#include "../../std/stdint.h"
