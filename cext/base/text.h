/* base/text: builds a text in a caller's buffer. */
#ifndef NL_BASE_TEXT_H
#define NL_BASE_TEXT_H

#include <stddef.h>

typedef struct nl_text {
    char *at; /* always NUL-terminated */
    size_t size, length;
    int is_cut; /* the text was truncated */
} nl_text;

/* Starts an empty text in `buffer`, which has `size` bytes. */
nl_text nl_text_over_buffer(char *buffer, size_t size);
/* Appends formatted text, truncated to the size of the buffer. */
void nl_text_append(nl_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
