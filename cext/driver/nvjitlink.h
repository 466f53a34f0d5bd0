/* driver/nvjitlink: the toolkit's linker, which needs no GPU: compiled code and what it is linked
 * with become one cubin. Loaded from a path on each use; it stays loaded. */
#ifndef NL_DRIVER_NVJITLINK_H
#define NL_DRIVER_NVJITLINK_H

#include "base/error.h"

typedef struct nl_nvjitlink_input {
    int type; /* nvJitLinkInputType: 1 cubin, 2 PTX, 3 LTO-IR, 4 fatbin, 5 object, 6 archive */
    const void *data;
    size_t size;
    const char *name; /* in messages */
} nl_nvjitlink_input;

/* Owned by the result; log is NUL-terminated, or NULL. */
typedef struct nl_nvjitlink_result {
    int status; /* 0: good; else the inputs' or the options' fault: see the log */
    char *log, *cubin;
    size_t cubin_size;
} nl_nvjitlink_result;

/* 0 with result->status set, or -1 where the library is not there, is too old, or memory ran out.
 * Takes its time: call without the interpreter's lock. Clear the result in either case. */
int nl_nvjitlink_link(const char *path, int option_count, const char **options, int input_count,
                      const nl_nvjitlink_input *inputs, nl_nvjitlink_result *result, nl_error *err);
void nl_nvjitlink_result_clear(nl_nvjitlink_result *result);

#endif
