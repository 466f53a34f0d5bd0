/* texture_types.h: empty, because the prelude contains this header's declarations. */
#pragma once
