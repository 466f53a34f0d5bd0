/* cuda/__memcpy_async/cp_async_shared_global.h: compiles libcu++'s header for GPUs without
 * asynchronous copies (see generic_begin.h). */
#pragma once
#include "../../generic_begin.h"
#include_next <cuda/__memcpy_async/cp_async_shared_global.h>
#include "../../generic_end.h"
