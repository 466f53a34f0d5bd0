/* sm_35_intrinsics.h: the prelude has what it declares for kernels. */
#pragma once
