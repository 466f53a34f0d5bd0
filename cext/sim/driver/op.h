/* sim/driver/op: an operation of a stream: a copy, a launch or a host function. */
#ifndef NL_SIM_DRIVER_OP_H
#define NL_SIM_DRIVER_OP_H

#include <stdint.h>
#include "sim/check/overlap.h"

typedef struct nl_sim_stream nl_sim_stream;
typedef struct nl_sim_op nl_sim_op;

enum {
    /* the operation is short: if the stream is idle, the issuing thread runs it immediately */
    NL_SIM_OP_INLINE = 1,
    NL_SIM_OP_HOST = 2, /* the operation calls the program's code: only scheduler threads run it */
    /* the operation may run forever: a thread that can be interrupted does not run it */
    NL_SIM_OP_LAUNCH = 4,
    /* the operation's accesses are compared with those of other streams (check/overlap.h) */
    NL_SIM_OP_WATCHED = 8,
};

typedef struct nl_sim_after {
    nl_sim_stream *stream;
    uint64_t ticket;
} nl_sim_after;

/* The first member of the struct of each kind of operation; the caller that issues an operation
 * allocates it with malloc. */
struct nl_sim_op {
    nl_sim_op *next;
    /* runs the operation, called without the lock; may be NULL */
    void (*run)(nl_sim_op *op, nl_sim_stream *stream);
    /* called after `run`, with the lock of all streams held; may be NULL */
    void (*settle)(nl_sim_op *op, nl_sim_stream *stream);
    void (*drop)(nl_sim_op *op); /* frees the operation's resources; may be NULL */
    /* Copies the operation, for captures; returns NULL if memory runs out. */
    nl_sim_op *(*copy)(const nl_sim_op *op);
    const char *name;        /* of the kernel; NULL: a copy */
    nl_sim_overlap *overlap; /* set when a watched operation is issued, else NULL */
    uint64_t number;         /* serial number among the operations issued to all streams */
    unsigned flags;
    unsigned after_count, after_capacity;
    nl_sim_after *after, after_few[3];
};

/* Returns a copy of an operation struct of `size` bytes, which is not in a stream, or NULL if
 * memory runs out. */
nl_sim_op *nl_sim_op_copy(const nl_sim_op *op, size_t size);
/* Destroys an operation that is not in a stream. */
void nl_sim_op_destroy(nl_sim_op *op);

#endif
