/* sim/check/attribution: finds the argument, variable or named array to which an address belongs,
 * through the allocation that contains the address or the nearest allocation. */
#include "sim/check/attribution.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/check/arena.h"
#include "sim/check/launch.h"
#include "sim/check/named.h"
#include "sim/debuginfo/elf.h"
#include "sim/debuginfo/names.h"
#include "sim/engine/cluster.h"
#include "sim/engine/heap.h"
#include "sim/engine/job.h"
#include "sim/engine/memory.h"
#include "sim/engine/shadow.h"

enum { MAX_DIMENSIONS = 8, NAME = 64, WRAPPED = 1 << 24 };

/* A kernel parameter that is a pointer or an array, or a variable that is described like a
 * parameter. */
typedef struct parameter {
    char name[NAME];
    uintptr_t base;
    size_t item;
    int ndim; /* 0: a pointer */
    int is_shared;
    int is_unnamed; /* `name` is a description, not an identifier */
    long long shape[MAX_DIMENSIONS], strides[MAX_DIMENSIONS];
} parameter;

/* The allocation and the variable to which an invalid access was probably intended. */
typedef struct place {
    nl_sim_memory_info memory;
    int allocation; /* result of nl_sim_memory_find_nearest for the address */
    int is_ours;    /* whether `parameter` is the variable that was found */
    /* if the address is in another block's shared memory, the worker of that block, else NULL */
    const nl_sim_worker *owner;
    parameter parameter;
} place;

/* Reads a numbalite::array<T, N>, whose layout is { T *pointer; int64 shape[N]; int64 strides[N];
 * }. */
static void read_array(const void *argument, int ndim, parameter *p) {
    const long long *words = argument;
    memcpy(p->shape, words + 1, (size_t)ndim * sizeof *p->shape);
    memcpy(p->strides, words + 1 + ndim, (size_t)ndim * sizeof *p->strides);
}

static const char *nth_name(const char *names, unsigned index) {
    while (index && names && *names) {
        index -= *names == ',';
        names++;
    }
    return names ? names : "";
}

static int read_parameter(const nl_sim_worker *w, const nl_sim_parameters *all, unsigned i,
                          parameter *p) {
    const nl_sim_shape *s = &all->shapes[i];
    const char *name = nth_name(all->names, i);
    size_t length = strcspn(name, ",");
    if (!s->kind || s->ndim > MAX_DIMENSIONS)
        return 0;
    if (length)
        snprintf(p->name, sizeof p->name, "%.*s", (int)(length < NAME ? length : NAME - 1), name);
    else
        snprintf(p->name, sizeof p->name, "parameter %u", i + 1);
    p->is_unnamed = !length;
    memcpy(&p->base, w->job->launch.args[i], sizeof p->base);
    p->item = s->item ? s->item : 1;
    p->ndim = s->ndim;
    p->is_shared = 0;
    if (s->kind == 2)
        read_array(w->job->launch.args[i], p->ndim, p);
    return 1;
}

/* Computes the address range of an array, [low, high). */
static void extent_of_array(const parameter *p, const nl_sim_memory_info *m, uintptr_t *low,
                            uintptr_t *high) {
    *low = p->base;
    *high = p->ndim ? p->base + p->item : m->address + m->size;
    for (int k = 0; k < p->ndim; k++) {
        long long reach = (p->shape[k] - 1) * p->strides[k];
        if (reach < 0)
            *low += (uintptr_t)reach;
        else
            *high += (uintptr_t)reach;
    }
}

static uintptr_t distance_to_range(uintptr_t address, uintptr_t low, uintptr_t high) {
    return address < low ? low - address : address >= high ? address - high + 1 : 0;
}

static void find_parameter(const nl_sim_worker *w, uintptr_t address, place *found) {
    const nl_sim_parameters *all = w->job->check->parameters;
    uintptr_t best = UINTPTR_MAX;
    for (unsigned i = 0; all && i < all->count; i++) {
        parameter p;
        uintptr_t low, high;
        if (!read_parameter(w, all, i, &p) || p.base - found->memory.address > found->memory.size)
            continue;
        extent_of_array(&p, &found->memory, &low, &high);
        uintptr_t far = distance_to_range(address, low, high);
        if (far < best) {
            best = far;
            found->parameter = p;
            found->is_ours = 1;
        }
    }
}

