/* host/head: includes everything that is read before a source for the CPU; see sim/head.h. */
#include "prelude.h"
#include "../numbalite/describe.cuh"
#include "exports.h"
