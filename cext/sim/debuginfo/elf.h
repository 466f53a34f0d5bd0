/* sim/debuginfo/elf: reads an image's symbol table: its variables, including __shared__ variables,
 * which are thread-local. */
#ifndef NL_SIM_DEBUGINFO_ELF_H
#define NL_SIM_DEBUGINFO_ELF_H

#include <stddef.h>
#include <stdint.h>

/* Returns whether the bytes are a complete shared library for this machine. */
int nl_sim_elf_is_valid(const void *bytes, size_t size);
/* Returns the size in bytes of static __shared__ memory that `kernel` (its name in the source) may
 * use: the variables in the kernel's own body and outside of all kernels, but not variables in the
 * bodies of the `count` other kernels `others`. Without a symbol table, returns the total size of
 * all __shared__ variables. */
size_t nl_sim_elf_shared_size(const void *bytes, size_t size, const char *kernel,
                              const char *const *others, size_t count);
/* Computes the address range of a loaded library relative to its base, [*low, *high), and the size
 * of its thread-local variables. */
void nl_sim_elf_extent(const void *bytes, size_t size, uintptr_t *low, uintptr_t *high,
                       uintptr_t *locals_size);
/* Returns the contents of a section and sets *length to its size; returns NULL if no section has
 * this name. */
const unsigned char *nl_sim_elf_section(const void *bytes, size_t size, const char *name,
                                        size_t *length);

/* A writable variable of the user's code. */
typedef struct nl_sim_elf_variable {
    const char *name;
    uintptr_t address; /* relative to the base */
    size_t size;
    const unsigned char *initial; /* initial value in the file; NULL: zero */
} nl_sim_elf_variable;
void nl_sim_elf_visit_variables(const void *bytes, size_t size,
                                void (*visit)(void *data, const nl_sim_elf_variable *variable),
                                void *data);
/* Finds the variable with this name and size; returns 0 if no variable matches. */
int nl_sim_elf_find_variable(const void *bytes, size_t size, const char *name, size_t variable_size,
                             uintptr_t *address);

/* Finds the variable, constant or not, that contains `address` (relative to the base) or ends
 * shortly before it. The variable's name is that of its symbol. Returns 0 if no variable contains
 * or precedes the address. */
int nl_sim_elf_variable_at(const void *bytes, size_t size, uintptr_t address,
                           nl_sim_elf_variable *variable);

#endif
