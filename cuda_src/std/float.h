// Defines the ranges of the floating-point types, for NVRTC.
#pragma once
#include "numbalite/limits.cuh"
