/* sim/debuginfo/lines: finds the user's source line of an address in an image's code, with the
 * debug information of instrumented images. */
#ifndef NL_SIM_DEBUGINFO_LINES_H
#define NL_SIM_DEBUGINFO_LINES_H

#include "sim/abi.h"
#include "sim/debuginfo/object.h"

/* Finds the position of the instruction before the return address `pc`. If the instruction is in a
 * header of CUDA's toolkit or of the system, returns the inlined call of the header in the user's
 * source, if any. Returns 1 on success, or 0 without setting *site if no line is found. site->file
 * is never freed. */
int nl_sim_lines_find(const nl_sim_object *image, const void *pc, nl_sim_site *site);
/* Finds a position like nl_sim_lines_find, and also sets *header to the position in the toolkit's
 * or system's header. header->file is NULL if the instruction is not in such a header. */
int nl_sim_lines_find_call(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                           nl_sim_site *header);
/* Finds a position like nl_sim_lines_find. If no line of the user's source belongs to the
 * instruction, sets *site to the nearest line of the user's source before the instruction, and
 * *exact to 0. */
int nl_sim_lines_find_near(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                           int *exact);
/* Finds the position of the instruction before `pc`, with the column, without skipping headers.
 * Returns 1 on success, or 0 if the position is not available. */
int nl_sim_lines_find_column(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                             unsigned *column);
/* Returns a copy of the file name that is never freed. */
const char *nl_sim_lines_keep_file_name(const char *file);
/* Returns whether the file is a header of CUDA's toolkit or of the system, or numbalite's copy of
 * such a header. */
int nl_sim_lines_is_toolkit_file(const char *path);
/* Returns a pointer into `path` to the header's name as in an #include, e.g.
 * "cub/block/block_load.cuh". */
const char *nl_sim_lines_header(const char *path);
/* Returns whether the file is a header of numbalite, or source text that numbalite generated around
 * the user's source. */
int nl_sim_lines_is_numbalite_file(const char *path);

#endif
