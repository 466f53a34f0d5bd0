/* sm_61_intrinsics.h: the prelude has what it declares for kernels. */
#pragma once
