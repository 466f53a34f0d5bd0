/* device_double_functions.h: empty, because the prelude has its declarations. */
#pragma once
