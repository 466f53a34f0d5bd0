/* cuda.h: those declarations for kernels that the prelude lacks. */
#pragma once

/* A tensor map, which the host's driver creates; copies by a tensor map are not supported on the
 * simulator and cause an error. */
typedef struct __align__(64) CUtensorMap_st {
    unsigned long long opaque[16];
} CUtensorMap;
