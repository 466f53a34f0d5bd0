/* cuda_device_runtime_api.h: the prelude has what it declares for kernels. */
#pragma once
