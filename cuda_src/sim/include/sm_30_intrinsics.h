/* sm_30_intrinsics.h: empty, because the prelude has its declarations. */
#pragma once
