/* crt/host_defines.h: the prelude has what it declares for kernels. */
#pragma once
