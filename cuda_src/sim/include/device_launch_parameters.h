/* device_launch_parameters.h: the prelude has what it declares for kernels. */
#pragma once
