/* base/print: formats the text into a buffer before it writes the text. An invalid argument of the
 * format may cause a trap, which must not happen while stdout is locked. */
#include "base/print.h"

#include <stdio.h>
#include <stdlib.h>

int nl_print(const char *format, va_list arguments) {
    char few[512], *text = few;
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(few, sizeof few, format, arguments);
    if (length >= (int)sizeof few && (text = malloc((size_t)length + 1)) != NULL)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    if (length > 0 && text != NULL)
        fwrite(text, 1, (size_t)length, stdout);
    if (text != few)
        free(text);
    return length;
}
