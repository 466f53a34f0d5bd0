/* base/error: fills an nl_error. A text that exceeds its buffer is truncated, but never inside a
 * UTF-8 character. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Removes the bytes of an incomplete UTF-8 character at the end of a full buffer. */
static void trim_partial_character(char *text, size_t capacity) {
    size_t length = strlen(text);
    if (length + 1 < capacity)
        return;
    size_t start = length;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        --start;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (length - (start - 1) < want)
        text[start - 1] = '\0';
}

int nl_error_set(nl_error *err, nl_error_kind kind, const char *format, ...) {
    va_list arguments;
    err->kind = kind;
    err->code = 0;
    err->call[0] = '\0';
    va_start(arguments, format);
    vsnprintf(err->text, sizeof err->text, format, arguments);
    va_end(arguments);
    trim_partial_character(err->text, sizeof err->text);
    return -1;
}

int nl_error_fault(nl_error *err) {
    err->kind = NL_ERR_KERNEL;
    err->code = 0;
    err->call[0] = '\0';
    nl_fault_sentence(&err->fault, err->text, sizeof err->text);
    trim_partial_character(err->text, sizeof err->text);
    return -1;
}

int nl_error_no_memory(nl_error *err, size_t size) {
    return nl_error_set(err, NL_ERR_MEMORY, "not enough host memory for %zu bytes", size);
}

void nl_error_prefix(nl_error *err, const char *format, ...) {
    char old[sizeof err->text];
    va_list arguments;
    memcpy(old, err->text, sizeof old);
    va_start(arguments, format);
    vsnprintf(err->text, sizeof err->text, format, arguments);
    va_end(arguments);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", old);
    trim_partial_character(err->text, sizeof err->text);
}
