/* sim/debuginfo/dwarf: reading debug information: numbers and texts of an image's sections, and the
 * calls that the compiler has inlined. DWARF 2 to 4; images are compiled so. */
#ifndef NL_SIM_DEBUGINFO_DWARF_H
#define NL_SIM_DEBUGINFO_DWARF_H

#include <stddef.h>
#include <stdint.h>

typedef struct nl_sim_reader {
    const unsigned char *at, *end;
} nl_sim_reader;

/* At the end of the data each gives 0 or "". Numbers are in this machine's byte order, as images
 * are.
 */
uint64_t nl_sim_read(nl_sim_reader *r, size_t size);
uint64_t nl_sim_read_uleb(nl_sim_reader *r);
int64_t nl_sim_read_sleb(nl_sim_reader *r);
const char *nl_sim_read_string(nl_sim_reader *r);

/* Where an inlined function was called: a file by its number in the line table, a line, and a
 * column (0: not known). */
typedef struct nl_sim_call {
    uint64_t file, line, column;
} nl_sim_call;

/* The inlined calls that the instruction at `address` (relative to the image's base) is in, the
 * outermost first. Returns how many; those beyond `most` are left out. */
unsigned nl_sim_dwarf_calls(const void *image, size_t size, uint64_t address, nl_sim_call *calls,
                            unsigned most);

#endif
