/* fuzz/elf: passes any bytes to the functions that read an image before it is loaded
   (cext/sim/debuginfo/elf.c). */
#include "sim/debuginfo/elf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static const char *const others[] = {"ns::other<float>", "k", "", "::"};
    uintptr_t low, high, locals;
    size_t length = 0;
    unsigned char *copy = malloc(size ? size : 1); /* an aligned copy of the input, with red zones
    directly after it */
    memcpy(copy, data, size);
    (void)nl_sim_elf_is_valid(copy, size);
    (void)nl_sim_elf_shared_size(copy, size, "kernel", others, 4);
    nl_sim_elf_extent(copy, size, &low, &high, &locals);
    const unsigned char *section = nl_sim_elf_section(copy, size, ".debug_line", &length);
    if (section && length)
        (void)(*(volatile const unsigned char *)section + section[length - 1]);
    free(copy);
    return 0;
}
