/* cuda_runtime_api.h: empty, because the prelude contains this header's declarations. */
#pragma once
