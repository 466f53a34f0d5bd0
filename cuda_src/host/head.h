/* host/head: includes all headers that are compiled before a source for the CPU; see sim/head.h. */
#include "prelude.h"
#include "../numbalite/describe.cuh"
#include "exports.h"
