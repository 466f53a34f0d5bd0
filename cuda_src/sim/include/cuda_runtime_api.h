/* cuda_runtime_api.h: empty, because the prelude has its declarations. */
#pragma once
