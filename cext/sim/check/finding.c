/* sim/check/finding: keeps the list of findings and writes the report. */
#include "sim/check/finding.h"

#include <string.h>
#include "base/text.h"
#include "driver/checks.h"
#include "sim/debuginfo/lines.h"

void nl_sim_findings_init(nl_sim_findings *f) {
    memset(f, 0, offsetof(nl_sim_findings, all));
    nl_mutex_init(&f->lock);
}

void nl_sim_findings_clear(nl_sim_findings *f) {
    nl_mutex_destroy(&f->lock);
}

static int is_same_site(nl_sim_site a, nl_sim_site b) {
    return a.line == b.line &&
           (a.file == b.file || (a.file && b.file && strcmp(a.file, b.file) == 0));
}

/* Returns the finding of the same error at the same instruction, or NULL. The lock must be held. */
static nl_sim_finding *find_finding_lock_held(nl_sim_findings *f, unsigned kind, const void *pc,
                                              nl_sim_site site, uint64_t variable) {
    for (unsigned i = 0; i < f->count; i++) {
        nl_sim_finding *g = &f->all[i];
        if (g->kind == kind && g->pc == pc && g->variable == variable &&
            is_same_site(g->site, site))
            return g;
    }
    return NULL;
}

int nl_sim_findings_contain(nl_sim_findings *f, unsigned kind, const void *pc, nl_sim_site site,
                            uint64_t variable, uint64_t order) {
    nl_mutex_lock(&f->lock);
    const nl_sim_finding *same = find_finding_lock_held(f, kind, pc, site, variable);
    int is_repeated = same ? same->order <= order : f->count == NL_SIM_FINDINGS;
    f->total += (uint64_t)is_repeated;
    f->kinds |= is_repeated ? kind : 0;
    nl_mutex_unlock(&f->lock);
    return is_repeated;
}

void nl_sim_findings_add(nl_sim_findings *f, const nl_sim_finding *finding) {
    nl_mutex_lock(&f->lock);
    f->total++;
    f->kinds |= finding->kind;
    nl_sim_finding *same =
        find_finding_lock_held(f, finding->kind, finding->pc, finding->site, finding->variable);
    if (!same && f->count < NL_SIM_FINDINGS)
        f->all[f->count++] = *finding;
    else if (same && finding->order < same->order)
        *same = *finding;
    nl_mutex_unlock(&f->lock);
}

void nl_sim_findings_replace(nl_sim_findings *f, const nl_sim_finding *finding) {
    nl_mutex_lock(&f->lock);
    nl_sim_finding *same =
        find_finding_lock_held(f, finding->kind, finding->pc, finding->site, finding->variable);
    if (same) {
        uint64_t order = same->order;
        *same = *finding;
        same->order = order;
    }
    nl_mutex_unlock(&f->lock);
}

typedef struct place {
    /* line of the user's source, and line of the toolkit header that this source line calls (file
     * NULL if there is none) */
    nl_sim_site site, header;
} place;

static place resolve_location(const nl_sim_object *image, const void *pc, nl_sim_site site,
                              nl_sim_site call) {
    place p = {.site = site};
    if (pc && !site.file)
        nl_sim_lines_find_call(image, pc, &p.site, &p.header);
    if (call.file && !p.header.file)
        p = (place){.site = call, .header = p.site};
    if (p.header.file)
        p.header.file = nl_sim_lines_header(p.header.file);
    return p;
}

/* Returns whether the report shows `a`, not `b`. The finding in the block with the lowest index is
 * shown. However, a race is shown before a read of unwritten memory, because the read may be a
 * consequence of the race. */
static int precedes_in_report(const nl_sim_finding *a, const nl_sim_finding *b) {
    unsigned kinds = a->kind | b->kind;
    if (kinds == (NL_CHECK_RACE | NL_CHECK_UNWRITTEN))
        return a->kind == NL_CHECK_RACE;
    return a->order < b->order;
}

static void copy_dim(unsigned to[3], nl_sim_dim from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
}

static void set_fault_side(nl_fault_side *side, const char *access, nl_sim_dim block,
                           nl_sim_dim thread) {
    side->access = access;
    side->has_block = side->has_thread = 1;
    copy_dim(side->block, block);
    copy_dim(side->thread, thread);
}

/* "k.cu, line 17" */
static void add_location(nl_text *t, const place *p) {
    if (p->site.file)
        nl_text_append(t, "%s", p->site.file);
    if (p->site.file && p->site.line > 0)
        nl_text_append(t, ", line %d", p->site.line);
    if (p->header.file)
        nl_text_append(t, " (in %s, line %d)", p->header.file, p->header.line);
}

static void set_location(nl_fault_side *side, const place *p) {
    nl_fault_set_location(side, p->site.file, p->site.line);
    nl_fault_set_header_location(side, p->header.file, p->header.line);
}

static void append_text(nl_text *t, const nl_sim_finding *f, const place *other) {
    const char *mark = strstr(f->text, "%o");
    if (mark) {
        nl_text_append(t, "%.*s", (int)(mark - f->text), f->text);
        add_location(t, other);
        nl_text_append(t, "%s", mark + 2);
    } else {
        nl_text_append(t, "%s", f->text);
    }
    nl_text_append(t, "%s", f->remedy ? f->remedy : "");
}

void nl_sim_findings_report(nl_sim_findings *f, const char *kernel, const nl_sim_object *image,
                            nl_fault *fault) {
    const nl_sim_finding *first = &f->all[0];
    for (unsigned i = 1; i < f->count; i++) {
        if (precedes_in_report(&f->all[i], first))
            first = &f->all[i];
    }
    place at = resolve_location(image, first->pc, first->site, first->call);
    place other =
        resolve_location(image, first->other_pc, first->other_site, (nl_sim_site){.file = NULL});
    nl_fault_init(fault, first->kind, NL_FAULT_HEAD_FINDING, kernel);
    set_fault_side(&fault->at, first->access, first->block, first->thread);
    set_location(&fault->at, &at);
    if (first->other.access) {
        set_fault_side(&fault->other, first->other.access, first->other.block, first->other.thread);
        set_location(&fault->other, &other);
    }
    fault->element = first->element;
    fault->address = first->address;
    fault->size = first->size;
    fault->others = f->total - 1;
    fault->places = f->count;
    nl_text t = nl_text_over_buffer(fault->what, sizeof fault->what);
    append_text(&t, first, &other);
}
