/* sm_20_intrinsics.hpp: the prelude has what it declares for kernels. */
#pragma once
