/* sim/driver/op: an operation: a copy, a launch, a host function, that runs when its turn in a
 * stream comes. */
#ifndef NL_SIM_DRIVER_OP_H
#define NL_SIM_DRIVER_OP_H

#include <stdint.h>
#include "sim/check/overlap.h"

typedef struct nl_sim_stream nl_sim_stream;
typedef struct nl_sim_op nl_sim_op;

enum {
    NL_SIM_OP_INLINE = 1,  /* short: on an idle stream the issuing thread runs it at once */
    NL_SIM_OP_HOST = 2,    /* calls the program's code: only the scheduler's threads run it */
    NL_SIM_OP_LAUNCH = 4,  /* may take for ever: a thread that can be interrupted does not run it */
    NL_SIM_OP_WATCHED = 8, /* what it touches is compared with other streams (check/overlap.h) */
};

typedef struct nl_sim_after {
    nl_sim_stream *stream;
    uint64_t ticket;
} nl_sim_after;

/* Embedded first in what an operation needs; made with malloc by who issues it. */
struct nl_sim_op {
    nl_sim_op *next;
    void (*run)(nl_sim_op *op, nl_sim_stream *stream);    /* without the lock, or NULL */
    void (*settle)(nl_sim_op *op, nl_sim_stream *stream); /* afterwards with the lock, or NULL */
    void (*drop)(nl_sim_op *op);                          /* releases what it holds, or NULL */
    /* The same once more, for captures, or NULL without memory. */
    nl_sim_op *(*copy)(const nl_sim_op *op);
    const char *name;        /* of the kernel; NULL: it is a copy */
    nl_sim_overlap *overlap; /* if it is watched, once it is issued */
    uint64_t number;         /* counts all operations that are issued, to whatever stream */
    unsigned flags;
    unsigned after_count, after_capacity;
    nl_sim_after *after, after_few[3];
};

/* A copy of `size` bytes of an operation, which is in no stream yet. */
nl_sim_op *nl_sim_op_copy(const nl_sim_op *op, size_t size);
/* Destroys one that is in no stream. */
void nl_sim_op_destroy(nl_sim_op *op);

#endif