/* A negative index that was computed as an unsigned 32-bit integer is 2^32 too large: searches an
 * array that contains the address minus that error. */
static void find_array_of_wrapped_index(const nl_sim_worker *w, uintptr_t address, place *found) {
    const nl_sim_parameters *all = w->job->check->parameters;
    uintptr_t best = WRAPPED;
    for (unsigned i = 0; all && i < all->count; i++) {
        parameter p;
        nl_sim_memory_info memory;
        uintptr_t low, high;
        if (!read_parameter(w, all, i, &p) || nl_sim_memory_find_nearest(p.base, &memory) != 1)
            continue;
        extent_of_array(&p, &memory, &low, &high);
        uintptr_t far = distance_to_range(address - ((uintptr_t)p.item << 32), low, high);
        if (far < best) {
            best = far;
            found->allocation = found->is_ours = 1;
            found->memory = memory;
            found->parameter = p;
        }
    }
}

/* Finds a variable in shared memory, and describes it like a parameter. */
static int locate_shared(const nl_sim_worker *w, uintptr_t address, place *found) {
    nl_sim_arena_entry e;
    const nl_sim_worker *owner = nl_sim_cluster_find_owner(w, address);
    if (!nl_sim_arena_find_variable(owner ? owner : w, address, &e))
        return 0;
    found->owner = owner == w ? NULL : owner;
    parameter *p = &found->parameter;
    const nl_sim_shared *v = e.variable;
    found->allocation = found->is_ours = 1;
    found->memory.address = p->base = e.base;
    found->memory.size = e.size;
    p->item = v ? v->item : 1;
    snprintf(p->name, sizeof p->name, "%s", v ? v->name : "the dynamic shared memory");
    p->is_unnamed = !v;
    p->ndim = v ? v->ndim < 4 ? (int)v->ndim : 4 : 1;
    long long step = (long long)p->item;
    for (int k = p->ndim; k-- > 0; step *= p->shape[k]) {
        p->shape[k] = v && v->size ? (long long)v->extents[k] : (long long)(e.size / p->item);
        p->strides[k] = step;
    }
    p->is_shared = 1;
    return 1;
}

/* Returns the last identifier of a mangled name, as "count" for _ZN2ns5countE, _ZN2nsL5countE,
 * _ZL5count and count. */
static void last_identifier(const char *symbol, char *name, size_t size) {
    snprintf(name, size, "%s", symbol);
    if (strncmp(symbol, "_Z", 2) != 0)
        return;
    const char *at = symbol + 2 + strcspn(symbol + 2, "0123456789");
    while (*at >= '0' && *at <= '9') {
        char *text;
        size_t length = strtoul(at, &text, 10);
        if (length > strlen(text))
            return;
        snprintf(name, size, "%.*s", (int)length, text);
        at = text + length;
        at += *at == 'L'; /* internal linkage */
    }
}

/* Finds a variable of the module, and describes it like a parameter; its element type is not
 * available. */
static int locate_variable(const nl_sim_worker *w, uintptr_t address, place *found) {
    nl_sim_elf_variable v;
    const nl_sim_object *image = w->job->check->image;
    if (address - w->image_low >= w->image_high - w->image_low ||
        !nl_sim_elf_variable_at(image->bytes, image->size, address - w->image_low, &v))
        return 0;
    parameter *p = &found->parameter;
    found->allocation = found->is_ours = 1;
    found->memory.address = p->base = w->image_low + v.address;
    found->memory.size = p->item = v.size;
    p->is_shared = 1;
    last_identifier(v.name, p->name, sizeof p->name);
    return 1;
}

