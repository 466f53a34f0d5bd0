/* sim/engine/tile: implements collective operations of tiles of several warps (cooperative
 * groups). */
#ifndef NL_SIM_ENGINE_TILE_H
#define NL_SIM_ENGINE_TILE_H

#include "sim/engine/worker.h"

/* Implements nl_sim_ops.tile. */
unsigned long long nl_sim_tile_exchange(unsigned threads, unsigned long long value, unsigned source,
                                        unsigned thread, nl_sim_site site);

#endif
