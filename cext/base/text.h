/* base/text: putting a text together, in room that the caller has. */
#ifndef NL_BASE_TEXT_H
#define NL_BASE_TEXT_H

#include <stddef.h>

typedef struct nl_text {
    char *at; /* always ends with a 0 */
    size_t size, length;
    int is_cut; /* not all of it had room */
} nl_text;

/* An empty text in `size` bytes at `room`. */
nl_text nl_text_in(char *room, size_t size);
/* Adds what printf would print, as much of it as there is room for. */
void nl_text_add(nl_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
