/* sim/driver/variables: copies global variables between a module and its twin, which is the same
 * source compiled for checks. A pair consists of the variables with the same symbol name in the
 * module and its twin. The pair stores both values
 * after the last copy: only bytes that differ from them, which were written later, are copied,
 * because launches of one module on several streams may overlap. Addresses within the image that
 * the loader wrote (function tables, virtual functions) differ between module and twin, and are
 * never copied. */
#include "sim/driver/variables.h"

#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "sim/debuginfo/elf.h"

typedef struct pair {
    struct pair *next;
    unsigned char *module, *twin;
    size_t size;
    unsigned char last[]; /* the bytes of the module's variable, followed by those of the twin's */
} pair;

struct nl_sim_variables {
    nl_mutex lock;
    pair *pairs;
};

/* State of nl_sim_variables_create while it creates the pairs. */
typedef struct making {
    nl_sim_variables *variables;
    const nl_sim_object *module, *twin;
    int failed;
} making;

/* Sets the module's half of p->last to `initial`, the initial value of the variable in the module's
 * ELF file (NULL: zero). Bytes that the module has written then differ from p->last and will be
 * copied to the twin. Addresses within the image were written by the loader: p->last is set to
 * their current values, so that they are not copied. */
static void set_initial_value(pair *p, const unsigned char *initial, const making *m) {
    for (size_t i = 0; i < p->size; i++)
        p->last[i] = initial ? initial[i] : 0;
    for (size_t i = 0; i + 8 <= p->size; i += 8) {
        uint64_t word;
        memcpy(&word, p->module + i, sizeof word);
        if (initial && word - m->module->low < m->module->high - m->module->low)
            memcpy(p->last + i, p->module + i, sizeof word);
    }
}

static void add_variable(void *data, const nl_sim_elf_variable *v) {
    making *m = data;
    uintptr_t other;
    if (!nl_sim_elf_find_variable(m->twin->bytes, m->twin->size, v->name, v->size, &other))
        return;
    pair *p = nl_mem_alloc(sizeof *p + 2 * v->size, NULL);
    if (!p) {
        m->failed = 1;
        return;
    }
    p->module = (unsigned char *)m->module->low + v->address;
    p->twin = (unsigned char *)m->twin->low + other;
    p->size = v->size;
    set_initial_value(p, v->initial, m);
    memcpy(p->last + p->size, p->twin, p->size);
    p->next = m->variables->pairs;
    m->variables->pairs = p;
}

nl_sim_variables *nl_sim_variables_create(const nl_sim_object *module, const nl_sim_object *twin) {
    nl_sim_variables *v = nl_mem_zalloc(sizeof *v, NULL);
    making m = {.variables = v, .module = module, .twin = twin};
    if (!v)
        return NULL;
    nl_mutex_init(&v->lock);
    nl_sim_elf_visit_variables(module->bytes, module->size, add_variable, &m);
    if (!m.failed)
        return v;
    nl_sim_variables_destroy(v);
    return NULL;
}

void nl_sim_variables_destroy(nl_sim_variables *v) {
    if (!v)
        return;
    while (v->pairs) {
        pair *p = v->pairs;
        v->pairs = p->next;
        nl_mem_free(p);
    }
    nl_mutex_destroy(&v->lock);
    nl_mem_free(v);
}

static void copy_changed_value(const pair *p, const unsigned char *from, unsigned char *last,
                               unsigned char *to, unsigned char *others_last) {
    if (memcmp(from, last, p->size) == 0)
        return;
    for (size_t i = 0; i < p->size; i++) {
        if (from[i] != last[i])
            to[i] = last[i] = others_last[i] = from[i];
    }
}

void nl_sim_variables_copy_to_twin(nl_sim_variables *v) {
    nl_mutex_lock(&v->lock);
    for (pair *p = v->pairs; p; p = p->next)
        copy_changed_value(p, p->module, p->last, p->twin, p->last + p->size);
    nl_mutex_unlock(&v->lock);
}

void nl_sim_variables_copy_from_twin(nl_sim_variables *v) {
    nl_mutex_lock(&v->lock);
    for (pair *p = v->pairs; p; p = p->next)
        copy_changed_value(p, p->twin, p->last + p->size, p->module, p->last);
    nl_mutex_unlock(&v->lock);
}
