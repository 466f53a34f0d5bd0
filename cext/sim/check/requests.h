/* sim/check/requests: groups the accesses of a warp's lanes into the requests that a GPU would
 * make, and counts them.
 *
 * The engine runs lanes one after the other. Each instruction of the image that accesses memory is
 * a site. The n-th access of a lane at a site, in the same iteration of the same loops, belongs to
 * the same request as the n-th access of another lane of its warp at this site. A request is open
 * until the lanes of its warp synchronize. When the lanes synchronize, the addresses of the
 * request's lanes are evaluated: distinct sectors of 32 bytes, passes over the 32 banks, lanes with
 * equal addresses.
 *
 * The lanes of a warp mostly make the same accesses in the same order. The first lane that runs
 * records its accesses and loop events: the trace of the warp. As long as another lane makes the
 * same accesses and loop events, only the addresses are stored, which the image does without a call
 * of the engine (nl_sim_counting). A lane that deviates from the trace is given the state that it
 * would have without the trace, and its accesses are looked up one by one until the lanes
 * synchronize. */
#ifndef NL_SIM_CHECK_REQUESTS_H
#define NL_SIM_CHECK_REQUESTS_H

#include <stddef.h>
#include <stdint.h>
#include "sim/abi.h"
#include "sim/check/request.h"
#include "sim/check/traffic.h"
#include "sim/engine/worker.h"

enum { NL_SIM_REQUESTS_WARPS = 32 };

typedef struct nl_sim_requests nl_sim_requests;

/* Creates the requests of a worker, which must have a job; `traffic` belongs to the launch. Returns
 * NULL if memory runs out. */
nl_sim_requests *nl_sim_requests_create(const nl_sim_worker *worker, nl_sim_traffic *traffic);
void nl_sim_requests_destroy(nl_sim_requests *requests);

/* Returns the state for images. The caller must set `current`. */
nl_sim_counting *nl_sim_requests_get_counting(nl_sim_requests *requests);
/* Adds an access of a lane. Returns 1 if too many requests of its warp are open. The caller must
 * then let the other lanes of the warp run, and call this function again. */
int nl_sim_requests_add(nl_sim_requests *requests, unsigned thread, const void *pc,
                        uintptr_t address, unsigned size, nl_sim_request_space space,
                        nl_sim_request_kind kind);
/* Call nl_sim_requests_repeat_loop when a lane begins the next iteration of a loop, and
 * nl_sim_requests_leave_loop when the lane has left the loop. */
void nl_sim_requests_repeat_loop(nl_sim_requests *requests, unsigned thread, unsigned loop);
void nl_sim_requests_leave_loop(nl_sim_requests *requests, unsigned thread, unsigned loop);
/* Counts the open requests of a warp; call this function when the lanes of the warp have
 * synchronized or ended. */
void nl_sim_requests_close(nl_sim_requests *requests, unsigned warp);
/* Counts the open requests of all warps of a block. One request of each warp is counted in turn, as
 * if all warps ran at the same speed. */
void nl_sim_requests_close_all(nl_sim_requests *requests, unsigned warps);
/* Call this function when the threads of a block begin; `warps` is the number of its warps. Starts
 * a trace for each warp that does not keep the trace of the previous block. */
void nl_sim_requests_begin_block(nl_sim_requests *requests, unsigned warps);

/* Returns the array of sites; call this function after all warps were closed. */
const nl_sim_request_site *nl_sim_requests_get_sites(const nl_sim_requests *requests,
                                                     unsigned *count);
/* Returns the histogram of the sectors of global loads by reuse distance, with NL_PROFILE_REUSE
 * entries. */
const uint64_t *nl_sim_requests_reuse_histogram(const nl_sim_requests *requests);
/* Returns the number of sectors whose first load or store in the launch was by this worker. */
uint64_t nl_sim_requests_loaded_sectors(const nl_sim_requests *requests);
uint64_t nl_sim_requests_stored_sectors(const nl_sim_requests *requests);
/* Returns whether memory ran out, so that the counters are too small. */
int nl_sim_requests_lack_memory(const nl_sim_requests *requests);

#endif
