/* crt/mma.h: <mma.h>. */
#pragma once
#include <mma.h>
