/* builtin_types.h: empty, because the prelude has its declarations. */
#pragma once
