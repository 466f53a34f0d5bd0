/* core/gloop: computes the geometry of one gufunc call. An operand's dimensions are ordered: first
 * the loop dimensions, outermost first, then the core dimensions. `axes` maps this order to axes of
 * the array, so that the axes= argument of a gufunc needs no other code. */
#include "core/gloop.h"

#include <stdlib.h>
#include <string.h>
#include "base/text.h"

static int operand_count(const nl_gloop *loop) {
    return loop->core->nin + loop->core->nout;
}

static const char *operand_role(const nl_gloop *loop, int operand) {
    return operand < loop->core->nin ? "Input" : "Output";
}

static int index_among_role(const nl_gloop *loop, int operand) {
    return operand < loop->core->nin ? operand : operand - loop->core->nin;
}

/* ---- core dimensions ---- */

int nl_gloop_check_keepdims(const nl_gcore *c, nl_error *err) {
    for (int i = 1; i < c->nin + c->nout; i++) {
        int wanted = i < c->nin ? c->ndim[0] : 0;
        if (c->ndim[i] != wanted)
            return nl_error_set(err, NL_ERR_TYPE,
                                "%s does not support keepdims: "
                                "its signature %s requires %s %d to have %d core dimensions, "
                                "but keepdims can only be used "
                                "when all inputs have the same number of core dimensions "
                                "and all outputs have no core dimensions.",
                                c->name, c->text, i < c->nin ? "input" : "output",
                                i < c->nin ? i : i - c->nin, c->ndim[i]);
    }
    return 0;
}

/* Marks an optional core dimension as missing in all operands whose signature contains it. */
static void drop_dimension(nl_gloop *loop, int place) {
    const nl_gcore *c = loop->core;
    loop->missing[place] = 1;
    for (int i = 0; i < operand_count(loop); i++)
        for (int k = 0; k < c->ndim[i]; k++)
            loop->operands[i].core -= c->place[i][k] == place;
}

static int read_core_dimensions(nl_gloop *loop, int operand, nl_error *err) {
    const nl_gcore *c = loop->core;
    nl_goperand *o = &loop->operands[operand];
    for (int k = 0; k < c->ndim[operand] && o->array.ndim < o->core; k++) {
        int place = c->place[operand][k];
        if (c->optional[place] && !loop->missing[place])
            drop_dimension(loop, place);
    }
    if (o->array.ndim >= o->core)
        return 0;
    return nl_error_set(err, NL_ERR_VALUE,
                        "%s: %s operand %d does not have enough dimensions "
                        "(has %d, gufunc core with signature %s requires %d)",
                        c->name, operand_role(loop, operand), index_among_role(loop, operand),
                        o->array.ndim, c->text, o->core);
}

int nl_gloop_read_dimensions(nl_gloop *loop, nl_error *err) {
    const nl_gcore *c = loop->core;
    memset(loop->missing, 0, sizeof loop->missing);
    for (int i = 0; i < operand_count(loop); i++)
        loop->operands[i].core = i >= c->nin && loop->keepdims ? c->ndim[0] : c->ndim[i];
    for (int i = 0; i < operand_count(loop); i++)
        if (loop->operands[i].given && read_core_dimensions(loop, i, err) < 0)
            return -1;
    loop->ndim = 0;
    for (int i = 0; i < operand_count(loop); i++) {
        nl_goperand *o = &loop->operands[i];
        int ndim = o->given ? o->array.ndim - o->core : 0;
        loop->ndim = ndim > loop->ndim ? ndim : loop->ndim;
    }
    for (int i = 0; i < operand_count(loop); i++) {
        nl_goperand *o = &loop->operands[i];
        if (!o->given)
            o->array.ndim = loop->ndim + o->core;
        if (o->array.ndim > NL_MAX_DIMS)
            return nl_error_set(err, NL_ERR_VALUE,
                                "%s: a result has %d dimensions, "
                                "the limit is %d",
                                c->name, o->array.ndim, NL_MAX_DIMS);
        for (int k = 0; k < o->array.ndim; k++)
            o->axes[k] = k;
    }
    return 0;
}

