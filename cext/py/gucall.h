/* py/gucall: one call of a gufunc, and its steps. */
#ifndef NL_PY_GUCALL_H
#define NL_PY_GUCALL_H

#include "py/state.h"
#include "core/gloop.h"
#include "py/gutuning.h"
#include "py/keywords.h"
#include "py/operand.h"
#include "py/overloads.h"

typedef struct nl_py_gufunc {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *name;          /* str */
    nl_py_overloads choices; /* cached results of _choose by operand types and casting */
    nl_py_overloads kernels; /* cached results of _compile by kind of loop */
    /* minimum number of loop indices for which a kernel is specialized for small core arrays */
    long long fixed_from;
    long long staged_from; /* minimum total size in bytes of the core arrays for staging them in
                            * shared memory */
    nl_py_staging staging; /* NL_PY_UNDECIDED: a trial decides */
    int block;             /* whether one thread block computes each loop index */
    nl_gcore core;
    PyObject *weakrefs;
} nl_py_gufunc;

/* The state of one call. The struct is large, so members are initialized only when they are
 * needed. */
typedef struct nl_py_gucall {
    nl_py_gufunc *g;
    nl_py_operation operation;
    nl_py_keywords keywords;
    int nin, count;     /* operands */
    int read, replaced; /* numbers of filled entries in `operands` and `outs` */
    int on_device;      /* set if an operand is in device memory; then results are also in device
                         * memory */
    /* bytes object: dtypes of the loop, then memory orders of the core arrays ("ACF") */
    PyObject *chosen;
    const uint8_t *dtypes; /* of the loop */
    const char *orders;
    nl_py_operand operands[NL_GU_MAX_OPERANDS];
    nl_py_operand outs[NL_GU_MAX_OPERANDS]; /* arrays of the caller that are replaced by copies */
    /* for a copy of a written operand, 1 + the operand's index in `outs` */
    int stands_in[NL_GU_MAX_OPERANDS];
    nl_gloop loop;
    nl_gpacked packed;
    uint64_t slots[NL_GU_MAX_OPERANDS][2];
    uint64_t words[NL_GU_MAX_WORDS];
} nl_py_gucall;

/* Each function of a step returns 0, or -1 with an exception. */

/* In py/guoperands: reads the operands, then finds core and loop dimensions. */
int nl_py_guoperands_read(nl_py_gucall *c, PyObject *const *args, PyObject *const *outs);
int nl_py_guoperands_find_dimensions(nl_py_gucall *c);
/* Replaces operands that the chosen loop cannot use. */
int nl_py_guoperands_replace_inputs(nl_py_gucall *c);
int nl_py_guoperands_make_outputs(nl_py_gucall *c);
/* Copies inputs that overlap an output, and copies host arrays to the device. */
int nl_py_guoperands_copy_to_device(nl_py_gucall *c);
/* Returns whether the core array of an operand is contiguous in `order`, 'C' or 'F'. */
int nl_py_guoperands_is_dense(const nl_py_gucall *c, int i, char order, int64_t itemsize);
PyObject *
nl_py_guoperands_get_stream(const nl_py_gucall *c); /* borrowed; None: the default stream */

/* In py/gukernel: finds or compiles the kernel, and launches it. */
int nl_py_gukernel_launch(nl_py_gucall *c);
void nl_py_gukernel_free(nl_py_gufunc *g);

#endif
