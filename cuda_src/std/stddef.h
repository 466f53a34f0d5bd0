// size_t, ptrdiff_t and NULL are built into NVRTC; this adds the rest.
#pragma once

#ifndef offsetof
#define offsetof(type, member) ((size_t)&((type *)0)->member)
#endif
typedef decltype(nullptr) nullptr_t;
