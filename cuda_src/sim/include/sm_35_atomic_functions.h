/* sm_35_atomic_functions.h: the prelude has what it declares for kernels. */
#pragma once
