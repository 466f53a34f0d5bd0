// NVRTC has the functions of <math.h> built in; these are its constants.
#pragma once
#include "numbalite/math_constants.cuh"
