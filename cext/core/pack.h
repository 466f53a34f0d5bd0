/* core/pack: copies between strided host memory and a dense host block, without driver calls. */
#ifndef NL_CORE_PACK_H
#define NL_CORE_PACK_H

#include "core/plan.h"

/* These functions copy rows of `width` bytes between strided memory, whose strides are the axes'
 * `from`, and a dense block in C order. */
void nl_pack_gather(char *dense, const char *strided, const nl_axis *axes, int rank, int64_t width);
void nl_pack_scatter(char *strided, const char *dense, const nl_axis *axes, int rank,
                     int64_t width);

#endif
