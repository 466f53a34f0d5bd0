/* device_launch_parameters.h: empty, because the prelude contains this header's declarations. */
#pragma once
