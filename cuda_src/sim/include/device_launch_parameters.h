/* device_launch_parameters.h: empty, because the prelude has its declarations. */
#pragma once
