/* core/reducelaunch: merges and sorts dimensions, and writes the kernels' plans. */
#include "core/reducelaunch.h"

#include <stdlib.h>
#include <string.h>

typedef nl_reduce_dim dim;
typedef nl_reduce_dims dims;

/* ---- dimensions ---- */

int64_t nl_reducelaunch_length_product(const dim *d, int count) {
    int64_t n = 1;
    for (int i = 0; i < count; i++)
        n *= d[i].length;
    return n;
}

int64_t nl_reducelaunch_count_elements(const dims *d) {
    return nl_reducelaunch_length_product(d->at, d->count);
}

void nl_reducelaunch_append_dim(dims *d, dim one) {
    d->at[d->count++] = one;
}

void nl_reducelaunch_append_merged(dims *d, dim one) {
    dim *outer = d->count ? &d->at[d->count - 1] : NULL;
    if (one.length == 1)
        return;
    if (outer && outer->input == one.input * one.length && outer->where == one.where * one.length &&
        outer->output == one.output * one.length)
        *outer = (dim){outer->length * one.length, one.input, one.where, one.output};
    else
        nl_reducelaunch_append_dim(d, one);
}

void nl_reducelaunch_merge_dims(dims *d) {
    int count = d->count;
    nl_reducelaunch_clear_dims(d);
    for (int i = 0; i < count; i++)
        nl_reducelaunch_append_merged(d, d->at[i]);
}

int64_t nl_reducelaunch_input_stride_key(const dim *d) {
    return -llabs(d->input);
}

/* Sorts the dimensions by insertion, because there are few. */
void nl_reducelaunch_sort_dims(dims *d, int64_t (*key)(const dim *)) {
    for (int i = 1; i < d->count; i++) {
        dim one = d->at[i];
        int j = i;
        for (; j > 0 && key(&d->at[j - 1]) > key(&one); j--)
            d->at[j] = d->at[j - 1];
        d->at[j] = one;
    }
}

/* ---- launches ---- */

nl_reduce_step *nl_reducelaunch_add_step(nl_reduce_plan *plan, const nl_reduce_schedule *schedule,
                                         nl_reduce_type reads, nl_reduce_type writes,
                                         int64_t grid) {
    nl_reduce_step *step = &plan->steps[plan->step_count++];
    *step = (nl_reduce_step){
        .schedule = *schedule,
        .reads = reads,
        .writes = writes,
        .vec = 1,
        .grid = grid,
        .plan = plan->storage + plan->used,
    };
    return step;
}

uint8_t nl_reducelaunch_add_scratch(nl_reduce_plan *plan, nl_reduce_scratch_kind kind,
                                    int64_t count) {
    plan->scratch[plan->scratch_count] = (nl_reduce_scratch){kind, count};
    return (uint8_t)(NL_REDUCE_SCRATCH + plan->scratch_count++);
}

void nl_reducelaunch_set_slots(nl_reduce_step *step, int count, const uint8_t *slots) {
    step->slot_count = count;
    memcpy(step->slots, slots, (size_t)count);
}

/* ---- Structs with the layout of `plan` in reduce.cuh, which the kernels read. ---- */

typedef struct plan_head {
    int64_t results, length, parts, chunk;
    int32_t kept, reduced, has_initial, team, is_last, segment, by_part, by_one;
    double divisor;
} plan_head;

/* Returns the size of the initial value in bytes; records may have more than 16 bytes. */
static size_t initial_value_size(int64_t accumulator) {
    return accumulator > 16 ? ((size_t)accumulator + 15) / 16 * 16 : 16;
}

static size_t step_plan_size(int64_t accumulator, size_t capacity) {
    return (initial_value_size(accumulator) + sizeof(plan_head) + capacity * sizeof(dim) + 15) /
           16 * 16;
}

size_t nl_reducelaunch_storage_size(int64_t accumulator) {
    size_t step = step_plan_size(accumulator, NL_REDUCE_MAX_DIMS),
           both = 2 * initial_value_size(accumulator);
    return NL_REDUCE_MAX_STEPS * (step + both); /* size of the storage for two small plans per
                                                 * step */
}

int nl_reducelaunch_write_plan(nl_reduce_plan *plan, const nl_reduce_schedule *s, const dims *kept,
                               const dims *reduced, int64_t accumulator,
                               const nl_reduce_plan_options *o) {
    int wide = kept->count + reduced->count > NL_REDUCE_SMALL_DIMS;
    size_t initial = initial_value_size(accumulator);
    size_t size = step_plan_size(accumulator, wide ? NL_REDUCE_MAX_DIMS : NL_REDUCE_SMALL_DIMS);
    unsigned char *to = plan->storage + plan->used;
    plan_head head = {o->results ? o->results : nl_reducelaunch_count_elements(kept),
                      nl_reducelaunch_count_elements(reduced),
                      s->parts,
                      s->chunk,
                      kept->count,
                      reduced->count,
                      o->initial != NULL,
                      s->team,
                      o->is_last,
                      o->segmented,
                      o->by_part,
                      o->by_one,
                      o->divisor};
    memset(to, 0, size);
    for (int i = 0; o->initial && i < o->copies; i++)
        memcpy(to + (size_t)i * o->initial_size, o->initial, o->initial_size);
    memcpy(to + initial, &head, sizeof head);
    to += initial + sizeof head;
    memcpy(to, kept->at, (size_t)kept->count * sizeof(dim));
    memcpy(to + (size_t)kept->count * sizeof(dim), reduced->at,
           (size_t)reduced->count * sizeof(dim));
    plan->used += size;
    plan->steps[plan->step_count - 1].plan_size += size;
    return wide;
}
