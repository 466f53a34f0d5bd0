/* py/gucall: one call of a gufunc, and the steps that it takes. */
#ifndef NL_PY_GUCALL_H
#define NL_PY_GUCALL_H

#include "py/state.h"
#include "core/gloop.h"
#include "py/gutrial.h"
#include "py/keywords.h"
#include "py/operand.h"
#include "py/overloads.h"

typedef struct nl_py_gufunc {
    PyObject_HEAD vectorcallfunc vectorcall;
    nl_py_state *state;
    PyObject *name;          /* str */
    nl_py_overloads choices; /* types of the operands and casting -> what _choose said */
    nl_py_overloads kernels; /* kind of loop -> what _compile said */
    long long fixed_from;    /* loop indices from which small cores get kernels of their own */
    long long staged_from;   /* bytes of cores that could be from which they are staged */
    nl_py_staging staging;   /* NL_PY_UNDECIDED: as a trial finds */
    int block;               /* a thread block for each loop index */
    nl_gcore core;
    PyObject *weakrefs;
} nl_py_gufunc;

/* One call: large, and never cleared as a whole. */
typedef struct nl_py_gucall {
    nl_py_gufunc *g;
    nl_py_operation operation;
    nl_py_keywords keywords;
    int nin, count;        /* operands */
    int read, replaced;    /* how many of operands and outs have been filled */
    int on_device;         /* some operand is there: so are the results */
    PyObject *chosen;      /* bytes: dtypes of the loop, then orders of the cores ("ACF") */
    const uint8_t *dtypes; /* of the loop */
    const char *orders;
    nl_py_operand operands[NL_GU_MAX_OPERANDS];
    nl_py_operand outs[NL_GU_MAX_OPERANDS]; /* given outputs that something else stands in for */
    int stands_in[NL_GU_MAX_OPERANDS];      /* index in outs + 1, of operands that are written */
    nl_gloop loop;
    nl_gpacked packed;
    uint64_t slots[NL_GU_MAX_OPERANDS][2];
    uint64_t words[NL_GU_MAX_WORDS];
} nl_py_gucall;

/* Each step returns 0, or -1 with an exception. */

/* py/guoperands: the operands as they are given, then core and loop dimensions. */
int nl_py_gucall_read(nl_py_gucall *c, PyObject *const *args, PyObject *const *outs);
int nl_py_gucall_dimensions(nl_py_gucall *c);
/* With the loop chosen: operands that it can work on, in the place of those that it cannot. */
int nl_py_gucall_inputs(nl_py_gucall *c);
int nl_py_gucall_outputs(nl_py_gucall *c);
/* Inputs that share memory with an output are copied; what is on the host goes to the device. */
int nl_py_gucall_enter(nl_py_gucall *c);
/* Are the elements of an operand's core one after the other, in C or Fortran order? */
int nl_py_gucall_is_dense(const nl_py_gucall *c, int i, char order, int64_t itemsize);
PyObject *nl_py_gucall_stream(const nl_py_gucall *c); /* borrowed; None: the default one */

/* py/gukernel: finds the kernel, or has it compiled, and launches it. */
int nl_py_gucall_launch(nl_py_gucall *c);
void nl_py_gufunc_free_kernels(nl_py_gufunc *g);

#endif
