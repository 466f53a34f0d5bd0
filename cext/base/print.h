/* base/print: implements printf for code compiled for the CPU. */
#ifndef NL_BASE_PRINT_H
#define NL_BASE_PRINT_H

#include <stdarg.h>

/* Writes formatted text to stdout without flushing stdout. Returns the length of the text, or the
 * result of vsnprintf if the format is invalid. */
int nl_print(const char *format, va_list arguments);

#endif
