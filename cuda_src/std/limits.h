// Defines the ranges of the integer types, for NVRTC.
#pragma once
#include "numbalite/limits.cuh"
