/* sm_30_intrinsics.h: empty, because the prelude contains this header's declarations. */
#pragma once
