/* sim/check/traffic: tracks which sectors of simulated memory a launch has loaded or stored for the
 * first time.
 *
 * Workers share one nl_sim_traffic and call its functions concurrently. */
#ifndef NL_SIM_CHECK_TRAFFIC_H
#define NL_SIM_CHECK_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

enum { NL_SIM_TRAFFIC_SECTOR = 32 /* bytes */ };

typedef struct nl_sim_traffic nl_sim_traffic;

/* Returns NULL if memory runs out. */
nl_sim_traffic *nl_sim_traffic_create(void);
void nl_sim_traffic_destroy(nl_sim_traffic *traffic);

/* Returns how many sectors of [first, last] (addresses) no earlier call has counted. Memory that is
 * not simulated is not counted. A load does not count sectors that the launch has stored, because
 * those sectors are in a cache. */
unsigned nl_sim_traffic_record_load(nl_sim_traffic *traffic, uintptr_t first, uintptr_t last);
unsigned nl_sim_traffic_record_store(nl_sim_traffic *traffic, uintptr_t first, uintptr_t last);

#endif
