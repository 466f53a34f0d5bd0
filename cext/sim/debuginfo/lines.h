/* sim/debuginfo/lines: finds the user's source line of an address in an image's code, with the
 * debug information of instrumented images. */
#ifndef NL_SIM_DEBUGINFO_LINES_H
#define NL_SIM_DEBUGINFO_LINES_H

#include "sim/abi.h"
#include "sim/debuginfo/object.h"

/* Finds the position of the instruction before the return address `pc`. If it is in a header of
 * CUDA's toolkit or of the system, returns the inlined call of it in the user's source, if there is
 * one. Returns 1, or 0 without setting *site. site->file is never freed. */
int nl_sim_lines_find(const nl_sim_object *image, const void *pc, nl_sim_site *site);
/* The same; also returns the position in that header. header->file NULL: *site is the position
 * itself. */
int nl_sim_lines_find_call(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                           nl_sim_site *header);
/* The same; *exact is 0 if the code has no line of the user's: then *site is the nearest line
 * before it. */
int nl_sim_lines_find_near(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                           int *exact);
/* The position, in any header, with the column; 0: not available. */
int nl_sim_lines_find_column(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                             unsigned *column);
/* Is it a header of CUDA's toolkit or of the system, or numbalite's copy of one? */
int nl_sim_lines_are_toolkits(const char *path);
/* The header's name in an #include: "cub/block/block_load.cuh". Points into `path`. */
const char *nl_sim_lines_header(const char *path);
/* Is it a header of numbalite, or source text that was generated around the user's? */
int nl_sim_lines_are_ours(const char *path);

#endif
