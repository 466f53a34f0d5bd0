/* base/print: printf of code that was compiled for the CPU. */
#ifndef NL_BASE_PRINT_H
#define NL_BASE_PRINT_H

#include <stdarg.h>

/* Writes to stdout, which is not flushed. Returns the length of the text, or what vsnprintf returns
 * where the format is wrong. */
int nl_print(const char *format, va_list arguments);

#endif
