/* sim/check/finding: mistakes that a checked kernel makes, collected while it runs on.
 *
 * One launch has one list. The same mistake at the same place, made by many threads, is one finding
 * with a count. The text is made at once, by who knows what it is about; the place in the source is
 * found at the end, because that takes long. */
#ifndef NL_SIM_CHECK_FINDING_H
#define NL_SIM_CHECK_FINDING_H

#include <stddef.h>
#include <stdint.h>
#include "base/fault.h"
#include "base/lock.h"
#include "sim/abi.h"
#include "sim/debuginfo/object.h"

enum { NL_SIM_FINDINGS = 32, NL_SIM_FINDING_TEXT = 480 };

typedef struct nl_sim_finding {
    unsigned kind;        /* the NL_CHECK_ bit */
    const void *pc;       /* where; NULL: `site` says it */
    nl_sim_site site;     /* outlives the launch */
    const void *other_pc; /* of a conflict: where the other side was; NULL: there is none */
    nl_sim_site other_site;
    nl_sim_site call;  /* in the user's text, of the header in which pc or `site` is; file NULL:
                          none,  or inlined there */
    uint64_t variable; /* tells apart what the same place does to several variables */
    nl_sim_dim block;
    nl_sim_dim thread;
    uint64_t order; /* of the block in the grid */
    const char
        *access; /* what the thread does with the element; NULL: it is about something else */
    nl_fault_element element;
    uint64_t address, size;
    struct {
        const char *access; /* NULL: there is no other side, or it is no thread */
        nl_sim_dim block, thread;
    } other;
    /* What happened: "writes out[127], but out has 100 elements". "%o" in it stands for the place
     * of the other side. */
    char text[NL_SIM_FINDING_TEXT];
    const char *remedy; /* what is missing, told after the text; NULL: nothing */
} nl_sim_finding;

typedef struct nl_sim_findings {
    nl_mutex lock;
    unsigned count;                      /* of different ones */
    uint64_t total;                      /* with all repetitions */
    unsigned kinds;                      /* of all, as bits */
    nl_sim_finding all[NL_SIM_FINDINGS]; /* the first ones */
} nl_sim_findings;

void nl_sim_findings_init(nl_sim_findings *findings);
void nl_sim_findings_clear(nl_sim_findings *findings);
/* Adds one, or counts it if it is known. */
void nl_sim_findings_add(nl_sim_findings *findings, const nl_sim_finding *finding);
/* Describes the finding of the same mistake by these threads instead. Its position among the others
 * stays. */
void nl_sim_findings_replace(nl_sim_findings *findings, const nl_sim_finding *finding);
/* Is this one known already, from this block or one before it in the grid? Then it need not be
 * described. Counts it if so. */
int nl_sim_findings_know(nl_sim_findings *findings, unsigned kind, const void *pc, nl_sim_site site,
                         uint64_t variable, uint64_t order);
/* The whole report: the first finding, and how many more there were. `image` tells lines. */
void nl_sim_findings_report(nl_sim_findings *findings, const char *kernel,
                            const nl_sim_object *image, nl_fault *fault);

#endif