int nl_gloop_set_sizes(nl_gloop *loop, nl_error *err) {
    const nl_gcore *c = loop->core;
    memcpy(loop->sizes, c->fixed, (size_t)c->count * sizeof *loop->sizes);
    for (int i = 0; i < operand_count(loop); i++) {
        const nl_goperand *o = &loop->operands[i];
        int at = o->array.ndim - o->core;
        for (int k = 0; o->given && k < c->ndim[i]; k++) {
            int place = c->place[i][k];
            int64_t size = loop->missing[place] ? 1 : o->array.shape[o->axes[at++]];
            if (loop->sizes[place] < 0)
                loop->sizes[place] = size;
            else if (loop->sizes[place] != size)
                return nl_error_set(err, NL_ERR_VALUE,
                                    "%s: %s operand %d has a mismatch in its core dimension %d, "
                                    "with gufunc signature %s (size %lld is different from %lld)",
                                    c->name, operand_role(loop, i), index_among_role(loop, i),
                                    at - (o->array.ndim - o->core) - !loop->missing[place], c->text,
                                    (long long)size, (long long)loop->sizes[place]);
        }
    }
    for (int i = c->nin; i < operand_count(loop); i++)
        for (int k = 0; k < c->ndim[i]; k++)
            if (loop->sizes[c->place[i][k]] < 0)
                return nl_error_set(err, NL_ERR_VALUE,
                                    "%s: Output operand %d has core dimension %d unspecified, "
                                    "with gufunc signature %s",
                                    c->name, index_among_role(loop, i), k, c->text);
    return 0;
}

/* ---- broadcasting ---- */

static void append_shape(nl_text *t, const int64_t *shape, int ndim) {
    nl_text_append(t, "(");
    for (int k = 0; k < ndim; k++)
        nl_text_append(t, k ? ",%lld" : "%lld", (long long)shape[k]);
    nl_text_append(t, ndim == 1 ? ",)" : ")");
}

/* The error lists the shapes of all given operands and their loop dimensions. */
static int set_broadcast_error(const nl_gloop *loop, nl_error *err) {
    char buffer[1000];
    nl_text t = nl_text_over_buffer(buffer, sizeof buffer);
    for (int i = 0; i < operand_count(loop); i++) {
        const nl_goperand *o = &loop->operands[i];
        int64_t left[NL_MAX_DIMS];
        if (!o->given)
            continue;
        for (int k = 0; k < o->array.ndim - o->core; k++)
            left[k] = o->array.shape[o->axes[k]];
        nl_text_append(&t, " ");
        append_shape(&t, o->array.shape, o->array.ndim);
        nl_text_append(&t, "->");
        append_shape(&t, left, o->array.ndim - o->core);
    }
    return nl_error_set(err, NL_ERR_VALUE,
                        "%s: operands could not be broadcast together with remapped shapes "
                        "[original->loop dimensions]:%s",
                        loop->core->name, buffer);
}

static int set_output_error(const nl_gloop *loop, int operand, nl_error *err) {
    const nl_goperand *o = &loop->operands[operand];
    int64_t wanted[NL_MAX_DIMS];
    char given[400], broadcast[400];
    nl_text t[2] = {nl_text_over_buffer(given, sizeof given),
                    nl_text_over_buffer(broadcast, sizeof broadcast)};
    const nl_gcore *c = loop->core;
    int n = 0;
    for (; n < loop->ndim; n++)
        wanted[n] = loop->shape[n];
    for (int k = 0; k < o->core && n < NL_MAX_DIMS; k++)
        wanted[n++] = o->array.shape[o->axes[o->array.ndim - o->core + k]];
    append_shape(&t[0], o->array.shape, o->array.ndim);
    append_shape(&t[1], wanted, n);
    return nl_error_set(err, NL_ERR_VALUE,
                        "%s: non-broadcastable %s operand %d with shape %s "
                        "doesn't match the broadcast shape %s",
                        c->name, operand < c->nin ? "written input" : "output",
                        index_among_role(loop, operand), given, broadcast);
}

/* Broadcasts an operand's loop dimensions with the loop's shape, aligned from the right. */
static int broadcast_loop_dimensions(nl_gloop *loop, const nl_goperand *o) {
    int own = o->array.ndim - o->core;
    for (int k = 0; k < own; k++) {
        int64_t size = o->array.shape[o->axes[k]], *to = &loop->shape[loop->ndim - own + k];
        if (*to == 1)
            *to = size;
        else if (size != 1 && size != *to)
            return -1;
    }
    return 0;
}

