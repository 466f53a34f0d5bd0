/* surface_types.h: the prelude has what it declares for kernels. */
#pragma once
