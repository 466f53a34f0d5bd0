/* driver/nvrtc_calls: the list of NVRTC calls that numbalite makes, as X(name, (parameters)).
 * `name` lacks the prefix "nvrtc". NVRTC 12.0 has all of these functions. */
#ifndef NL_NVRTC_CALLS_H
#define NL_NVRTC_CALLS_H

#include "driver/cuda_abi.h"

#define NL_NVRTC_CALLS(X) \
    X(Version, (int *major, int *minor)) \
    X(CreateProgram, \
      (nvrtcProgram * program, const char *source, const char *name, int header_count, \
       const char *const *headers, const char *const *include_names)) \
    X(DestroyProgram, (nvrtcProgram * program)) \
    X(CompileProgram, (nvrtcProgram program, int option_count, const char *const *options)) \
    X(AddNameExpression, (nvrtcProgram program, const char *expression)) \
    X(GetLoweredName, (nvrtcProgram program, const char *expression, const char **lowered)) \
    X(GetProgramLogSize, (nvrtcProgram program, size_t * size)) \
    X(GetProgramLog, (nvrtcProgram program, char *log)) \
    X(GetPTXSize, (nvrtcProgram program, size_t * size)) \
    X(GetPTX, (nvrtcProgram program, char *ptx)) \
    X(GetCUBINSize, (nvrtcProgram program, size_t * size)) \
    X(GetCUBIN, (nvrtcProgram program, char *cubin)) \
    X(GetLTOIRSize, (nvrtcProgram program, size_t * size)) \
    X(GetLTOIR, (nvrtcProgram program, char *ltoir)) \
    X(GetNumSupportedArchs, (int *count)) \
    X(GetSupportedArchs, (int *archs))

#endif