int nl_gloop_broadcast_operands(nl_gloop *loop, nl_error *err) {
    const nl_gcore *c = loop->core;
    for (int k = 0; k < loop->ndim; k++)
        loop->shape[k] = 1;
    for (int i = 0; i < operand_count(loop); i++)
        if (loop->operands[i].given && broadcast_loop_dimensions(loop, &loop->operands[i]) < 0)
            return set_broadcast_error(loop, err);
    for (int i = 0; i < operand_count(loop); i++) {
        const nl_goperand *o = &loop->operands[i];
        if (!o->given || !nl_gcore_is_written(c, i))
            continue;
        int own = o->array.ndim - o->core;
        for (int k = 0; k < loop->ndim; k++) {
            int at = k - (loop->ndim - own);
            if ((at < 0 ? 1 : o->array.shape[o->axes[at]]) != loop->shape[k])
                return set_output_error(loop, i, err);
        }
        for (int k = own; i >= c->nin && loop->keepdims && k < o->array.ndim; k++)
            if (o->array.shape[o->axes[k]] != 1)
                return set_broadcast_error(loop, err);
    }
    return 0;
}

/* ---- outputs ---- */

static int64_t loop_stride(const nl_gloop *loop, const nl_goperand *o, int k) {
    int own = o->array.ndim - o->core, at = k - (loop->ndim - own);
    if (at < 0 || o->array.shape[o->axes[at]] == 1)
        return 0;
    return o->array.strides[o->axes[at]];
}

/* Compares two loop dimensions by the absolute strides of the operands `from` to `to`; the first
 * operand whose two strides are nonzero and differ decides. Returns 1 if `a` is the outer
 * dimension, -1 if `b` is, 0 if no operand decides. */
static int compare_strides(const nl_gloop *loop, int a, int b, int from, int to) {
    int step = from <= to ? 1 : -1;
    for (int i = from; i != to + step; i += step) {
        const nl_goperand *o = &loop->operands[i];
        if (!o->given)
            continue;
        int64_t x = llabs(loop_stride(loop, o, a)), y = llabs(loop_stride(loop, o, b));
        if (x && y && x != y)
            return x > y ? 1 : -1;
    }
    return 0;
}

/* Sorts the loop dimensions by stride, outermost first. Dimensions whose order no operand's strides
 * determine keep their order. */
static void sort_dimensions(const nl_gloop *loop, int *order, int from, int to) {
    for (int k = 0; k < loop->ndim; k++) {
        int j = k;
        for (; j > 0 && compare_strides(loop, order[j - 1], k, from, to) < 0; j--)
            order[j] = order[j - 1];
        order[j] = k;
    }
}

int nl_gloop_set_output_layout(nl_gloop *loop, int operand, char order, int fortran_core,
                               nl_error *err) {
    const nl_gcore *c = loop->core;
    nl_goperand *o = &loop->operands[operand];
    nl_layout *a = &o->array;
    int sorted[NL_MAX_DIMS], n = loop->ndim;
    for (int k = 0; k < n; k++) {
        sorted[k] = k;
        a->shape[o->axes[k]] = loop->shape[k];
    }
    for (int k = 0, at = n; k < (loop->keepdims ? o->core : c->ndim[operand]); k++)
        if (loop->keepdims)
            a->shape[o->axes[at++]] = 1;
        else if (!loop->missing[c->place[operand][k]])
            a->shape[o->axes[at++]] = loop->sizes[c->place[operand][k]];
    if (order == 'K')
        sort_dimensions(loop, sorted, 0, c->nin - 1);
    for (int k = 0; k < o->core; k++)
        sorted[n + k] = fortran_core ? n + o->core - 1 - k : n + k;
    __int128 stride = a->itemsize;
    for (int k = 0; k < a->ndim; k++) {
        int at = order == 'F' && !fortran_core ? k : a->ndim - 1 - k;
        int axis = o->axes[sorted[at]];
        a->strides[axis] = (int64_t)stride;
        stride *= a->shape[axis] ? a->shape[axis] : 1;
        if (stride > INT64_MAX)
            return nl_error_set(err, NL_ERR_VALUE,
                                "%s: the result is larger than the address space", c->name);
    }
    o->given = 1;
    return 0;
}

void nl_gloop_core_layout(const nl_gloop *loop, int operand, int64_t *shape, int64_t *strides) {
    const nl_gcore *c = loop->core;
    const nl_goperand *o = &loop->operands[operand];
    int at = o->array.ndim - o->core;
    for (int k = 0; k < c->ndim[operand]; k++) {
        int place = c->place[operand][k];
        shape[k] = loop->sizes[place];
        strides[k] = loop->missing[place] ? 0 : o->array.strides[o->axes[at++]];
    }
}

/* ---- the kernel's view ---- */

/* Returns whether dimensions `outer` and `inner` are contiguous to each other in every operand. */
static int can_merge_dimensions(const nl_gpacked *p, int operands, int outer, int inner) {
    for (int i = 0; i < operands; i++)
        if (p->strides[i][outer] != p->strides[i][inner] * p->shape[inner])
            return 0;
    return 1;
}

