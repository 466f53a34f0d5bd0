/* base/fault: a mistake that a kernel made, as data. Whoever finds it fills the fields; the
 * sentence is made of them at the end, here. */
#ifndef NL_BASE_FAULT_H
#define NL_BASE_FAULT_H

#include <stddef.h>
#include <stdint.h>

enum {
    NL_FAULT_INDICES = 8,
    NL_FAULT_KERNEL = 200,
    NL_FAULT_ARRAY = 64,
    NL_FAULT_FILE = 512,
    NL_FAULT_HEADER = 160,
    NL_FAULT_WHAT = 1200,
    NL_FAULT_SCHEDULE = 320,
    NL_FAULT_LAUNCH = 64,

    NL_FAULT_ASSERT = 1 << 16, /* a kind beside those of driver/checks.h */
};

/* How the sentence begins. */
typedef enum nl_fault_head {
    NL_FAULT_HEAD_NONE,    /* `what` is all of it */
    NL_FAULT_HEAD_KERNEL,  /* "kernel k: ..." */
    NL_FAULT_HEAD_BLOCK,   /* "kernel k, block (1,0,0): ...": of several threads */
    NL_FAULT_HEAD_THREAD,  /* "kernel k, block (1,0,0), thread (5,0,0), k.cu:17: ..." */
    NL_FAULT_HEAD_FINDING, /* "k (k.cu, line 17): block (1,0,0), thread (5,0,0) ..." */
    NL_FAULT_HEAD_LINE,    /* "k.cu(17): k: ...": in code for the CPU, which has no grid */
} nl_fault_head;

/* A thread and what it does. What is not known is 0. */
typedef struct nl_fault_side {
    const char *access; /* a literal: "reads", "writes", "updates" */
    int has_block, has_thread;
    unsigned block[3], thread[3];
    int line;
    char file[NL_FAULT_FILE];
    char header[NL_FAULT_HEADER]; /* "cub/block/block_load.cuh, line 86", which that line calls */
} nl_fault_side;

typedef struct nl_fault_element {
    char array[NL_FAULT_ARRAY]; /* "": it has no name */
    unsigned indices;           /* how many there are */
    int64_t index[NL_FAULT_INDICES];
} nl_fault_element;

typedef struct nl_fault {
    uint32_t kind; /* the check that looks for such mistakes (driver/checks.h), or NL_FAULT_ASSERT;
                      0: none does */
    nl_fault_head head;
    char kernel[NL_FAULT_KERNEL]; /* "" if not known */
    nl_fault_side at, other;      /* other: of a race */
    nl_fault_element element;
    uint64_t address, size; /* of the access */
    uint64_t others;        /* how many more were found in the launch, */
    unsigned places;        /* and in how many places all of them were */
    int is_shuffled;        /* the order of blocks and threads was that of `seed` */
    uint64_t seed;
    char schedule[NL_FAULT_SCHEDULE]; /* in which it happens; "": in the first */
    int is_timeout;                   /* stopped by a time limit */
    int is_exact;                     /* found by an exact search for races */
    char launch[NL_FAULT_LAUNCH];     /* "lesson.py, line 20", the launch; "": unknown */
    char what[NL_FAULT_WHAT]; /* what happened: "writes out[127], but out has 100 elements" */
} nl_fault;

/* A fault of which nothing is known yet. */
void nl_fault_init(nl_fault *fault, uint32_t kind, nl_fault_head head, const char *kernel);
/* Says what happened. */
void nl_fault_say(nl_fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* file NULL: not known. */
void nl_fault_locate(nl_fault_side *side, const char *file, int line);
/* The place in a header of the toolkit, which the line calls. file NULL: there is none. */
void nl_fault_locate_header(nl_fault_side *side, const char *file, int line);
/* name: "ns::tile", of which the last part counts. */
void nl_fault_name(nl_fault_element *element, const char *name);
/* The whole sentence. */
void nl_fault_sentence(const nl_fault *fault, char *text, size_t size);

#endif