/* Finds an array that begins in [low, high) and is in the running thread's list of named arrays. */
static int find_named_array(const nl_sim_worker *w, uintptr_t address, uintptr_t low,
                            uintptr_t high, place *found) {
    const nl_sim_named *a = nl_sim_named_find_nearest(w, address, low, high);
    parameter *p = &found->parameter;
    if (!a || a->ndim > MAX_DIMENSIONS)
        return 0;
    snprintf(p->name, sizeof p->name, "%s", a->name);
    p->base = (uintptr_t)a->first;
    p->item = a->item;
    p->ndim = (int)a->ndim;
    p->is_shared = 0;
    memcpy(p->shape, a->shape, a->ndim * sizeof *p->shape);
    memcpy(p->strides, a->strides, a->ndim * sizeof *p->strides);
    found->is_ours = 1;
    return 1;
}

static void locate_address(const nl_sim_worker *w, uintptr_t address, place *found) {
    memset(found, 0, sizeof *found);
    if (locate_shared(w, address, found) || locate_variable(w, address, found))
        return;
    found->allocation = nl_sim_memory_find_nearest(address, &found->memory);
    uintptr_t low = found->memory.address;
    if (found->allocation && !find_named_array(w, address, low, low + found->memory.size, found))
        find_parameter(w, address, found);
    else if (found->allocation || find_named_array(w, address, address, address + 1, found))
        return;
    else
        find_array_of_wrapped_index(w, address, found);
}

/* Texts */

/* Is the array C-contiguous? */
static int is_dense(const parameter *p) {
    long long step = (long long)p->item;
    for (int k = p->ndim; k-- > 0; step *= p->shape[k]) {
        if (p->strides[k] != step && p->shape[k] != 1)
            return 0;
    }
    return 1;
}

static void name_element(const parameter *p, nl_fault_element *element) {
    element->indices = 0;
    nl_fault_set_name(element, p->is_unnamed ? "" : p->name);
}

static void append_index(nl_fault_element *element, long long index) {
    if (element->indices < NL_FAULT_INDICES)
        element->index[element->indices++] = index;
}

/* Writes an element as "out[127]" or "out(3,7)", or its byte offset if the array is not
 * contiguous. */
static void write_element(const parameter *p, uintptr_t address, nl_fault_element *element,
                          char *text, size_t size) {
    long long offset = (long long)(address - p->base), item = (long long)p->item;
    long long index = offset >= 0 ? offset / item : -((-offset + item - 1) / item);
    long long inside = offset - index * item;
    size_t at;
    name_element(p, element);
    if (p->ndim > 1 && !is_dense(p)) {
        snprintf(text, size, "%s, %lld bytes from its first element", p->name, offset);
        return;
    }
    if (p->ndim == 0 && p->is_shared) {
        at = (size_t)snprintf(text, size, "%s", p->name);
        if (offset && !index) {
            snprintf(text, size, "%s (byte %lld of it)", p->name, offset);
            return;
        }
        if (index) {
            snprintf(text, size, "%s, %lld bytes from its beginning", p->name, offset);
            return;
        }
    } else if (p->ndim < 2 || index < 0) {
        append_index(element, index);
        at = (size_t)snprintf(text, size, "%s[%lld]", p->name, index);
    } else {
        long long indices[MAX_DIMENSIONS];
        for (int k = p->ndim; k-- > 0;) {
            indices[k] = k && p->shape[k] ? index % p->shape[k] : index;
            index = p->shape[k] ? index / p->shape[k] : index;
        }
        at = (size_t)snprintf(text, size, p->is_shared ? "%s" : "%s(", p->name);
        const char *format = p->is_shared ? "[%lld]" : "%lld,";
        for (int k = 0; k < p->ndim; k++)
            append_index(element, indices[k]);
        for (int k = 0; k < p->ndim && at < size; k++)
            at += (size_t)snprintf(text + at, size - at, format, indices[k]);
        if (!p->is_shared && at < size)
            text[at - 1] = ')';
    }
    if (inside && at < size)
        snprintf(text + at, size - at, " (byte %lld of it)", inside);
}