static int needs_64_bit_offsets(const nl_gpacked *p, int operands) {
    if (p->count > INT32_MAX)
        return 1;
    for (int i = 0; i < operands; i++) {
        __int128 reach = 0;
        for (int k = 0; k < p->dims; k++)
            reach += (__int128)llabs(p->strides[i][k]) * (p->shape[k] ? p->shape[k] - 1 : 0);
        if (reach > INT32_MAX)
            return 1;
    }
    return 0;
}

int nl_gloop_merge_dimensions(const nl_gloop *loop, nl_gpacked *p, nl_error *err) {
    int operands = operand_count(loop), sorted[NL_MAX_DIMS];
    __int128 count = 1;
    for (int k = 0; k < loop->ndim; k++)
        if (loop->shape[k] == 0)
            count = 0;
    for (int k = 0; k < loop->ndim && count; k++) {
        count *= loop->shape[k];
        if (count > INT64_MAX)
            return nl_error_set(err, NL_ERR_VALUE, "%s: the loop has too many elements",
                                loop->core->name);
    }
    p->count = (int64_t)count;
    p->dims = 0;
    sort_dimensions(loop, sorted, operands - 1, 0);
    for (int k = 0; k < loop->ndim; k++) {
        int d = p->dims;
        if (loop->shape[sorted[k]] == 1)
            continue;
        p->shape[d] = loop->shape[sorted[k]];
        for (int i = 0; i < operands; i++)
            p->strides[i][d] = loop_stride(loop, &loop->operands[i], sorted[k]);
        if (d > 0 && can_merge_dimensions(p, operands, d - 1, d)) {
            p->shape[d - 1] *= p->shape[d];
            for (int i = 0; i < operands; i++)
                p->strides[i][d - 1] = p->strides[i][d];
        } else {
            p->dims++;
        }
    }
    if (p->dims == 0) {
        p->dims = 1;
        p->shape[0] = 1;
        for (int i = 0; i < operands; i++)
            p->strides[i][0] = 0;
    }
    p->wide = needs_64_bit_offsets(p, operands);
    return 0;
}

int nl_gloop_kernel_dims(int dims) {
    return dims <= 2 ? dims : dims <= 4 ? 4 : dims <= 8 ? 8 : NL_MAX_DIMS;
}

/* Computes `magic`: n / d is (umulhi(n, magic) + n) >> shift for all n below 2^31, where magic is
 * 2^32 (2^shift - d) / d, rounded up. */
static uint64_t magic_divisor(int64_t d) {
    unsigned shift = 0;
    if (d < 1 || d > INT32_MAX)
        return 0;
    while (((int64_t)1 << shift) < d)
        shift++;
    uint64_t magic = ((((uint64_t)1 << shift) - (uint64_t)d) << 32) / (uint64_t)d + 1;
    return (magic & UINT32_MAX) | (uint64_t)shift << 32;
}

int nl_gloop_write_parameter(const nl_gpacked *p, const nl_gloop *loop, int dims, int lanes,
                             const uint64_t (*slots)[2], uint64_t *words) {
    int operands = operand_count(loop), lead = dims - p->dims, n = 0, total = 0;
    int64_t shape[NL_GU_MAX_OPERANDS * NL_GU_MAX_CORE];
    int64_t strides[NL_GU_MAX_OPERANDS * NL_GU_MAX_CORE];
    memcpy(words, slots, (size_t)operands * sizeof *slots);
    n = 2 * operands;
    words[n++] = (uint64_t)p->count;
    words[n++] = (uint64_t)lanes;
    for (int k = 0; k < dims; k++)
        words[n++] = k < lead ? 1 : (uint64_t)p->shape[k - lead];
    for (int k = 0; k < dims; k++)
        words[n++] = magic_divisor(k < lead ? 1 : p->shape[k - lead]);
    for (int i = 0; i < operands; i++)
        for (int k = 0; k < dims; k++)
            words[n++] = k < lead ? 0 : (uint64_t)p->strides[i][k - lead];
    for (int i = 0; i < operands; i++) {
        nl_gloop_core_layout(loop, i, shape + total, strides + total);
        total += loop->core->ndim[i];
    }
    if (total == 0) /* C++ has no arrays without elements */
        shape[0] = strides[0] = 0;
    total = total ? total : 1;
    memcpy(words + n, shape, (size_t)total * sizeof *shape);
    memcpy(words + n + total, strides, (size_t)total * sizeof *strides);
    n += 2 * total;
    if (n % 2)
        words[n++] = 0;
    return n;
}
