/* sim/check/finding: the list and the report. */
#include "sim/check/finding.h"

#include <stdio.h>
#include <string.h>
#include "driver/checks.h"
#include "sim/debuginfo/lines.h"

void nl_sim_findings_init(nl_sim_findings *f) {
    memset(f, 0, offsetof(nl_sim_findings, all));
    nl_mutex_init(&f->lock);
}

void nl_sim_findings_clear(nl_sim_findings *f) {
    nl_mutex_destroy(&f->lock);
}

static int same_site(nl_sim_site a, nl_sim_site b) {
    return a.line == b.line &&
           (a.file == b.file || (a.file && b.file && strcmp(a.file, b.file) == 0));
}

/* The one that is the same mistake at the same place, or NULL. */
static nl_sim_finding *find_lock_held(nl_sim_findings *f, unsigned kind, const void *pc,
                                      nl_sim_site site, uint64_t variable) {
    for (unsigned i = 0; i < f->count; i++) {
        nl_sim_finding *g = &f->all[i];
        if (g->kind == kind && g->pc == pc && g->variable == variable && same_site(g->site, site))
            return g;
    }
    return NULL;
}

int nl_sim_findings_know(nl_sim_findings *f, unsigned kind, const void *pc, nl_sim_site site,
                         uint64_t variable, uint64_t order) {
    nl_mutex_lock(&f->lock);
    const nl_sim_finding *same = find_lock_held(f, kind, pc, site, variable);
    int known = same ? same->order <= order : f->count == NL_SIM_FINDINGS;
    f->total += (uint64_t)known;
    nl_mutex_unlock(&f->lock);
    return known;
}

void nl_sim_findings_add(nl_sim_findings *f, const nl_sim_finding *finding) {
    nl_mutex_lock(&f->lock);
    f->total++;
    nl_sim_finding *same =
        find_lock_held(f, finding->kind, finding->pc, finding->site, finding->variable);
    if (!same && f->count < NL_SIM_FINDINGS)
        f->all[f->count++] = *finding;
    else if (same && finding->order < same->order)
        *same = *finding;
    nl_mutex_unlock(&f->lock);
}

void nl_sim_findings_remedy(nl_sim_findings *f, const nl_sim_finding *finding) {
    nl_mutex_lock(&f->lock);
    nl_sim_finding *same =
        find_lock_held(f, finding->kind, finding->pc, finding->site, finding->variable);
    if (same)
        same->remedy = finding->remedy;
    nl_mutex_unlock(&f->lock);
}

static nl_sim_site resolve(const nl_sim_object *image, const void *pc, nl_sim_site site) {
    if (pc && !site.file)
        nl_sim_lines_find(image, pc, &site);
    return site;
}

static size_t put(char *text, size_t size, size_t at, const char *more) {
    while (*more && at + 1 < size)
        text[at++] = *more++;
    text[at] = '\0';
    return at;
}

static size_t put_site(char *text, size_t size, size_t at, nl_sim_site site) {
    char line[32];
    if (!site.file)
        return at;
    at = put(text, size, at, site.file);
    snprintf(line, sizeof line, ", line %d", site.line);
    return put(text, size, at, site.line > 0 ? line : "");
}

/* Is it to be told rather than the other? By block; but where threads race, that some of them read
 * what was not written yet is a consequence. */
static int precedes(const nl_sim_finding *a, const nl_sim_finding *b) {
    unsigned kinds = a->kind | b->kind;
    if (kinds == (NL_CHECK_RACE | NL_CHECK_UNWRITTEN))
        return a->kind == NL_CHECK_RACE;
    return a->order < b->order;
}

void nl_sim_findings_report(nl_sim_findings *f, const char *kernel, const nl_sim_object *image,
                            const char *note, char *text, size_t size) {
    char some[200];
    const nl_sim_finding *first = &f->all[0];
    for (unsigned i = 1; i < f->count; i++) {
        if (precedes(&f->all[i], first))
            first = &f->all[i];
    }
    size_t at = put(text, size, 0, kernel);
    nl_sim_site site = resolve(image, first->pc, first->site);
    if (site.file) {
        at = put(text, size, at, " (");
        at = put_site(text, size, at, site);
        at = put(text, size, at, ")");
    }
    snprintf(some, sizeof some, ": block (%u,%u,%u), thread (%u,%u,%u) ", first->block.x,
             first->block.y, first->block.z, first->thread.x, first->thread.y, first->thread.z);
    at = put(text, size, at, some);
    const char *mark = strstr(first->text, "%o");
    if (mark) {
        snprintf(some, sizeof some, "%.*s", (int)(mark - first->text), first->text);
        at = put(text, size, at, some);
        at = put_site(text, size, at, resolve(image, first->other_pc, first->other_site));
        at = put(text, size, at, mark + 2);
    } else {
        at = put(text, size, at, first->text);
    }
    at = put(text, size, at, first->remedy ? first->remedy : "");
    at = put(text, size, at, note ? note : "");
    if (f->total > 1) {
        snprintf(some, sizeof some, " (and %llu more, in %u place%s)",
                 (unsigned long long)(f->total - 1), f->count, f->count == 1 ? "" : "s");
        put(text, size, at, some);
    }
}
