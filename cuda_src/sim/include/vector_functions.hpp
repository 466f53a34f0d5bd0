/* vector_functions.hpp: the prelude has what it declares for kernels. */
#pragma once
