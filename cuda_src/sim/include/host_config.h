/* host_config.h: empty, because the prelude has its declarations. */
#pragma once
