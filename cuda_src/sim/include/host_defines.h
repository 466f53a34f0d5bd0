/* host_defines.h: empty, because the prelude has its declarations. */
#pragma once
