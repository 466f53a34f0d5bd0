/* sim/check/finding: collects the errors of a checked kernel while the kernel runs.
 *
 * Each launch has one list of findings. If many threads make the same error at the same
 * instruction, there is one finding and a count. The checker formats the message when it finds an
 * error; the source line is looked up at the end of the launch, because the look-up is slow. */
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
    const void *pc;       /* instruction; NULL: `site` has the source line */
    nl_sim_site site;     /* must outlive the launch */
    const void *other_pc; /* in a conflict, the instruction of the other access, or NULL: none */
    nl_sim_site other_site;
    /* line of the user's source that calls the header that contains `pc` or `site`; file is NULL if
     * there is no such line, or if the call is inlined at `site` */
    nl_sim_site call;
    /* number that distinguishes findings of one instruction about several variables */
    uint64_t variable;
    nl_sim_dim block;
    nl_sim_dim thread;
    uint64_t order;     /* index of the block in the grid */
    const char *access; /* verb: "writes"; NULL: not about an access */
    nl_fault_element element;
    uint64_t address, size;
    struct {
        /* thread of the other access, or NULL if there is no other access, or no thread made it */
        const char *access;
        nl_sim_dim block, thread;
    } other;
    /* The message, as "writes out[127], but out has 100 elements". "%o" in a message is replaced by
     * the source line of the other access. */
    char text[NL_SIM_FINDING_TEXT];
    const char *remedy; /* hint that is appended to the message, or NULL */
} nl_sim_finding;

typedef struct nl_sim_findings {
    nl_mutex lock;
    unsigned count;                      /* of different findings */
    uint64_t total;                      /* including repetitions */
    unsigned kinds;                      /* bit mask of the kinds of all findings */
    nl_sim_finding all[NL_SIM_FINDINGS]; /* the first ones found */
} nl_sim_findings;

void nl_sim_findings_init(nl_sim_findings *findings);
void nl_sim_findings_clear(nl_sim_findings *findings);
/* Adds a finding, or counts a repetition. */
void nl_sim_findings_add(nl_sim_findings *findings, const nl_sim_finding *finding);
/* Replaces the finding of the same error, and its list of threads, by this finding. The finding
 * keeps its position in the list. */
void nl_sim_findings_replace(nl_sim_findings *findings, const nl_sim_finding *finding);
/* If the list already contains this finding, from the same block or an earlier block of the grid,
 * counts the finding and returns 1; then the caller need not format the message. */
int nl_sim_findings_contain(nl_sim_findings *findings, unsigned kind, const void *pc,
                            nl_sim_site site, uint64_t variable, uint64_t order);
/* Writes the report: the first finding, and the number of the other findings. `image` contains the
 * line table. */
void nl_sim_findings_report(nl_sim_findings *findings, const char *kernel,
                            const nl_sim_object *image, nl_fault *fault);

#endif
