/* sm_35_intrinsics.h: empty, because the prelude has its declarations. */
#pragma once