/* Writes the size of an array, as "out has 100 elements" or "out has shape (3, 5)". */
static void write_extent(const place *found, char *text, size_t size) {
    const parameter *p = &found->parameter;
    if (p->is_shared && p->ndim > 1) {
        size_t at = (size_t)snprintf(text, size, "it is %s", p->name);
        for (int k = 0; k < p->ndim && at < size; k++)
            at += (size_t)snprintf(text + at, size - at, "[%lld]", p->shape[k]);
    } else if (p->is_shared && p->ndim == 0) {
        snprintf(text, size, "%s has %zu bytes", p->name, p->item);
    } else if (p->ndim == 1) {
        snprintf(text, size, "%s has %lld elements", p->name, p->shape[0]);
    } else if (p->ndim) {
        size_t at = (size_t)snprintf(text, size, "%s has shape (", p->name);
        for (int k = 0; k < p->ndim && at < size; k++)
            at += (size_t)snprintf(text + at, size - at, k ? ", %lld" : "%lld", p->shape[k]);
        if (at < size)
            snprintf(text + at, size - at, ")");
    } else {
        size_t left = found->memory.address + found->memory.size - p->base;
        if (left / p->item == 1)
            snprintf(text, size, "%s points to 1 element", p->name);
        else
            snprintf(text, size, "%s points to %zu elements", p->name, left / p->item);
    }
}

/* Appends " of block (1,0,0)" if the variable belongs to another block. */
static void append_owner(const place *found, char *text, size_t size) {
    size_t at = strlen(text);
    if (found->owner)
        snprintf(text + at, size - at, " of block (%u,%u,%u)", found->owner->index.x,
                 found->owner->index.y, found->owner->index.z);
}

void nl_sim_attribution_describe(const nl_sim_worker *w, nl_sim_finding *f) {
    enum { TEXT = sizeof f->text };
    uintptr_t address = f->address;
    place found;
    char element[160], has[160];
    locate_address(w, address, &found);
    /* If an access begins inside a variable and ends outside, the message names the first element
     * outside of the variable. */
    size_t there = nl_sim_shadow_valid_length(address, f->size);
    if (found.owner && found.owner->cluster_ended) {
        write_element(&found.parameter, address, &f->element, element, sizeof element);
        append_owner(&found, element, sizeof element);
        snprintf(f->text, TEXT,
                 "%s %s, but that block has ended: "
                 "a block must run until all other blocks have finished using its shared memory: "
                 "cluster.sync()",
                 f->access, element);
    } else if (found.is_ours && found.allocation == 2) {
        write_element(&found.parameter, address, &f->element, element, sizeof element);
        snprintf(f->text, TEXT, "%s %s, but that memory (%zu bytes) has been freed", f->access,
                 element, found.memory.size);
    } else if (found.is_ours) {
        write_element(&found.parameter, address + (there < f->size ? there : 0), &f->element,
                      element, sizeof element);
        append_owner(&found, element, sizeof element);
        write_extent(&found, has, sizeof has);
        snprintf(f->text, TEXT, "%s %s, but %s", f->access, element, has);
    } else {
        int length =
            snprintf(f->text, TEXT, "%s %zu byte%s at the address 0x%llx", f->access,
                     (size_t)f->size, f->size == 1 ? "" : "s", (unsigned long long)address);
        if (length > 0 && length < TEXT &&
            !nl_sim_heap_describe(address, f->text + length, TEXT - (size_t)length))
            nl_sim_memory_describe(address, f->text + length, TEXT - (size_t)length);
    }
}

