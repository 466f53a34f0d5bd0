/* py/keywords: the keywords of ufunc and gufunc calls, and of functions with a list of names. */
#ifndef NL_PY_KEYWORDS_H
#define NL_PY_KEYWORDS_H

#include "py/state.h"

/* Indices of the keywords in nl_py_keywords.given. */
typedef enum nl_py_keyword {
    NL_PY_KEY_OUT,
    NL_PY_KEY_WHERE,
    NL_PY_KEY_DTYPE,
    NL_PY_KEY_SIGNATURE,
    NL_PY_KEY_CASTING,
    NL_PY_KEY_ORDER,
    NL_PY_KEY_SUBOK,
    NL_PY_KEY_STREAM,
    NL_PY_KEY_AXES,
    NL_PY_KEY_AXIS,
    NL_PY_KEY_KEEPDIMS,
    NL_PY_KEY_SIG, /* another spelling of signature */
    NL_PY_KEY_COUNT
} nl_py_keyword;

#define NL_PY_KEYS_GENERALIZED \
    (1u << NL_PY_KEY_AXES | 1u << NL_PY_KEY_AXIS | 1u << NL_PY_KEY_KEEPDIMS)

/* The keywords of a call, as borrowed references. `given` contains the value of each keyword, or
 * NULL for a missing keyword or the default (None for out, dtype and signature). */
typedef struct nl_py_keywords {
    PyObject *given[NL_PY_KEY_COUNT];
    PyObject *casting; /* str, never NULL: borrowed */
    uint8_t casting_code;
    uint8_t is_unsafe; /* casting="unsafe" */
    char order;        /* 'K', 'A', 'C' or 'F' */
    uint8_t arrays;    /* set for out=... (Ellipsis): 0-D results remain arrays */
} nl_py_keywords;

void nl_py_keywords_init(const nl_py_state *state, nl_py_keywords *k);
/* Reads the keywords: `values[i]` is the value of `names[i]`. `refused` has a bit for each keyword
 * that this class of ufunc does not accept. Returns 0, or -1 with NumPy's exceptions, which contain
 * the ufunc's name. */
int nl_py_keywords_read(const nl_py_state *state, PyObject *ufunc_name, PyObject *names,
                        PyObject *const *values, unsigned refused, nl_py_keywords *k);
/* Reads the outputs of a call from the positional arguments after the inputs, and from out=. Fills
 * outs[nout] with borrowed objects, NULL for a missing output. 0, or -1 with an exception. */
int nl_py_keywords_read_outs(PyObject *ufunc_name, int nin, int nout, PyObject *const *args,
                             Py_ssize_t nargs, const nl_py_keywords *k, PyObject **outs);

/* Stores the arguments of a call in `values`, in the order of `names`. `values` must be initialized
 * to NULL; a missing argument stays NULL. Returns 0 if the call is invalid: too many arguments, an
 * unknown or repeated name, or no first argument. */
int nl_py_keywords_match(const char *const *names, int count, int most_positional,
                         PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
                         PyObject **values);

int nl_py_keywords_exec(PyObject *module);

#endif
