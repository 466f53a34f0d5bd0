/* sim/debuginfo/elf: what an image's symbol table tells: its __shared__ variables, which are
 * thread-local ones. */
#ifndef NL_SIM_DEBUGINFO_ELF_H
#define NL_SIM_DEBUGINFO_ELF_H

#include <stddef.h>
#include <stdint.h>

/* Is it a complete shared object for this machine? */
int nl_sim_elf_is_valid(const void *bytes, size_t size);
/* Bytes of static __shared__ memory that the kernel written as `kernel` may use: the variables in
 * its own body and those outside of all kernels. Those in the bodies of `others`, `count` of them,
 * are not its. Without a symbol table, the size of all. */
size_t nl_sim_elf_shared_size(const void *bytes, size_t size, const char *kernel,
                              const char *const *others, size_t count);
/* The addresses of a loaded object relative to its base, [*low, *high), and how large its
 * thread-local variables are. */
void nl_sim_elf_extent(const void *bytes, size_t size, uintptr_t *low, uintptr_t *high,
                       uintptr_t *locals_size);
/* The contents of a section, [result, result + *length); NULL if there is none. */
const unsigned char *nl_sim_elf_section(const void *bytes, size_t size, const char *name,
                                        size_t *length);

/* A variable that can be written and is not the image's own business. */
typedef struct nl_sim_elf_variable {
    const char *name;
    uintptr_t address; /* relative to the base */
    size_t size;
    const unsigned char *initial; /* in the file; NULL: zero */
} nl_sim_elf_variable;
void nl_sim_elf_each_variable(const void *bytes, size_t size,
                              void (*visit)(void *data, const nl_sim_elf_variable *variable),
                              void *data);
/* The one with this name and size; 0 if there is none. */
int nl_sim_elf_find_variable(const void *bytes, size_t size, const char *name, size_t variable_size,
                             uintptr_t *address);

/* The variable, constant or not, that `address` (relative to the base) is in, or a little behind.
 * Its name is the symbol's. 0 if there is none. */
int nl_sim_elf_variable_at(const void *bytes, size_t size, uintptr_t address,
                           nl_sim_elf_variable *variable);

#endif
