/* cuda/__barrier/barrier_block_scope.h: see generic_begin.h. */
#pragma once
#include "../../generic_begin.h"
#include_next <cuda/__barrier/barrier_block_scope.h>
#include "../../generic_end.h"
