/* sim/debuginfo/lines: from an address in an image's code to the user's line, by the debug
 * information that instrumented images carry. */
#ifndef NL_SIM_DEBUGINFO_LINES_H
#define NL_SIM_DEBUGINFO_LINES_H

#include "sim/abi.h"
#include "sim/debuginfo/object.h"

/* The place of the instruction before the return address `pc`. Returns 1, or 0 with *site as it
 * was. site->file is never freed. In a header of CUDA's toolkit or of the system, it is the call in
 * the user's text that the compiler has inlined there, if there is one. */
int nl_sim_lines_find(const nl_sim_object *image, const void *pc, nl_sim_site *site);
/* The same, and the place in that header; header->file NULL: *site is the place itself. */
int nl_sim_lines_find_call(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                           nl_sim_site *header);
/* The same, and whether it is certain: code may have no line of the user's, and then it is the
 * nearest one before it. */
int nl_sim_lines_find_near(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                           int *exact);
/* The position, in any header, with the column; 0: not available. */
int nl_sim_lines_find_column(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                             unsigned *column);
/* Is that a header of CUDA's toolkit or of the system, or numbalite's copy of one? */
int nl_sim_lines_are_toolkits(const char *path);
/* The header as an #include names it: "cub/block/block_load.cuh". Points into `path`. */
const char *nl_sim_lines_header(const char *path);
/* Is that a header of ours, or text that was generated around the user's? */
int nl_sim_lines_are_ours(const char *path);

#endif
