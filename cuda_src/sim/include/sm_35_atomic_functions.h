/* sm_35_atomic_functions.h: empty, because the prelude has its declarations. */
#pragma once
