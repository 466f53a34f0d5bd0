/* cuda/__memcpy_async/dispatch_memcpy_async.h: compiles libcu++'s header for GPUs without
 * asynchronous copies (see generic_begin.h). */
#pragma once
#include "../../generic_begin.h"
#include_next <cuda/__memcpy_async/dispatch_memcpy_async.h>
#include "../../generic_end.h"
