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
    nl_py_overloads choices; /* operand types and casting -> result of _choose */
    nl_py_overloads kernels; /* kind of loop -> result of _compile */
    long long fixed_from;    /* min. loop indices for a kernel specialized for small cores */
    long long staged_from;   /* min. bytes of all cores for staging */
    nl_py_staging staging;   /* NL_PY_UNDECIDED: a trial decides */
    int block;               /* one thread block for each loop index */
    nl_gcore core;
    PyObject *weakrefs;
} nl_py_gufunc;

/* The state of one call. Large, so it is never initialized as a whole. */
typedef struct nl_py_gucall {
    nl_py_gufunc *g;
    nl_py_operation operation;
    nl_py_keywords keywords;
    int nin, count;        /* operands */
    int read, replaced;    /* numbers of filled entries in operands and outs */
    int on_device;         /* some operand is on the device, so results are, too */
    PyObject *chosen;      /* bytes: dtypes of the loop, then orders of the cores ("ACF") */
    const uint8_t *dtypes; /* of the loop */
    const char *orders;
    nl_py_operand operands[NL_GU_MAX_OPERANDS];
    nl_py_operand outs[NL_GU_MAX_OPERANDS]; /* the caller's arrays that are replaced by copies */
    int stands_in[NL_GU_MAX_OPERANDS];      /* for a copy of a written operand: index in outs + 1 */
    nl_gloop loop;
    nl_gpacked packed;
    uint64_t slots[NL_GU_MAX_OPERANDS][2];
    uint64_t words[NL_GU_MAX_WORDS];
} nl_py_gucall;

/* Each step returns 0, or -1 with an exception. */

/* py/guoperands: read the operands, then find core and loop dimensions. */
int nl_py_guoperands_read(nl_py_gucall *c, PyObject *const *args, PyObject *const *outs);
int nl_py_guoperands_dimensions(nl_py_gucall *c);
/* After the loop is chosen: replace operands that it cannot use. */
int nl_py_guoperands_inputs(nl_py_gucall *c);
int nl_py_guoperands_outputs(nl_py_gucall *c);
/* Copies inputs that overlap an output, and copies host arrays to the device. */
int nl_py_guoperands_enter(nl_py_gucall *c);
/* Is the core of an operand contiguous in C or Fortran order ('C' or 'F')? */
int nl_py_guoperands_is_dense(const nl_py_gucall *c, int i, char order, int64_t itemsize);
PyObject *nl_py_guoperands_stream(const nl_py_gucall *c); /* borrowed; None: the default stream */

/* py/gukernel: finds or compiles the kernel, and launches it. */
int nl_py_gukernel_launch(nl_py_gucall *c);
void nl_py_gukernel_free(nl_py_gufunc *g);

#endif
