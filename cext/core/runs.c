/* core/runs: implements the sorting and merging of the axes of a copy. */
#include "core/runs.h"

#include <stdlib.h>

/* Sorts the axes by the target's strides, largest first. Axes with equal strides keep their
 * order. */
static void sort_axes(nl_runs *r) {
    for (int i = 1; i < r->count; i++) {
        nl_run_axis one = r->axes[i];
        int j = i;
        for (; j > 0 && llabs(r->axes[j - 1].to) < llabs(one.to); j--)
            r->axes[j] = r->axes[j - 1];
        r->axes[j] = one;
    }
}

static void merge_axes(nl_runs *r) {
    int count = 0;
    for (int i = 0; i < r->count; i++) {
        const nl_run_axis one = r->axes[i];
        nl_run_axis *outer = count ? &r->axes[count - 1] : NULL;
        if (outer && outer->of == one.of * one.length && outer->to == one.to * one.length)
            *outer = (nl_run_axis){outer->length * one.length, one.of, one.to};
        else
            r->axes[count++] = one;
    }
    r->count = count;
}

void nl_runs_make(nl_runs *r, const nl_layout *of, const int64_t *to) {
    r->count = 0;
    for (int i = 0; i < of->ndim; i++)
        if (of->shape[i] != 1)
            r->axes[r->count++] = (nl_run_axis){of->shape[i], of->strides[i], to[i]};
    sort_axes(r);
    merge_axes(r);
    const nl_run_axis *last = r->count ? &r->axes[r->count - 1] : NULL;
    if (!last || last->of != of->itemsize || last->to != of->itemsize)
        r->axes[r->count++] = (nl_run_axis){1, of->itemsize, of->itemsize};
}

static int can_copy_words(const nl_runs *r, int64_t itemsize, uint64_t address, int64_t size) {
    int fits = address % (uint64_t)size == 0 && r->axes[r->count - 1].length * itemsize % size == 0;
    for (int i = 0; i < r->count - 1; i++)
        fits = fits && r->axes[i].of % size == 0 && r->axes[i].to % size == 0;
    return fits;
}

int64_t nl_runs_word_size(const nl_runs *r, int64_t itemsize, uint64_t address, int64_t most) {
    int64_t size = most;
    while (size > 1 && !can_copy_words(r, itemsize, address, size))
        size /= 2;
    return size;
}
