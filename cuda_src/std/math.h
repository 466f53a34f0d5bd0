// Defines the constants of <math.h>; NVRTC has the functions built in.
#pragma once
#include "numbalite/math_constants.cuh"