void nl_sim_attribution_describe_index(const nl_sim_worker *w, const nl_sim_index *what,
                                       nl_sim_finding *f) {
    enum { TEXT = sizeof f->text };
    place found;
    nl_sim_name name;
    char has[160];
    locate_address(w, (uintptr_t)what->array, &found);
    parameter *p = &found.parameter;
    int whole = found.is_ours ? p->ndim : 0, axis = what->axis, count = what->ndim;
    if (count > MAX_DIMENSIONS)
        count = MAX_DIMENSIONS;
    p->is_shared = 0;
    f->element.indices = 0;
    append_index(&f->element, what->index);
    /* If the array's shape ends with the shape of the indexed row, the reported axis is counted
     * from the array's first axis. */
    if (whole > count &&
        memcmp(p->shape + whole - count, what->shape, (size_t)count * sizeof *p->shape) == 0) {
        axis += whole - count;
    } else {
        p->ndim = count;
        memcpy(p->shape, what->shape, (size_t)count * sizeof *p->shape);
    }
    if (!found.is_ours && nl_sim_names_find_pc(w->job->check->image, f->pc, &name)) {
        snprintf(p->name, sizeof p->name, "%s", name.text);
        found.is_ours = 1;
        /* the indexed array is a row of the array that the source names */
        if (name.indices > (unsigned)count && what->axis < count) {
            nl_fault_set_name(&f->element, p->name);
            snprintf(f->text, TEXT,
                     "uses index %lld of %s along axis %u, but %s has %lld elements there",
                     what->index, p->name, name.indices - (unsigned)(count - what->axis), p->name,
                     p->shape[what->axis]);
            return;
        }
    }
    if (!found.is_ours && count == 1) {
        snprintf(f->text, TEXT, "uses index %lld of an array of %lld elements", what->index,
                 p->shape[0]);
        return;
    }
    if (!found.is_ours)
        snprintf(p->name, sizeof p->name, "an array");
    else if (!p->is_unnamed)
        nl_fault_set_name(&f->element, p->name);
    write_extent(&found, has, sizeof has);
    if (p->ndim == 1)
        snprintf(f->text, TEXT, "uses %s[%lld], but %s", p->name, what->index, has);
    else
        snprintf(f->text, TEXT, "uses index %lld of %s along axis %d, but %s", what->index, p->name,
                 axis, has);
}

void nl_sim_attribution_name(const nl_sim_worker *w, uintptr_t address, nl_fault_element *element,
                             char *text, size_t size) {
    place found;
    nl_fault_element unused;
    locate_address(w, address, &found);
    if (found.is_ours)
        write_element(&found.parameter, address, element ? element : &unused, text, size);
    if (found.is_ours)
        append_owner(&found, text, size);
    else if (!nl_sim_heap_write_name(address, text, size))
        snprintf(text, size, "the memory at 0x%llx", (unsigned long long)address);
}

int nl_sim_attribution_can_name(const nl_sim_worker *w, uintptr_t address) {
    place found;
    locate_address(w, address, &found);
    return found.is_ours && found.allocation != 2;
}

uint64_t nl_sim_attribution_variable_id(const nl_sim_worker *w, uintptr_t address) {
    nl_sim_memory_info info;
    nl_sim_arena_entry entry;
    const nl_sim_worker *owner = nl_sim_cluster_find_owner(w, address);
    if (nl_sim_arena_find_variable(owner ? owner : w, address, &entry))
        return entry.base;
    return nl_sim_memory_find_nearest(address, &info) ? info.id : 0;
}

/* Outside of the simulated memory */

static int is_address_of_argument(const nl_sim_worker *w, uintptr_t address) {
    for (unsigned i = 0; i < w->kernel->param_count; i++) {
        if (address - (uintptr_t)w->job->launch.args[i] < w->kernel->params[i].size)
            return 1;
    }
    return 0;
}

/* Returns whether the address is that of a thread-local variable. Local variables of a module are
 * allocated when a thread first uses one of them. */
static int is_thread_local_address(const nl_sim_worker *w, uintptr_t address) {
    uintptr_t low, high;
    nl_sim_object_find_locals(w->job->check->image, &low, &high);
    return address - low < high - low;
}

int nl_sim_attribution_is_allowed(const nl_sim_worker *w, uintptr_t address, size_t size) {
    const nl_sim_fiber_stack *stack = &w->stacks.all[w->thread[w->current].stack];
    if (address - (uintptr_t)stack->low < stack->size)
        return 1;
    if (is_thread_local_address(w, address))
        return 1;
    if (address - w->image_low < w->image_high - w->image_low)
        return 1;
    if (is_address_of_argument(w, address))
        return 1;
    return nl_sim_memory_covers(address, size);
}
