/* channel_descriptor.h: empty, because the prelude has its declarations. */
#pragma once
