/* driver/nvjitlink: calls nvJitLink, the toolkit's linker, which needs no GPU. The linker links
 * compiled code and libraries to one cubin. Each call loads the library from its path; the library
 * stays loaded. */
#ifndef NL_DRIVER_NVJITLINK_H
#define NL_DRIVER_NVJITLINK_H

#include "base/error.h"

typedef struct nl_nvjitlink_input {
    /* nvJitLinkInputType, the kind of the input: 1 cubin, 2 PTX, 3 LTO-IR, 4 fatbin, 5 object, 6
     * archive */
    int type;
    const void *data;
    size_t size;
    const char *name; /* for messages */
} nl_nvjitlink_input;

/* The result owns the memory of its members. `log` is NUL-terminated, or NULL. */
typedef struct nl_nvjitlink_result {
    /* 0 on success; otherwise an error in the inputs or the options, which the log describes */
    int status;
    char *log, *cubin;
    size_t cubin_size;
} nl_nvjitlink_result;

/* Returns 0 with result->status set, or -1 if the library is missing or too old, or memory ran out.
 * Linking is slow: call nl_nvjitlink_link without the interpreter's lock. The caller must clear the
 * result in both cases. */
int nl_nvjitlink_link(const char *path, int option_count, const char **options, int input_count,
                      const nl_nvjitlink_input *inputs, nl_nvjitlink_result *result, nl_error *err);
void nl_nvjitlink_result_clear(nl_nvjitlink_result *result);

#endif
