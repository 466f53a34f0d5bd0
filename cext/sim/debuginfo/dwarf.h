/* sim/debuginfo/dwarf: reads debug information: the numbers and strings in an image's sections, and
 * the calls that the compiler inlined. Supports DWARF 2 to 4, which images use. */
#ifndef NL_SIM_DEBUGINFO_DWARF_H
#define NL_SIM_DEBUGINFO_DWARF_H

#include <stddef.h>
#include <stdint.h>

typedef struct nl_sim_reader {
    const unsigned char *at, *end;
} nl_sim_reader;

/* These functions read numbers and strings; at the end of the data, they return 0 or "". Numbers
 * are in the byte order of this machine, for which images are compiled. */
uint64_t nl_sim_dwarf_read(nl_sim_reader *r, size_t size);
uint64_t nl_sim_dwarf_read_uleb(nl_sim_reader *r);
int64_t nl_sim_dwarf_read_sleb(nl_sim_reader *r);
const char *nl_sim_dwarf_read_string(nl_sim_reader *r);

/* The position of an inlined call: file number in the line table, line, and column (0:
 * unavailable). */
typedef struct nl_sim_call {
    uint64_t file, line, column;
} nl_sim_call;

/* Writes to `calls` the inlined calls that contain the instruction at `address` (relative to the
 * image's base), outermost first. Returns the number of inlined calls; calls beyond `most` are
 * omitted. */
unsigned nl_sim_dwarf_inlined_calls(const void *image, size_t size, uint64_t address,
                                    nl_sim_call *calls, unsigned most);

#endif
