/* cuda/__memcpy_async/memcpy_async_barrier.h: compiles libcu++'s header for GPUs without
 * asynchronous copies (see generic_begin.h). */
#pragma once
#include "../../generic_begin.h"
#include_next <cuda/__memcpy_async/memcpy_async_barrier.h>
#include "../../generic_end.h"
