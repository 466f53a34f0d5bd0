/* base/text: builds a text in a buffer of the caller. */
#ifndef NL_BASE_TEXT_H
#define NL_BASE_TEXT_H

#include <stddef.h>

typedef struct nl_text {
    char *at; /* always NUL-terminated */
    size_t size, length;
    int is_cut; /* the text was truncated */
} nl_text;

/* Starts an empty text in the buffer `buffer` of `size` bytes. */
nl_text nl_text_in(char *buffer, size_t size);
/* Appends formatted text, truncated to fit. */
void nl_text_add(nl_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
