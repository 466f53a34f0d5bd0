/* cuda.h: what the prelude does not declare of it for kernels. */
#pragma once

/* A description of a tensor, which the host's driver makes; what copies by it cannot run here, and says so. */
typedef struct __align__(64) CUtensorMap_st {
    unsigned long long opaque[16];
} CUtensorMap;
