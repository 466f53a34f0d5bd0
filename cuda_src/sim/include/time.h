/* <time.h>: the system's header, for the types that other standard headers use. clock() is the
 * prelude's function. */
#pragma once
#include_next <time.h>
