/* <stdio.h>: includes the header that GPUs use. */
#pragma once
#include "../../std/stdio.h"
#ifndef EOF
#define EOF (-1)
#endif
