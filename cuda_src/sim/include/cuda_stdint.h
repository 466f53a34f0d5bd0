/* cuda_stdint.h: <stdint.h>. */
#pragma once
#include <stdint.h>
