/* surface_indirect_functions.h: empty, because the prelude contains this header's declarations. */
#pragma once
