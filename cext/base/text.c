/* base/text: appends formatted text to a buffer. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

nl_text nl_text_over_buffer(char *buffer, size_t size) {
    buffer[0] = '\0';
    return (nl_text){.at = buffer, .size = size};
}

void nl_text_append(nl_text *text, const char *format, ...) {
    va_list arguments;
    size_t left = text->size - text->length;
    va_start(arguments, format);
    int more = vsnprintf(text->at + text->length, left, format, arguments);
    va_end(arguments);
    if (more <= 0)
        return;
    text->is_cut |= (size_t)more >= left;
    text->length += (size_t)more < left ? (size_t)more : left - 1;
}
