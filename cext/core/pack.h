/* core/pack: strided host memory into a dense block and back; plain C, no driver. */
#ifndef NL_CORE_PACK_H
#define NL_CORE_PACK_H

#include "core/plan.h"

/* Runs of `width` bytes, at strided + the `from` distances of the axes, to or from a block that
 * holds them one after the other, the last axis fastest. */
void nl_pack_gather(char *dense, const char *strided, const nl_axis *axes, int rank, int64_t width);
void nl_pack_scatter(char *strided, const char *dense, const nl_axis *axes, int rank,
                     int64_t width);

#endif
