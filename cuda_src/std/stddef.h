// Declares what NVRTC lacks of <stddef.h>; size_t, ptrdiff_t and NULL are built in.
#pragma once

#ifndef offsetof
#define offsetof(type, member) ((size_t)&((type *)0)->member)
#endif
typedef decltype(nullptr) nullptr_t;
