/* <stdio.h>: the same as for a GPU. */
#pragma once
#include "../../std/stdio.h"
#ifndef EOF
#define EOF (-1)
#endif
