/* <time.h>: the same as for a GPU. */
#pragma once
#include "../../std/time.h"
