/* base/fault: a struct that describes an error in a kernel. The code that detects the error fills
 * the struct; nl_fault_sentence formats the message. */
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

    NL_FAULT_ASSERT = 1 << 16, /* an additional kind, not in driver/checks.h */
};

/* The format of the beginning of the message. */
typedef enum nl_fault_head {
    NL_FAULT_HEAD_NONE,    /* none: `what` is the whole message */
    NL_FAULT_HEAD_KERNEL,  /* "kernel k: ..." */
    NL_FAULT_HEAD_BLOCK,   /* "kernel k, block (1,0,0): ...", for errors of several threads */
    NL_FAULT_HEAD_THREAD,  /* "kernel k, block (1,0,0), thread (5,0,0), k.cu:17: ..." */
    NL_FAULT_HEAD_FINDING, /* "k (k.cu, line 17): block (1,0,0), thread (5,0,0) ..." */
    NL_FAULT_HEAD_LINE, /* "k.cu(17): k: ...", for code compiled for the CPU, which has no grid */
} nl_fault_head;

/* A thread and its access. Unknown fields are 0. */
typedef struct nl_fault_side {
    const char *access; /* a string literal: "reads", "writes", "updates" */
    int has_block, has_thread;
    unsigned block[3], thread[3];
    int line;
    char file[NL_FAULT_FILE];
    /* location in a toolkit header that `line` calls, as "cub/block/block_load.cuh, line 86" */
    char header[NL_FAULT_HEADER];
} nl_fault_side;

typedef struct nl_fault_element {
    char array[NL_FAULT_ARRAY]; /* "" if the array has no name */
    unsigned indices;           /* number of indices */
    int64_t index[NL_FAULT_INDICES];
} nl_fault_element;

typedef struct nl_fault {
    /* the check of driver/checks.h that finds this error, NL_FAULT_ASSERT, or 0 for other errors */
    uint32_t kind;
    nl_fault_head head;
    char kernel[NL_FAULT_KERNEL]; /* "" if unknown */
    nl_fault_side at, other;      /* `other` is the second thread of a race */
    nl_fault_element element;
    uint64_t address, size; /* of the access */
    uint64_t others;        /* number of further errors of the launch */
    unsigned places;        /* number of source locations of the further errors */
    int is_shuffled;        /* set if `seed` determined the order of threads */
    uint64_t seed;
    char schedule[NL_FAULT_SCHEDULE]; /* schedule that causes the error, or "" for the default
                                       * schedule */
    int is_timeout;                   /* set if the kernel was stopped by a time limit */
    int is_exact;                     /* whether the exact race search found this race */
    /* source line of the launch, as "lesson.py, line 20", or "" if it is unknown */
    char launch[NL_FAULT_LAUNCH];
    char what[NL_FAULT_WHAT]; /* for example "writes out[127], but out has 100 elements" */
} nl_fault;

/* Initializes a fault: all other fields are 0 or empty. */
void nl_fault_init(nl_fault *fault, uint32_t kind, nl_fault_head head, const char *kernel);
/* Sets `what` (printf format). */
void nl_fault_set_text(nl_fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets the source position; if `file` is NULL, the position is unknown. */
void nl_fault_set_location(nl_fault_side *side, const char *file, int line);
/* Sets the location of the error in a toolkit header that the source line calls; NULL removes
 * it. */
void nl_fault_set_header_location(nl_fault_side *side, const char *file, int line);
/* Sets the array's name to the last component of `name`, as "tile" for "ns::tile". */
void nl_fault_set_name(nl_fault_element *element, const char *name);
/* Formats the whole message. */
void nl_fault_sentence(const nl_fault *fault, char *text, size_t size);

#endif
