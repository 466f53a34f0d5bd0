/* sm_61_intrinsics.hpp: the prelude has what it declares for kernels. */
#pragma once
