/* <time.h>: the system's, for the types that other standard headers name. clock() stays the prelude's. */
#pragma once
#include_next <time.h>
