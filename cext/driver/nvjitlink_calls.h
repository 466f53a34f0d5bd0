/* driver/nvjitlink_calls: the list of nvJitLink calls that numbalite makes, as X(name,
 * (parameters)). `name` lacks the prefix "nvJitLink". nvJitLink 12.0 has all of these functions. */
#ifndef NL_NVJITLINK_CALLS_H
#define NL_NVJITLINK_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include "driver/cuda_abi.h"

#define NL_NVJITLINK_CALLS(X) \
    X(Create, (nvJitLinkHandle * handle, uint32_t option_count, const char **options)) \
    X(Destroy, (nvJitLinkHandle * handle)) \
    X(AddData, \
      (nvJitLinkHandle handle, int type, const void *data, size_t size, const char *name)) \
    X(Complete, (nvJitLinkHandle handle)) \
    X(GetLinkedCubinSize, (nvJitLinkHandle handle, size_t * size)) \
    X(GetLinkedCubin, (nvJitLinkHandle handle, void *cubin)) \
    X(GetErrorLogSize, (nvJitLinkHandle handle, size_t * size)) \
    X(GetErrorLog, (nvJitLinkHandle handle, char *log))

#endif
