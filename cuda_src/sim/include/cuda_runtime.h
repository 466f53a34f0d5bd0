/* cuda_runtime.h: empty, because the prelude has its declarations. */
#pragma once
