/* surface_indirect_functions.h: the prelude has what it declares for kernels. */
#pragma once
