/* sim/debuginfo/names: searches a text table with one line for each name:
 *
 *     @lesson.py
 *     12 x 1 5 6 12        line, name, number of indices, columns */
#include "sim/debuginfo/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/debuginfo/lines.h"

static const char *next_line(const char *at) {
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

/* Returns whether the column is listed in the rest of the table line. */
static int line_has_column(const char *at, unsigned wanted) {
    while (*at == ' ') {
        char *after;
        if (strtoul(at, &after, 10) == wanted)
            return 1;
        at = after;
    }
    return 0;
}

/* Parses a line of the table; returns 1 if it contains the position. */
static int read_line(const char *at, unsigned line, unsigned column, nl_sim_name *name) {
    char *after;
    int used = 0;
    if (strtoul(at, &after, 10) != line ||
        sscanf(after, " %63s %u%n", name->text, &name->indices, &used) != 2)
        return 0;
    return line_has_column(after + used, column);
}

int nl_sim_names_find(const nl_sim_object *image, nl_sim_site site, unsigned column,
                      nl_sim_name *name) {
    const char *at = image->names;
    size_t length = site.file ? strlen(site.file) : 0;
    int in_file = 0;
    if (!at || !length || !column || site.line <= 0)
        return 0;
    for (; *at; at = next_line(at)) {
        if (*at == '@')
            in_file = strncmp(at + 1, site.file, length) == 0 && at[1 + length] == '\n';
        else if (in_file && read_line(at, (unsigned)site.line, column, name))
            return 1;
    }
    return 0;
}

int nl_sim_names_find_pc(const nl_sim_object *image, const void *pc, nl_sim_name *name) {
    nl_sim_site site;
    unsigned column;
    return nl_sim_lines_find_column(image, pc, &site, &column) &&
           nl_sim_names_find(image, site, column, name);
}
