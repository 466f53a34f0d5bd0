/* cuda.h: declarations for kernels that the prelude does not have. */
#pragma once

/* A tensor map, which the host's driver creates; copies with it are not supported here and cause an
 * error. */
typedef struct __align__(64) CUtensorMap_st {
    unsigned long long opaque[16];
} CUtensorMap;
