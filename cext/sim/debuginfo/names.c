/* sim/debuginfo/names: the table is text, one line for each name at a place, searched from its
 * beginning when there is something to report:
 *
 *     @lesson.py
 *     12 x 1 5 6 12        line, name, number of indices, columns
 */
#include "sim/debuginfo/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/debuginfo/lines.h"
#include "sim/driver/module.h"
#include "sim/engine/grid.h"

static const char *next_line(const char *at) {
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

/* Is one of the columns in the rest of the line the wanted one? */
static int has_column(const char *at, unsigned wanted) {
    while (*at == ' ') {
        char *after;
        if (strtoul(at, &after, 10) == wanted)
            return 1;
        at = after;
    }
    return 0;
}

/* Reads a line of the table; 1 if it is about that place. */
static int read_line(const char *at, unsigned line, unsigned column, nl_sim_name *name) {
    char *after;
    int used = 0;
    if (strtoul(at, &after, 10) != line ||
        sscanf(after, " %63s %u%n", name->text, &name->indices, &used) != 2)
        return 0;
    return has_column(after + used, column);
}

int nl_sim_names_find(const struct nl_sim_module *image, nl_sim_site site, unsigned column,
                      nl_sim_name *name) {
    const char *at = nl_sim_module_names(image);
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

int nl_sim_names_find_pc(const struct nl_sim_module *image, const void *pc, nl_sim_name *name) {
    nl_sim_site site;
    unsigned column;
    return nl_sim_lines_find_column(image, pc, &site, &column) &&
           nl_sim_names_find(image, site, column, name);
}

/* Arrays of threads. A thread may end without taking its arrays back: it begins with none. */

void nl_sim_names_begin(nl_sim_named *array) {
    nl_sim_thread *t = &nl_sim_current->thread[nl_sim_current->current];
    array->next = t->named;
    t->named = array;
}

void nl_sim_names_end(nl_sim_named *array) {
    nl_sim_thread *t = &nl_sim_current->thread[nl_sim_current->current];
    for (const nl_sim_named **p = &t->named; *p; p = (const nl_sim_named **)&(*p)->next) {
        if (*p == array) {
            *p = array->next;
            return;
        }
    }
}

/* How far the address is from the elements; 0: it is one of them, or between two. */
static uintptr_t distance(const nl_sim_named *a, uintptr_t address) {
    uintptr_t low = (uintptr_t)a->first, high = low + a->item;
    for (unsigned k = 0; k < a->ndim; k++) {
        long long reach = (a->shape[k] - 1) * a->strides[k];
        if (reach < 0)
            low += (uintptr_t)reach;
        else
            high += (uintptr_t)reach;
    }
    return address < low ? low - address : address >= high ? address - high + 1 : 0;
}

const nl_sim_named *nl_sim_names_nearest(const nl_sim_worker *w, uintptr_t address, uintptr_t low,
                                         uintptr_t high) {
    const nl_sim_named *best = NULL;
    uintptr_t least = UINTPTR_MAX;
    for (const nl_sim_named *a = w->thread[w->current].named; a; a = a->next) {
        uintptr_t far = distance(a, address);
        if ((uintptr_t)a->first - low >= high - low)
            continue;
        /* Two may be the same memory: that which begins there is meant. */
        if (far < least || (far == least && (uintptr_t)a->first == address)) {
            best = a;
            least = far;
        }
    }
    return best;
}
